// Stream capture: what a capturing stream is given becomes nodes of a graph instead of work, and
// what would break that is refused as the driver refuses it. The rules are those of the sections
// on stream capture and on cuThreadExchangeStreamCaptureMode in NVIDIA's documentation:
//
//   a call that cannot be captured, on a capturing stream          900, the capture is invalid
//   anything else with an invalid capture, and its end             901
//   one stream to be part of two captures                          902, both are invalid
//   the end on another stream than the beginning                   903
//   the end while another stream was not joined                    904
//   a capturing stream is to wait for uncaptured work              905
//   use of the legacy stream while a blocking stream captures      906
//   asking about an event that stands for captured work            907
//   the end in another thread, unless the mode is relaxed          908
//
// and calls that may synchronise behind the scenes (allocation, module loading, event queries) are
// prohibited by captures in progress: by those of the same thread that are not relaxed, and by
// global ones of other threads for a thread whose own mode is global. Such a call is 900 and
// invalidates what prohibited it.
//
// Thread rule: any thread; one lock guards all captures and the capture members of streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/stream.hpp"

namespace softcuda {

enum class NodeKind : std::uint8_t { kernel, copy, fill, host, graph };

struct Node {
  NodeKind kind = NodeKind::kernel;
  Task run;
  std::vector<std::size_t> after;
};

// Nodes are in the order in which they were captured, so each comes after those it names.
struct Graph {
  GraphHandle handle{};
  Context* context = nullptr;
  std::vector<Node> nodes;
};

// A number for a node that looks like a handle; no call here takes one back.
NodeHandle node_handle(const Graph& graph, std::size_t node);

struct GraphExec {
  GraphExecHandle handle{};
  Context* context = nullptr;
  std::shared_ptr<const Graph> graph;
};

struct Capture {
  std::uint64_t id = 0;
  CaptureMode mode = CaptureMode::global;
  std::uint64_t thread = 0;
  CaptureStatus status = CaptureStatus::active;
  Context* context = nullptr;
  std::shared_ptr<Stream> origin;
  std::vector<std::shared_ptr<Stream>> streams;  // with the origin
  std::shared_ptr<Graph> graph;
};

// What an event was recorded after, if that was captured.
struct CapturedPoint {
  std::shared_ptr<Capture> capture;  // null: not captured
  std::vector<std::size_t> after;
};

class Captures {
public:
  // Whether anything captures anywhere; without this nothing below has to be asked.
  bool are_any() const { return count_.load(std::memory_order_acquire) != 0; }

  Status begin(const std::shared_ptr<Stream>& stream, CaptureMode mode);
  Status end(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>& out);

  // `captured`: the operation has become a node and is not to be done. Else it is to be done.
  struct Admission {
    Status status = Status::success;
    bool captured = false;
  };
  Admission admit(Stream& stream, NodeKind kind, const Task& run);

  // For calls that cannot be part of a capture: synchronising or querying this stream.
  Status refuse_on(Stream& stream);
  // For calls that concern all of a context.
  Status refuse_in(const Context& context);
  // For calls that may synchronise behind the scenes.
  Status refuse_unsafe();

  Status record(Stream& stream, CapturedPoint& out);
  // `waited`: the wait has become part of a capture.
  Admission wait(const std::shared_ptr<Stream>& stream, const CapturedPoint& event);

  CaptureStatus status_of(const Stream& stream);
  struct Info {
    CaptureStatus status = CaptureStatus::none;
    std::uint64_t id = 0;
    std::shared_ptr<Graph> graph;
    std::vector<std::size_t> after;
  };
  Info info_of(const Stream& stream);
  // Whether a blocking stream of the context captures, so that its legacy stream cannot be used.
  bool concerns_legacy(const Context& context);

  // Captures of a context that goes away end with it.
  void abandon(const Context& context);
  void abandon(const std::shared_ptr<Stream>& stream);

private:
  // All of these with the lock held.
  Status check_legacy(const Context& context);
  Status check_usable(const Stream& stream);
  void finish(const std::shared_ptr<Capture>& capture);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Capture>> active_;
  std::atomic<std::size_t> count_ = 0;
  std::uint64_t last_id_ = 0;
};

// The capture mode of this thread, as cuThreadExchangeStreamCaptureMode sets it.
CaptureMode& thread_capture_mode();

}  // namespace softcuda
