// A divisor that a whole launch shares, as a multiplication and a shift: a GPU has no instruction
// for a 64-bit division, and the compiler's sequence for one costs more than a kernel that is bound
// by memory has to spend on four elements.
//
// With l = ceil(log2 d) and magic = ceil(2^(63 + l) / d), the quotient of every n below 2^63 is
// floor(n * magic / 2^(63 + l)); magic has 64 bits. (Granlund and Montgomery, "Division by
// Invariant Integers using Multiplication", 1994.) The device's half stands in arithmetic.cuh.
// Thread rule: values.
#pragma once

#include <bit>
#include <cstdint>

namespace lyk::cuda {

struct Divisor {
  std::uint64_t value = 1;
  std::uint64_t magic = 0;  // 0 for a divisor of 1
  std::uint64_t shift = 0;  // of the upper 64 bits of the product
};

// A divisor of 0 is taken as 1: there is nothing to divide in an empty tensor.
constexpr Divisor divisor_of(std::uint64_t value) {
  if (value <= 1)
    return {};
  __extension__ using Wide = unsigned __int128;
  const int bits = 64 - std::countl_zero(value - 1);
  const Wide power = Wide{1} << (63 + bits);
  return {.value = value,
          .magic = static_cast<std::uint64_t>((power + value - 1) / value),
          .shift = static_cast<std::uint64_t>(bits - 1)};
}

}  // namespace lyk::cuda
