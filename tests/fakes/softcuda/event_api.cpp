// Events.
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/event.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

Status find_event(EventHandle handle, std::shared_ptr<Event>& out) {
  out = process().events.find(handle);
  return out != nullptr ? Status::success : refuse(Status::invalid_handle, "not a live event");
}

Clock::rep now() {
  return Clock::now().time_since_epoch().count();
}

Status record(Context& context, EventHandle handle, StreamHandle on, DefaultStream zero) {
  std::shared_ptr<Event> event;
  SOFTCUDA_TRY(find_event(handle, event));
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, on, zero, stream));
  if (event->context != &context)
    return refuse(Status::invalid_handle, "an event of another context");
  CapturedPoint captured;
  if (process().captures.are_any())
    SOFTCUDA_TRY(process().captures.record(*stream, captured));
  const std::scoped_lock lock{event->mutex};
  event->is_recorded = true;
  event->captured = captured;
  if (captured.capture != nullptr)
    return Status::success;
  event->reached_at = std::make_shared<std::atomic<Clock::rep>>(0);
  event->point = submit(*stream, [reached_at = event->reached_at] { *reached_at = now(); });
  return Status::success;
}

// What asks about an event must not ask about one that stands for captured work.
Status check_captures(const Event& event) {
  if (event.captured.capture != nullptr)
    return refuse(Status::captured_event, "the event was recorded in a capture");
  return process().captures.are_any() ? process().captures.refuse_unsafe() : Status::success;
}

Status query(Context& context, EventHandle handle) {
  std::shared_ptr<Event> event;
  SOFTCUDA_TRY(find_event(handle, event));
  const std::scoped_lock lock{event->mutex};
  SOFTCUDA_TRY(check_captures(*event));
  if (event->is_recorded && !event->point.is_reached())
    return Status::not_ready;
  return context.fault.load(std::memory_order_acquire);
}

Status synchronize(Context& context, EventHandle handle) {
  std::shared_ptr<Event> event;
  SOFTCUDA_TRY(find_event(handle, event));
  Point point;
  {
    const std::scoped_lock lock{event->mutex};
    SOFTCUDA_TRY(check_captures(*event));
    point = event->point;
  }
  point.wait();
  return context.fault.load(std::memory_order_acquire);
}

// The time at which a timed event was reached.
Status reached_at(EventHandle handle, Clock::rep& out) {
  std::shared_ptr<Event> event;
  SOFTCUDA_TRY(find_event(handle, event));
  const std::scoped_lock lock{event->mutex};
  if (!event->is_recorded || event->captured.capture != nullptr ||
      (event->flags & event_disable_timing) != 0)
    return refuse(Status::invalid_handle, "not recorded, or without timing");
  if (!event->point.is_reached())
    return Status::not_ready;
  out = event->reached_at->load();
  return Status::success;
}

Status elapsed(float* milliseconds, EventHandle start, EventHandle end) {
  if (milliseconds == nullptr)
    return Status::invalid_value;
  Clock::rep from = 0;
  Clock::rep to = 0;
  SOFTCUDA_TRY(reached_at(start, from));
  SOFTCUDA_TRY(reached_at(end, to));
  const std::chrono::duration<float, std::milli> time = Clock::duration{to - from};
  *milliseconds = time.count();
  return Status::success;
}

}  // namespace

SOFTCUDA_API Status cuEventCreate(EventHandle* out, unsigned flags) {
  return call(Function::cuEventCreate, {{"flags", flags}, result("out", out)},
              [&](Context& context) {
                if (out == nullptr || (flags & ~event_flags_known) != 0)
                  return refuse(Status::invalid_value, "no such flags");
                auto event = std::make_shared<Event>();
                event->context = &context;
                event->flags = flags;
                *out = process().events.add(event);
                return Status::success;
              });
}

SOFTCUDA_API Status cuEventRecord(EventHandle event, StreamHandle stream) {
  return call(
      Function::cuEventRecord, {{"event", event}, {"stream", stream}},
      [&](Context& context) { return record(context, event, stream, DefaultStream::legacy); });
}

SOFTCUDA_API Status cuEventRecord_ptsz(EventHandle event, StreamHandle stream) {
  return call(
      Function::cuEventRecord_ptsz, {{"event", event}, {"stream", stream}},
      [&](Context& context) { return record(context, event, stream, DefaultStream::per_thread); });
}

SOFTCUDA_API Status cuEventQuery(EventHandle event) {
  return call(Function::cuEventQuery, {{"event", event}},
              [&](Context& context) { return query(context, event); });
}

SOFTCUDA_API Status cuEventSynchronize(EventHandle event) {
  return call(Function::cuEventSynchronize, {{"event", event}},
              [&](Context& context) { return synchronize(context, event); });
}

SOFTCUDA_API Status cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  return call(Function::cuEventElapsedTime, {{"start", start}, {"end", end}},
              [&](Context&) { return elapsed(milliseconds, start, end); });
}

SOFTCUDA_API Status cuEventElapsedTime_v2(float* milliseconds, EventHandle start, EventHandle end) {
  return call(Function::cuEventElapsedTime_v2, {{"start", start}, {"end", end}},
              [&](Context&) { return elapsed(milliseconds, start, end); });
}

SOFTCUDA_API Status cuEventDestroy_v2(EventHandle event) {
  return call(Function::cuEventDestroy_v2, {{"event", event}}, [&](Context&) {
    return process().events.take(event) != nullptr
               ? Status::success
               : refuse(Status::invalid_handle, "not a live event");
  });
}

}  // namespace softcuda
