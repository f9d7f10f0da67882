#include "tests/fakes/softcuda/stream.hpp"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "tests/fakes/softcuda/process.hpp"

namespace softcuda {

namespace {

void do_work(Queue& queue, const Queue::Work& work) {
  wait_for_all(work.after);
  if (queue.context->fault.load() == Status::success)
    run_task(*queue.context, work.run);
  queue.timeline->complete(work.position);
}

// The life of a stream's thread: ends when the queue is closed and empty.
void serve(const std::shared_ptr<Queue>& queue) {
  while (true) {
    Queue::Work work;
    {
      std::unique_lock lock{queue->mutex};
      queue->changed.wait(lock, [&] { return !queue->works.empty() || queue->is_closed; });
      if (queue->works.empty()) {
        queue->has_worker = false;  // who still submits to a closed queue gets a new one
        return;
      }
      work = std::move(queue->works.front());
      queue->works.pop_front();
    }
    do_work(*queue, work);
  }
}

// Signals are for the threads of the program. The queue's lock is held.
void start_worker(const std::shared_ptr<Queue>& queue) {
  sigset_t all;
  sigset_t before;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread{serve, queue}.detach();
    queue->has_worker = true;
  } catch (const std::system_error&) {
    // The work waits for a thread that can be made: with the next work of the stream.
  }
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The ends of the stream's own work, and for the legacy stream those of all blocking ones. `order`
// is held.
std::vector<Point> ends(const Stream& stream) {
  const Context& context = *stream.context;
  std::vector<Point> out{tail(stream)};
  if (stream.kind == StreamKind::legacy) {
    for (const auto& other : context.streams)
      if (other->kind == StreamKind::blocking)
        out.push_back(tail(*other));
    out.insert(out.end(), context.draining.begin(), context.draining.end());
  }
  return out;
}

// What work that is submitted now comes after. `order` is held.
std::vector<Point> predecessors(Stream& stream) {
  std::vector<Point> out = ends(stream);
  const Context& context = *stream.context;
  if (stream.kind == StreamKind::blocking && context.legacy != nullptr)
    out.push_back(tail(*context.legacy));
  {
    const std::scoped_lock lock{stream.waits_mutex};
    const auto waits = std::exchange(stream.waits, {});
    out.insert(out.end(), waits.begin(), waits.end());
  }
  std::erase_if(out, [](const Point& point) { return point.is_reached(); });
  return out;
}

std::shared_ptr<Stream> thread_stream(Context& context) {
  const std::scoped_lock lock{context.order};
  auto& slot = context.per_thread[thread_number()];
  if (slot == nullptr) {
    slot = make_stream(context, StreamKind::blocking, 0);
    context.streams.push_back(slot);
  }
  return slot;
}

}  // namespace

std::shared_ptr<Stream> make_stream(Context& context, StreamKind kind, int priority) {
  auto out = std::make_shared<Stream>();
  out->context = &context;
  out->kind = kind;
  out->priority = priority;
  out->queue->context = &context;
  return out;
}

void retire_stream(const std::shared_ptr<Stream>& stream) {
  Context& context = *stream->context;
  const std::scoped_lock lock{context.order};
  std::erase(context.streams, stream);
  std::erase_if(context.draining, [](const Point& point) { return point.is_reached(); });
  context.draining.push_back(tail(*stream));
  Queue& queue = *stream->queue;
  {
    const std::scoped_lock queue_lock{queue.mutex};
    queue.is_closed = true;
  }
  queue.changed.notify_all();
}

Point submit(Stream& stream, Task run) {
  const std::scoped_lock lock{stream.context->order};
  std::vector<Point> after = predecessors(stream);
  Queue& queue = *stream.queue;
  const std::scoped_lock queue_lock{queue.mutex};
  if (!queue.has_worker)
    start_worker(stream.queue);
  const Point end{.timeline = queue.timeline, .position = queue.timeline->submit()};
  queue.works.push_back(
      {.position = end.position, .after = std::move(after), .run = std::move(run)});
  queue.changed.notify_one();
  return end;
}

void run_in_turn(Stream& stream, const Task& run) {
  Queue::Work work;
  {
    const std::scoped_lock lock{stream.context->order};
    work.after = predecessors(stream);
    work.position = stream.queue->timeline->submit();
  }
  work.run = run;
  do_work(*stream.queue, work);
}

Point tail(const Stream& stream) {
  const auto& timeline = stream.queue->timeline;
  return {.timeline = timeline, .position = timeline->submitted()};
}

std::vector<Point> unfinished(Stream& stream) {
  const std::scoped_lock lock{stream.context->order, stream.waits_mutex};
  std::vector<Point> out = ends(stream);
  out.insert(out.end(), stream.waits.begin(), stream.waits.end());
  return out;
}

std::shared_ptr<Stream> find_stream(Context& context, StreamHandle handle, DefaultStream zero) {
  auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == 0)
    number = zero == DefaultStream::legacy ? stream_legacy : stream_per_thread;
  if (number == stream_legacy) {
    const std::scoped_lock lock{context.order};
    return context.legacy;
  }
  if (number == stream_per_thread)
    return thread_stream(context);
  auto out = process().streams.find(handle);
  return out != nullptr && out->context == &context ? out : nullptr;
}

}  // namespace softcuda
