#include "kernels/cpu/instruction_set.hpp"

namespace lyk::cpu {
namespace {

constexpr std::array all_sets{InstructionSet::baseline, InstructionSet::avx2,
                              InstructionSet::avx512};

// The features are those of Highway's target strings, as kernels/cpu/targets.hpp narrows them. The
// compiler's function also asks the kernel whether it saves the wide registers.
bool is_available(InstructionSet set) {
#if defined(__x86_64__)
  // The compiler's answer is an int of GCC and a bool of clang.
  const auto is_set = [](auto answer) { return answer != decltype(answer){}; };
  const bool has_avx2 =
      is_set(__builtin_cpu_supports("avx2")) && is_set(__builtin_cpu_supports("fma")) &&
      is_set(__builtin_cpu_supports("bmi")) && is_set(__builtin_cpu_supports("bmi2"));
  const bool has_avx512 =
      is_set(__builtin_cpu_supports("avx512f")) && is_set(__builtin_cpu_supports("avx512vl")) &&
      is_set(__builtin_cpu_supports("avx512dq")) && is_set(__builtin_cpu_supports("avx512bw"));
#else
  const bool has_avx2 = false;
  const bool has_avx512 = false;
#endif
  switch (set) {
    case InstructionSet::baseline:
      return true;
    case InstructionSet::avx2:
      return has_avx2;
    case InstructionSet::avx512:
      return has_avx2 && has_avx512;
  }
  return false;
}

}  // namespace

std::span<const InstructionSet> available_instruction_sets() {
  std::size_t count = 0;
  while (count < all_sets.size() && is_available(all_sets[count]))
    ++count;
  return std::span{all_sets}.first(count);
}

InstructionSet best_instruction_set() {
  return available_instruction_sets().back();
}

}  // namespace lyk::cpu
