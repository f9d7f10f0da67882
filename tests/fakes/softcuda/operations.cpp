#include "tests/fakes/softcuda/operations.hpp"

#include <utility>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

Status stream_in(Context& context,
                 StreamHandle handle,
                 DefaultStream zero,
                 std::shared_ptr<Stream>& out) {
  out = find_stream(context, handle, zero);
  return out != nullptr ? Status::success
                        : refuse(Status::invalid_handle, "not a live stream of the context");
}

Status enqueue(Stream& stream, NodeKind kind, Task run) {
  if (process().captures.are_any()) {
    const auto admission = process().captures.admit(stream, kind, run);
    if (admission.status != Status::success || admission.captured)
      return admission.status;
  }
  (void)submit(stream, std::move(run));
  return Status::success;
}

Status do_now(Context& context, DefaultStream zero, const std::function<Status()>& run) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, nullptr, zero, stream));
  Captures& captures = process().captures;
  if (captures.are_any()) {
    SOFTCUDA_TRY(captures.refuse_on(*stream));
    SOFTCUDA_TRY(captures.refuse_unsafe());
  }
  Status out = Status::success;
  run_in_turn(*stream, [&] { out = run(); });
  const Status fault = context.fault.load(std::memory_order_acquire);
  return fault != Status::success ? fault : out;
}

}  // namespace softcuda
