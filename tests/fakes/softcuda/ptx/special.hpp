// The special registers: %tid.x and the like.
//
// Thread rule: pure functions of a table that never changes.
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/fakes/softcuda/ptx/platform.hpp"
#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/types.hpp"

namespace softcuda::ptx {

struct SpecialRegister {
  std::string_view name;
  Special special;          // what it is as long as a frame lives
  Execute clock = nullptr;  // else: what reads it, since it changes all the time
  Type type = Type::u32;
  Type second_type = Type::u32;  // of another size, if it may be read as that, too
  Need need = {};
};

// Null if there is no such register.
[[nodiscard]] const SpecialRegister* special_register(std::string_view name);

// What a special register holds for a thread.
[[nodiscard]] std::uint64_t value_of(Special special, const Thread& thread);

}  // namespace softcuda::ptx
