// Runs the threads of a block: one after another, each until it waits, exits or has had its turn.
//
// Warps take turns in an order from the seed, a new one after every barrier, and so do the threads
// of each warp. A turn ends after `turn_instructions`, so that a thread that spins until another
// one has done something comes to an end.
//
// Thread rule: as state.hpp.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/order.hpp"
#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

inline constexpr std::uint32_t turn_instructions = 1 << 18;

// All threads are ready at its beginning. At its end all have exited, or run.fault says why not.
void run_block(Block& block, Mixer& mixer);

}  // namespace softcuda::ptx
