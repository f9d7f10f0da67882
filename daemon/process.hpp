// What the daemon sets for its process as a whole: signals, descriptors, the allocator.
// Thread rule: by main, before any other thread is started.
#pragma once

#include <cstddef>

#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

// A private instance shares the terminal of its caller.
enum class Keyboard { stops_us, is_our_callers };

// For the time until there is something to put away: a wish to stop ends the process at once, as it
// ends any other. What is no such wish (SIGHUP, and SIGINT for the caller) waits.
void hold_other_signals(Keyboard keyboard);

// From now on SIGTERM, SIGINT and SIGHUP are blocked in every thread and come as a descriptor.
Result<UniqueFd> take_signals();

enum class Wish { stop, reload, none };

// One signal from the descriptor. What is typed at the terminal of our caller (SIGINT) or its end
// (SIGHUP) is not for us: our caller's leaving is what ends us.
Wish read_wish(int signals, Keyboard keyboard);

// Raises RLIMIT_NOFILE to fit this many connections besides what the daemon needs for itself.
// Returns how many fit: fewer where the hard limit is lower and may not be raised.
std::size_t make_room_for_connections(std::size_t connections);

// Thousands of threads that mostly sleep must not have an arena of the allocator each.
void keep_memory_small();

}  // namespace lyk::daemon
