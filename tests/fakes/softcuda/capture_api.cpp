// Stream capture.
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

Status begin(Context& context, StreamHandle handle, int mode, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (mode < static_cast<int>(CaptureMode::global) || mode > static_cast<int>(CaptureMode::relaxed))
    return refuse(Status::invalid_value, "no such capture mode");
  return process().captures.begin(stream, static_cast<CaptureMode>(mode));
}

Status end(Context& context, StreamHandle handle, GraphHandle* out, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (out == nullptr)
    return Status::invalid_value;
  *out = nullptr;  // the driver's answer for an invalid capture
  std::shared_ptr<Graph> graph;
  SOFTCUDA_TRY(process().captures.end(stream, graph));
  // Who asked for the capture's graph while it was going on has its handle already.
  *out = graph->handle != nullptr ? graph->handle : process().graphs.add(graph);
  return Status::success;
}

// The legacy stream may be asked about, but not while a blocking stream captures. That does no harm
// to the capture.
Status check_legacy(const Context& context, const Stream& stream) {
  return stream.kind == StreamKind::legacy && process().captures.concerns_legacy(context)
             ? refuse(Status::stream_capture_implicit, "a blocking stream captures")
             : Status::success;
}

Status is_capturing(Context& context, StreamHandle handle, int* out, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (out == nullptr)
    return Status::invalid_value;
  SOFTCUDA_TRY(check_legacy(context, *stream));
  *out = static_cast<int>(process().captures.status_of(*stream));
  return Status::success;
}

struct InfoPlaces {
  int* status;
  std::uint64_t* id;
  GraphHandle* graph;
  const NodeHandle** dependencies;
  std::size_t* dependency_count;
};

// Lives until the thread asks again, as the driver's array lives until the capture goes on.
std::vector<NodeHandle>& dependencies_of_thread() {
  static thread_local std::vector<NodeHandle> nodes;
  return nodes;
}

Status get_info(Context& context, StreamHandle handle, const InfoPlaces& out, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (out.status == nullptr)
    return Status::invalid_value;
  SOFTCUDA_TRY(check_legacy(context, *stream));
  const auto info = process().captures.info_of(*stream);
  *out.status = static_cast<int>(info.status);
  if (info.status != CaptureStatus::active)
    return Status::success;
  if (out.id != nullptr)
    *out.id = info.id;
  if (out.graph != nullptr) {
    if (info.graph->handle == nullptr)
      (void)process().graphs.add(info.graph);
    *out.graph = info.graph->handle;
  }
  auto& nodes = dependencies_of_thread();
  nodes.clear();
  for (const std::size_t node : info.after)
    nodes.push_back(node_handle(*info.graph, node));
  if (out.dependencies != nullptr)
    *out.dependencies = nodes.data();
  if (out.dependency_count != nullptr)
    *out.dependency_count = nodes.size();
  return Status::success;
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-function-size): the driver's signatures
#define SOFTCUDA_CAPTURE_CALLS(begin_name, end_name, is_capturing_name, zero)                      \
  SOFTCUDA_API Status begin_name(StreamHandle stream, int mode) {                                  \
    return call(                                                                                   \
        Function::begin_name, {{"stream", stream}, {"mode", mode}},                                \
        [&](Context& context) { return begin(context, stream, mode, DefaultStream::zero); });      \
  }                                                                                                \
  SOFTCUDA_API Status end_name(StreamHandle stream, GraphHandle* out) {                            \
    return call(Function::end_name, {{"stream", stream}, result("out", out)},                      \
                [&](Context& context) { return end(context, stream, out, DefaultStream::zero); }); \
  }                                                                                                \
  SOFTCUDA_API Status is_capturing_name(StreamHandle stream, int* out) {                           \
    return call(Function::is_capturing_name, {{"stream", stream}, result("out", out)},             \
                [&](Context& context) {                                                            \
                  return is_capturing(context, stream, out, DefaultStream::zero);                  \
                });                                                                                \
  }

#define SOFTCUDA_CAPTURE_INFO_V2(name, zero)                                                 \
  SOFTCUDA_API Status name(StreamHandle stream, int* status, std::uint64_t* id,              \
                           GraphHandle* graph, const NodeHandle** dependencies,              \
                           std::size_t* count) {                                             \
    return call(Function::name, {{"stream", stream}, result("status", status)},              \
                [&](Context& context) {                                                      \
                  return get_info(context, stream, {status, id, graph, dependencies, count}, \
                                  DefaultStream::zero);                                      \
                });                                                                          \
  }

// Edges of captured work have no data of their own: all of it is "after completion".
#define SOFTCUDA_CAPTURE_INFO_V3(name, zero)                                                 \
  SOFTCUDA_API Status name(StreamHandle stream, int* status, std::uint64_t* id,              \
                           GraphHandle* graph, const NodeHandle** dependencies,              \
                           const void** edges, std::size_t* count) {                         \
    return call(Function::name, {{"stream", stream}, result("status", status)},              \
                [&](Context& context) {                                                      \
                  if (edges != nullptr)                                                      \
                    *edges = nullptr;                                                        \
                  return get_info(context, stream, {status, id, graph, dependencies, count}, \
                                  DefaultStream::zero);                                      \
                });                                                                          \
  }
// NOLINTEND(cppcoreguidelines-macro-usage,readability-function-size)

SOFTCUDA_CAPTURE_CALLS(cuStreamBeginCapture_v2, cuStreamEndCapture, cuStreamIsCapturing, legacy)
SOFTCUDA_CAPTURE_CALLS(cuStreamBeginCapture_v2_ptsz,
                       cuStreamEndCapture_ptsz,
                       cuStreamIsCapturing_ptsz,
                       per_thread)
SOFTCUDA_CAPTURE_INFO_V2(cuStreamGetCaptureInfo_v2, legacy)
SOFTCUDA_CAPTURE_INFO_V2(cuStreamGetCaptureInfo_v2_ptsz, per_thread)
SOFTCUDA_CAPTURE_INFO_V3(cuStreamGetCaptureInfo_v3, legacy)
SOFTCUDA_CAPTURE_INFO_V3(cuStreamGetCaptureInfo_v3_ptsz, per_thread)

SOFTCUDA_API Status cuThreadExchangeStreamCaptureMode(int* mode) {
  return call(Function::cuThreadExchangeStreamCaptureMode, {result("mode", mode)}, [&](Process&) {
    if (mode == nullptr || *mode < 0 || *mode > static_cast<int>(CaptureMode::relaxed))
      return refuse(Status::invalid_value, "no such capture mode");
    const auto wanted = static_cast<CaptureMode>(*mode);
    *mode = static_cast<int>(thread_capture_mode());
    thread_capture_mode() = wanted;
    return Status::success;
  });
}

}  // namespace softcuda
