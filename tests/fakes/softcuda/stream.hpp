// Streams: queues of work, each with a thread of its own from its first asynchronous work on.
//
// Order, as the driver has it: work of one stream follows the work before it. Work of the legacy
// default stream follows everything that all blocking streams of the context were given before, and
// whatever they are given later follows it. Non-blocking streams know nothing of that.
//
// Thread rule: any thread. What a stream says about a capture is guarded by the captures' lock.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/context.hpp"
#include "tests/fakes/softcuda/functions.hpp"
#include "tests/fakes/softcuda/timeline.hpp"

namespace softcuda {

struct Capture;

using Task = std::function<void()>;

// What a stream and its thread share; the thread may outlive the stream.
struct Queue {
  Context* context = nullptr;
  std::shared_ptr<Timeline> timeline = std::make_shared<Timeline>();

  struct Work {
    std::uint64_t position = 0;
    std::vector<Point> after;
    Task run;
  };
  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::deque<Work> works;
  bool has_worker = false;
  bool is_closed = false;
};

enum class StreamKind : std::uint8_t { legacy, blocking, non_blocking };

struct Stream {
  StreamHandle handle{};
  Context* context = nullptr;
  StreamKind kind = StreamKind::blocking;
  int priority = 0;
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();

  std::mutex waits_mutex;
  std::vector<Point> waits;  // what cuStreamWaitEvent asked for; the next work comes after it

  std::shared_ptr<Capture> capture;        // null: not capturing
  std::vector<std::size_t> capture_after;  // nodes that the next one comes after
};

std::shared_ptr<Stream> make_stream(Context& context, StreamKind kind, int priority);
// Its work is still done; its handle must be out of use already.
void retire_stream(const std::shared_ptr<Stream>& stream);

// Gives the stream asynchronous work. The returned point is its end.
Point submit(Stream& stream, Task run);
// Does the work in this thread when it is its turn, and returns when it is done.
void run_in_turn(Stream& stream, const Task& run);
// The end of all work that the stream has been given.
Point tail(const Stream& stream);
// What synchronising the stream waits for: its work, the events it was told to wait for, and for
// the legacy stream the work of all blocking ones.
std::vector<Point> unfinished(Stream& stream);

// The stream that a handle of a call means; `zero` tells whose default stream 0 is. Null for a
// handle that is not live or belongs to another context.
std::shared_ptr<Stream> find_stream(Context& context, StreamHandle handle, DefaultStream zero);

}  // namespace softcuda
