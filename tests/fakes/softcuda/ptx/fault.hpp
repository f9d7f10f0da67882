// What went wrong while device code ran, or while memory was touched, in a form that a driver can
// turn into its error code and a person into a cause.
//
// Thread rule: values, no shared state.
#pragma once

#include <string>
#include <string_view>

namespace softcuda::ptx {

enum class FaultKind {
  illegal_address,      // no live allocation, no such shared, local, constant or parameter byte
  misaligned_address,   // not a multiple of the access's size
  uninitialised_read,   // of a byte that nothing ever wrote (Checks::uninitialised)
  race,                 // two threads, one byte, one write, nothing between them (Checks::race)
  divergent_barrier,    // a barrier or warp operation that can never complete
  illegal_instruction,  // an instruction met values for which PTX defines no result
  trap,                 // `trap`
  assert_failed,        // a failed assert() of the device code
  timeout,              // more instructions than the launch allows
  stack_overflow,       // device functions nested too deeply
  invalid_launch,       // sizes that no device accepts; nothing ran
};

// `illegal address` and so on.
[[nodiscard]] std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind;
  // One line: what, where: `illegal address: read of 4 bytes at 0x.. is 12 bytes beyond the
  // allocation of 64 bytes at 0x..; kernel k, ptx line 17, block (0, 0, 0), thread (3, 0, 0)`.
  std::string text;
};

}  // namespace softcuda::ptx
