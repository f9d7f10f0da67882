// From a Type to a template's instance: pick_integer(type, []<typename T>(T) { return f<T>; }).
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/types.hpp"

namespace softcuda::ptx {

// Integers of 16 bits and more; bits count as unsigned. Null for every other type.
template <typename Pick>
[[nodiscard]] Execute pick_integer(Type type, Pick pick) {
  const bool is_signed = family_of(type) == Family::signed_integer;
  if (family_of(type) == Family::floating || lanes_of(type) != 1)
    return nullptr;
  switch (bytes_of(type)) {
    case 2:
      return is_signed ? pick(std::int16_t{}) : pick(std::uint16_t{});
    case 4:
      return is_signed ? pick(std::int32_t{}) : pick(std::uint32_t{});
    case 8:
      return is_signed ? pick(std::int64_t{}) : pick(std::uint64_t{});
    default:
      return nullptr;
  }
}

// By size alone: 1, 2, 4 and 8 bytes as unsigned integers.
template <typename Pick>
[[nodiscard]] Execute pick_bits(Type type, Pick pick) {
  switch (bytes_of(type)) {
    case 1:
      return pick(std::uint8_t{});
    case 2:
      return pick(std::uint16_t{});
    case 4:
      return pick(std::uint32_t{});
    case 8:
      return pick(std::uint64_t{});
    default:
      return nullptr;
  }
}

}  // namespace softcuda::ptx
