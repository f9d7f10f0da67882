// Which instructions the kernels of this folder may use on this machine.
//
// A kernel is written once, with Highway's vector operations, and compiled once per instruction set
// (hwy/foreach_target.h includes its file again for each). Highway and not target_clones or files
// with flags of their own:
//   - its operations have one meaning on all targets, AVX2, AVX-512 and the NEON of GPU servers
//     with ARM processors alike; what the compiler's own vectoriser makes of a loop, it decides
//     anew in every release;
//   - its target attributes sit on our functions alone. A file compiled with -mavx512f leaves
//     AVX-512 copies of inline functions, and the linker may pick those for the whole program;
//   - target_clones needs the loader to choose, before main, and a test can then run only one.
// Highway's own choice at run time lives in libhwy.so, and Debian has no static one: the client
// library may need nothing but libc. So only its headers are used, and the choice is here, a value
// that callers pass on and tests set.
//
// Thread rule: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lyk::cpu {

enum class InstructionSet : std::uint8_t {
  baseline,  // what the compiler may assume of every machine
  avx2,      // AVX2 with FMA and BMI
  avx512,    // that with AVX-512 F, VL, DQ and BW
};

inline constexpr std::array<std::string_view, 3> instruction_set_names{"baseline", "avx2",
                                                                       "avx512"};

// Those that this machine can run, worst first; never empty.
std::span<const InstructionSet> available_instruction_sets();
InstructionSet best_instruction_set();

}  // namespace lyk::cpu
