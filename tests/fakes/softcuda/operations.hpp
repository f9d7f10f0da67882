// How the entry points give work to streams: captured, queued, or done at once.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/capture.hpp"
#include "tests/fakes/softcuda/stream.hpp"

namespace softcuda {

// The live stream of a handle, or invalid_handle.
Status stream_in(Context& context,
                 StreamHandle handle,
                 DefaultStream zero,
                 std::shared_ptr<Stream>& out);

// Asynchronous work of a stream: becomes a node if the stream captures, else is queued.
Status enqueue(Stream& stream, NodeKind kind, Task run);

// Work that is done when the call returns, on the default stream that `zero` tells. `run` gives the
// result of the call.
Status do_now(Context& context, DefaultStream zero, const std::function<Status()>& run);

}  // namespace softcuda
