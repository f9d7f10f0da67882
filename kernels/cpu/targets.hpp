// What Highway has to know before its headers are read, and how a kernel's variant is picked. A
// file of kernels begins with this header, <hwy/foreach_target.h> and <hwy/highway.h>.
//
// Thread rule: constants.
#pragma once

// Older sets than AVX2 would be compiled and tested for machines that no GPU server is.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// Nothing here converts halves or encrypts: machines without these features are as good.
#define HWY_DISABLE_F16C
#define HWY_DISABLE_PCLMUL_AES

#include <array>
#include <cstddef>

#include "kernels/cpu/instruction_set.hpp"

namespace lyk::cpu {

// The variants of one function by InstructionSet. Where the compiler may already assume more than
// the usual baseline, lower variants do not exist, and the baseline is the best that does.
template <typename Function>
struct Variants {
  std::array<Function*, instruction_set_names.size()> functions{};

  constexpr Function& at(InstructionSet set) const {
    auto index = static_cast<std::size_t>(set);
    while (functions[index] == nullptr)
      --index;
    return *functions[index];
  }
};

}  // namespace lyk::cpu

// The value Variants of FUNCTION, which every target's namespace defines.
#define LYK_VARIANTS(FUNCTION)                                    \
  (::lyk::cpu::Variants<decltype(HWY_STATIC_DISPATCH(FUNCTION))>{ \
      {&HWY_STATIC_DISPATCH(FUNCTION), HWY_CHOOSE_AVX2(FUNCTION), HWY_CHOOSE_AVX3(FUNCTION)}})
