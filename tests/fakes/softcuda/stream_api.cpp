// Streams. The entry points that take a stream exist twice: as they are, and with the calling
// thread's own stream as stream 0.
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/event.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

Status create(Context& context, StreamHandle* out, unsigned flags, int priority) {
  if (out == nullptr || (flags & ~stream_non_blocking) != 0)
    return refuse(Status::invalid_value, "no such flags");
  const bool blocks = (flags & stream_non_blocking) == 0;
  auto stream =
      make_stream(context, blocks ? StreamKind::blocking : StreamKind::non_blocking, priority);
  *out = process().streams.add(stream);
  const std::scoped_lock lock{context.order};
  context.streams.push_back(std::move(stream));
  return Status::success;
}

Status destroy(Context& context, StreamHandle handle) {
  const auto stream = process().streams.find(handle);
  if (stream == nullptr || stream->context != &context)
    return refuse(Status::invalid_handle, "not a live stream that was created");
  (void)process().streams.take(handle);
  process().captures.abandon(stream);
  retire_stream(stream);
  return Status::success;
}

Status synchronize(Context& context, StreamHandle handle, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  Captures& captures = process().captures;
  if (captures.are_any()) {
    SOFTCUDA_TRY(captures.refuse_on(*stream));
    SOFTCUDA_TRY(captures.refuse_unsafe());
  }
  wait_for_all(unfinished(*stream));
  return context.fault.load(std::memory_order_acquire);
}

Status query(Context& context, StreamHandle handle, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  Captures& captures = process().captures;
  if (captures.are_any()) {
    SOFTCUDA_TRY(captures.refuse_on(*stream));
    SOFTCUDA_TRY(captures.refuse_unsafe());
  }
  if (!are_reached(unfinished(*stream)))
    return Status::not_ready;
  return context.fault.load(std::memory_order_acquire);
}

Status wait_event(Context& context, StreamHandle handle, EventHandle event, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  const auto waited = process().events.find(event);
  if (waited == nullptr)
    return refuse(Status::invalid_handle, "not a live event");
  const std::scoped_lock event_lock{waited->mutex};
  if (!waited->is_recorded)
    return Status::success;
  Captures& captures = process().captures;
  if (captures.are_any() || waited->captured.capture != nullptr) {
    const auto admission = captures.wait(stream, waited->captured);
    if (admission.status != Status::success || admission.captured)
      return admission.status;
  }
  const std::scoped_lock lock{stream->waits_mutex};
  stream->waits.push_back(waited->point);
  return Status::success;
}

// What `read` says of the stream.
template <typename T, typename Read>
Status tell(Context& context, StreamHandle handle, T* out, DefaultStream zero, const Read& read) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (out == nullptr)
    return Status::invalid_value;
  *out = read(*stream);
  return Status::success;
}

Status get_context(Context& context, StreamHandle handle, ContextHandle* out, DefaultStream zero) {
  return tell(context, handle, out, zero,
              [](const Stream& stream) { return stream.context->handle; });
}

Status get_flags(Context& context, StreamHandle handle, unsigned* out, DefaultStream zero) {
  return tell(context, handle, out, zero, [](const Stream& stream) {
    return stream.kind == StreamKind::non_blocking ? stream_non_blocking : 0U;
  });
}

Status get_priority(Context& context, StreamHandle handle, int* out, DefaultStream zero) {
  return tell(context, handle, out, zero, [](const Stream& stream) { return stream.priority; });
}

}  // namespace

SOFTCUDA_API Status cuStreamCreate(StreamHandle* out, unsigned flags) {
  return call(Function::cuStreamCreate, {{"flags", flags}, result("out", out)},
              [&](Context& context) { return create(context, out, flags, 0); });
}

SOFTCUDA_API Status cuStreamCreateWithPriority(StreamHandle* out, unsigned flags, int priority) {
  return call(Function::cuStreamCreateWithPriority, {{"flags", flags}, result("out", out)},
              [&](Context& context) { return create(context, out, flags, priority); });
}

SOFTCUDA_API Status cuStreamDestroy_v2(StreamHandle stream) {
  return call(Function::cuStreamDestroy_v2, {{"stream", stream}},
              [&](Context& context) { return destroy(context, stream); });
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): signatures
#define SOFTCUDA_STREAM_CALL(name, function, zero)                                                 \
  SOFTCUDA_API Status name(StreamHandle stream) {                                                  \
    return call(Function::name, {{"stream", stream}},                                              \
                [&](Context& context) { return function(context, stream, DefaultStream::zero); }); \
  }

#define SOFTCUDA_STREAM_GETTER(name, function, Out, zero)                                         \
  SOFTCUDA_API Status name(StreamHandle stream, Out* out) {                                       \
    return call(Function::name, {{"stream", stream}, result("out", out)}, [&](Context& context) { \
      return function(context, stream, out, DefaultStream::zero);                                 \
    });                                                                                           \
  }

#define SOFTCUDA_WAIT_EVENT(name, zero)                                                   \
  SOFTCUDA_API Status name(StreamHandle stream, EventHandle event, unsigned flags) {      \
    return call(Function::name, {{"stream", stream}, {"event", event}, {"flags", flags}}, \
                [&](Context& context) {                                                   \
                  return wait_event(context, stream, event, DefaultStream::zero);         \
                });                                                                       \
  }
// There are no green contexts here, so no stream belongs to one.
#define SOFTCUDA_STREAM_CONTEXTS(name, zero)                                                      \
  SOFTCUDA_API Status name(StreamHandle stream, ContextHandle* out, void** green) {               \
    return call(Function::name, {{"stream", stream}, result("out", out)}, [&](Context& context) { \
      if (green != nullptr)                                                                       \
        *green = nullptr;                                                                         \
      return get_context(context, stream, out, DefaultStream::zero);                              \
    });                                                                                           \
  }

// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

SOFTCUDA_STREAM_CALL(cuStreamSynchronize, synchronize, legacy)
SOFTCUDA_STREAM_CALL(cuStreamSynchronize_ptsz, synchronize, per_thread)
SOFTCUDA_STREAM_CALL(cuStreamQuery, query, legacy)
SOFTCUDA_STREAM_CALL(cuStreamQuery_ptsz, query, per_thread)
SOFTCUDA_STREAM_GETTER(cuStreamGetCtx, get_context, ContextHandle, legacy)
SOFTCUDA_STREAM_GETTER(cuStreamGetCtx_ptsz, get_context, ContextHandle, per_thread)
SOFTCUDA_STREAM_CONTEXTS(cuStreamGetCtx_v2, legacy)
SOFTCUDA_STREAM_CONTEXTS(cuStreamGetCtx_v2_ptsz, per_thread)
SOFTCUDA_STREAM_GETTER(cuStreamGetFlags, get_flags, unsigned, legacy)
SOFTCUDA_STREAM_GETTER(cuStreamGetFlags_ptsz, get_flags, unsigned, per_thread)
SOFTCUDA_STREAM_GETTER(cuStreamGetPriority, get_priority, int, legacy)
SOFTCUDA_STREAM_GETTER(cuStreamGetPriority_ptsz, get_priority, int, per_thread)
SOFTCUDA_WAIT_EVENT(cuStreamWaitEvent, legacy)
SOFTCUDA_WAIT_EVENT(cuStreamWaitEvent_ptsz, per_thread)

}  // namespace softcuda
