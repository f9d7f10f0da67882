// The special registers: %tid.x and the like.
//
// Thread rule: as decode.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/fakes/softcuda/ptx/program.hpp"

namespace softcuda::ptx {

class Decoding;

// The slot that holds a special register when the instruction at hand reads it; nothing if there is
// no such register. A clock changes all the time: reading one emits an instruction of its own.
[[nodiscard]] std::optional<std::uint32_t> special_register(Decoding& in, std::string_view name);

// What a special register holds for a thread.
[[nodiscard]] std::uint64_t value_of(Special special, const Thread& thread);

}  // namespace softcuda::ptx
