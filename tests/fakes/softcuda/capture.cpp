#include "tests/fakes/softcuda/capture.hpp"

#include <algorithm>
#include <utility>

#include "tests/fakes/softcuda/handles.hpp"
#include "tests/fakes/softcuda/trace.hpp"

namespace softcuda {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the driver keeps it per
// thread
constinit thread_local CaptureMode mode_of_thread = CaptureMode::global;

bool prohibits(const Capture& capture, CaptureMode own_mode) {
  if (own_mode == CaptureMode::relaxed)
    return false;
  if (capture.thread == thread_number())
    return capture.mode != CaptureMode::relaxed;
  return own_mode == CaptureMode::global && capture.mode == CaptureMode::global;
}

void add_missing(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
  for (const std::size_t node : from)
    if (std::ranges::find(to, node) == to.end())
      to.push_back(node);
}

// Whether the origin's last nodes come after every other node of the graph.
bool is_joined(const Graph& graph, const std::vector<std::size_t>& last) {
  std::vector<bool> reached(graph.nodes.size());
  for (const std::size_t node : last)
    reached[node] = true;
  for (std::size_t node = graph.nodes.size(); node-- > 0;)
    if (reached[node])
      for (const std::size_t before : graph.nodes[node].after)
        reached[before] = true;
  return std::ranges::all_of(reached, [](bool is_reached) { return is_reached; });
}

// The captures' lock is held.
Status invalidate(Capture& capture, Status why) {
  capture.status = CaptureStatus::invalidated;
  return why;
}

}  // namespace

NodeHandle node_handle(const Graph& graph, std::size_t node) {
  constexpr unsigned graph_shift = 20;  // no graph has a million nodes
  const auto graph_number = reinterpret_cast<std::uintptr_t>(graph.handle) & 0xfff'ffffU;
  const std::uintptr_t number = make_handle(HandleKind::node, (graph_number << graph_shift) + node);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number, as all handles are
  return reinterpret_cast<NodeHandle>(number);
}

CaptureMode& thread_capture_mode() {
  return mode_of_thread;
}

Status Captures::check_legacy(const Context& context) {
  bool concerned = false;
  for (const auto& capture : active_)
    for (const auto& stream : capture->streams)
      if (stream->context == &context && stream->kind == StreamKind::blocking) {
        capture->status = CaptureStatus::invalidated;
        concerned = true;
      }
  return concerned ? refuse(Status::stream_capture_implicit,
                            "the legacy stream would depend on a blocking stream that captures")
                   : Status::success;
}

Status Captures::check_usable(const Stream& stream) {
  if (stream.kind == StreamKind::legacy)
    return check_legacy(*stream.context);
  if (stream.capture != nullptr && stream.capture->status == CaptureStatus::invalidated)
    return refuse(Status::stream_capture_invalidated, "the stream's capture is invalid");
  return Status::success;
}

void Captures::finish(const std::shared_ptr<Capture>& capture) {
  for (const auto& stream : capture->streams) {
    stream->capture = nullptr;
    stream->capture_after.clear();
  }
  capture->streams.clear();
  capture->origin = nullptr;
  if (capture->status == CaptureStatus::active)
    capture->status = CaptureStatus::none;
  std::erase(active_, capture);
  count_.store(active_.size(), std::memory_order_release);
}

Status Captures::begin(const std::shared_ptr<Stream>& stream, CaptureMode mode) {
  const std::scoped_lock lock{mutex_};
  if (stream->kind == StreamKind::legacy)
    return refuse(Status::stream_capture_unsupported, "the legacy stream cannot capture");
  if (stream->capture != nullptr)
    return refuse(Status::illegal_state, "the stream captures already");
  auto capture = std::make_shared<Capture>();
  capture->id = ++last_id_;
  capture->mode = mode;
  capture->thread = thread_number();
  capture->context = stream->context;
  capture->origin = stream;
  capture->streams = {stream};
  capture->graph = std::make_shared<Graph>();
  capture->graph->context = stream->context;
  stream->capture = capture;
  active_.push_back(std::move(capture));
  count_.store(active_.size(), std::memory_order_release);
  return Status::success;
}

Status Captures::end(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>& out) {
  const std::scoped_lock lock{mutex_};
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr)
    return refuse(Status::illegal_state, "the stream does not capture");
  if (capture->origin != stream)
    return invalidate(
        *capture, refuse(Status::stream_capture_unmatched, "the capture began on another stream"));
  if (capture->mode != CaptureMode::relaxed && capture->thread != thread_number())
    return invalidate(*capture, refuse(Status::stream_capture_wrong_thread,
                                       "the capture began in another thread"));
  const bool valid = capture->status == CaptureStatus::active;
  const bool joined = is_joined(*capture->graph, stream->capture_after);
  if (valid && joined)
    out = capture->graph;
  else
    capture->status = CaptureStatus::invalidated;
  finish(capture);
  if (!valid)
    return refuse(Status::stream_capture_invalidated, "the capture was invalidated before");
  return joined ? Status::success
                : refuse(Status::stream_capture_unjoined, "another stream was not joined");
}

Captures::Admission Captures::admit(Stream& stream, NodeKind kind, const Task& run) {
  const std::scoped_lock lock{mutex_};
  if (const Status status = check_usable(stream); status != Status::success)
    return {.status = status};
  if (stream.capture == nullptr)
    return {};
  Graph& graph = *stream.capture->graph;
  graph.nodes.push_back({.kind = kind, .run = run, .after = stream.capture_after});
  stream.capture_after = {graph.nodes.size() - 1};
  return {.status = Status::success, .captured = true};
}

Status Captures::refuse_on(Stream& stream) {
  const std::scoped_lock lock{mutex_};
  if (const Status status = check_usable(stream); status != Status::success)
    return status;
  if (stream.capture == nullptr)
    return Status::success;
  return invalidate(*stream.capture, refuse(Status::stream_capture_unsupported,
                                            "not permitted on a stream that captures"));
}

Status Captures::refuse_in(const Context& context) {
  const std::scoped_lock lock{mutex_};
  Status out = Status::success;
  for (const auto& capture : active_)
    if (capture->context == &context)
      out = invalidate(
          *capture, refuse(Status::stream_capture_unsupported, "a stream of the context captures"));
  return out;
}

Status Captures::refuse_unsafe() {
  const std::scoped_lock lock{mutex_};
  Status out = Status::success;
  for (const auto& capture : active_)
    if (prohibits(*capture, mode_of_thread))
      out = invalidate(*capture, refuse(Status::stream_capture_unsupported,
                                        "not permitted while a stream captures"));
  return out;
}

Status Captures::record(Stream& stream, CapturedPoint& out) {
  const std::scoped_lock lock{mutex_};
  if (const Status status = check_usable(stream); status != Status::success)
    return status;
  out = {.capture = stream.capture, .after = stream.capture_after};
  return Status::success;
}

Captures::Admission Captures::wait(const std::shared_ptr<Stream>& stream,
                                   const CapturedPoint& event) {
  const std::scoped_lock lock{mutex_};
  if (const Status status = check_usable(*stream); status != Status::success)
    return {.status = status};
  const auto& own = stream->capture;
  if (event.capture != nullptr && event.capture->status == CaptureStatus::none)
    return {.status = refuse(Status::captured_event, "the event's capture has ended")};
  if (event.capture == nullptr) {
    if (own == nullptr)
      return {};
    return {.status = invalidate(*own, refuse(Status::stream_capture_isolation,
                                              "a capture cannot wait for work outside it"))};
  }
  if (event.capture->status == CaptureStatus::invalidated)
    return {.status = refuse(Status::stream_capture_invalidated, "the event's capture is invalid")};
  if (stream->kind == StreamKind::legacy)
    return {.status =
                invalidate(*event.capture, refuse(Status::stream_capture_implicit,
                                                  "the legacy stream cannot join a capture"))};
  if (own != nullptr && own != event.capture) {
    (void)invalidate(*own, Status::stream_capture_merge);
    return {.status = invalidate(*event.capture, refuse(Status::stream_capture_merge,
                                                        "two captures would become one"))};
  }
  if (own == nullptr) {
    stream->capture = event.capture;
    event.capture->streams.push_back(stream);
  }
  add_missing(stream->capture_after, event.after);
  return {.status = Status::success, .captured = true};
}

CaptureStatus Captures::status_of(const Stream& stream) {
  const std::scoped_lock lock{mutex_};
  return stream.capture == nullptr ? CaptureStatus::none : stream.capture->status;
}

Captures::Info Captures::info_of(const Stream& stream) {
  const std::scoped_lock lock{mutex_};
  if (stream.capture == nullptr)
    return {};
  return {.status = stream.capture->status,
          .id = stream.capture->id,
          .graph = stream.capture->graph,
          .after = stream.capture_after};
}

bool Captures::concerns_legacy(const Context& context) {
  const std::scoped_lock lock{mutex_};
  return std::ranges::any_of(active_, [&](const auto& capture) {
    return std::ranges::any_of(capture->streams, [&](const auto& stream) {
      return stream->context == &context && stream->kind == StreamKind::blocking;
    });
  });
}

void Captures::abandon(const Context& context) {
  const std::scoped_lock lock{mutex_};
  const auto captures = active_;
  for (const auto& capture : captures)
    if (capture->context == &context) {
      capture->status = CaptureStatus::invalidated;
      finish(capture);
    }
}

void Captures::abandon(const std::shared_ptr<Stream>& stream) {
  const std::scoped_lock lock{mutex_};
  if (const auto capture = stream->capture; capture != nullptr) {
    capture->status = CaptureStatus::invalidated;
    if (capture->origin == stream)
      finish(capture);
  }
}

}  // namespace softcuda
