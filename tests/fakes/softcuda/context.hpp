// Contexts and what runs in them: streams with their order, and the fault that ends a context.
//
// A context is never taken out of memory, only closed: the stacks of current contexts of other
// threads may still hold it, and a call there gets an answer (context is destroyed). The primary
// context of a device is one object that is opened and closed as it is retained and released, so
// its handle stays the same, as the driver's does, unless SOFTCUDA_MOVE_PRIMARY asks for another.
//
// A fault, once there, is the answer to every later call in the context, and work that has not
// begun is not done.
//
// Thread rule: any thread. `order` guards what stands below it and makes one order of all
// submissions to the context; no work is done under it. Lock order: order, then a queue's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/devices.hpp"
#include "tests/fakes/softcuda/timeline.hpp"

namespace softcuda {

struct Stream;

enum class ContextKind : std::uint8_t { primary, own };

struct Context {
  ContextHandle handle{};
  int device = 0;
  const DeviceModel* model = nullptr;
  ContextKind kind = ContextKind::own;
  std::atomic<unsigned> flags = 0;
  unsigned api_version = 0;
  std::atomic<std::uint64_t> id = 0;  // another one each time that it is opened
  std::atomic<bool> active = false;
  std::atomic<Status> fault = Status::success;

  std::mutex order;
  std::shared_ptr<Stream> legacy;
  std::vector<std::shared_ptr<Stream>> streams;                 // all others that are live
  std::map<std::uint64_t, std::shared_ptr<Stream>> per_thread;  // also in `streams`
  std::vector<Point> draining;  // ends of destroyed streams that still had work
};

// The first fault stays.
void set_fault(Context& context, Status fault);

// Makes a closed context usable, with a new number and default stream and without a fault.
void open_context(Context& context);
// Waits for its work, then takes every handle that belongs to it out of use and frees its memory.
void close_context(Context& context);

// Waits for everything submitted so far; the fault, if there is one then.
Status synchronise(Context& context);

// The contexts that this thread has made current, the last one on top. Plain bytes: calls come in
// after the destructors of a thread have run.
inline constexpr unsigned context_stack_max = 128;
struct ContextStack {
  std::array<Context*, context_stack_max> entries;
  unsigned size;
};
ContextStack& context_stack();
Context* current_context();  // null: none

// A number for this thread that no other ever has.
std::uint64_t thread_number();

}  // namespace softcuda
