// The calls and replies of com.libreyolo.Kernels as values, one struct for each `type` and method
// of the varlink file, field for field. Parsing is strict about what it knows and blind to what it
// does not: unknown fields are ignored, absent optional fields are nullopt or empty. Thread rule:
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/device.hpp"
#include "proto/digest.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::wire {

inline constexpr std::string_view interface_name = "com.libreyolo.Kernels";

// The text of com.libreyolo.Kernels.varlink, embedded at build time: the document is what is
// served.
extern const std::string_view interface_description;

enum class ImageKind { cubin, ptx };
enum class ProofKind { git, digests };
enum class FetchStep { proving, downloading, adopting, waiting };
enum class SlotState { cached, not_cached, fetching, failed };
enum class Mode { system, user, private_instance };

struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};
struct Kernel {
  std::string symbol;
  std::string name;
  std::vector<Parameter> parameters;
};
struct Image {
  std::string container;
  ImageKind kind = ImageKind::cubin;
  std::string arch;  // "sm_90a"; as sent, for display: the choice was made by the service
  std::string compression;
  std::uint64_t bytes = 0;
  Digest sha256;
  std::vector<Kernel> kernels;  // empty unless a description was asked for
};
struct RefusedImage {
  std::string image;
  std::string reason;
};
struct ParityRecord {
  Digest image;
  Arch arch;  // of the GPU
  CudaVersion driver;
  std::string gpu;
  std::string set;
  std::string greatest_error;
};
struct Pin {
  std::string slot;
  std::string repo;
  std::vector<std::string> repo_types;
  std::string revision;
  std::optional<std::string> license;
  std::optional<std::string> abi;
  std::vector<std::string> deterministic;
  bool is_public = false;
  std::vector<std::string> variants;
  std::uint64_t digests = 0;
  std::string source;
  std::vector<ParityRecord> parity{};
};
struct RefusedPin {
  std::string source;
  std::string reason;
};
struct File {
  std::string path;
  std::uint64_t bytes = 0;
  Digest sha256;
  std::vector<Image> images;
};
struct Revision {
  std::optional<std::string> slot;
  std::string repo;
  std::string repo_type;
  std::string commit;
  ProofKind proof = ProofKind::git;
  bool gated = false;
  std::uint64_t files = 0;
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
};
struct FetchProgress {
  std::string slot;
  FetchStep step = FetchStep::proving;
  std::optional<std::string> file;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
};
struct FetchedSlot {
  std::string slot;
  std::string repo;
  std::string repo_type;
  std::string commit;
  ProofKind proof = ProofKind::git;
  std::uint64_t files = 0;
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
  std::uint64_t downloaded_bytes = 0;
  std::uint64_t adopted_bytes = 0;
  std::vector<std::string> warnings;
};
struct VerifyProgress {
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};
struct DamagedFile {
  std::string repo;
  std::string commit;
  std::string path;
  std::string expected;
  std::string actual;
};
struct MissingFile {
  std::string repo;
  std::string commit;
  std::string path;
};
struct StoreStatus {
  std::string path;
  bool writable = false;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_max = 0;
  std::uint64_t files = 0;
  std::uint64_t images = 0;
  std::uint64_t quarantined = 0;
};
struct SlotStatus {
  std::string slot;
  std::string repo;
  std::string commit;
  SlotState state = SlotState::not_cached;
  std::uint64_t images = 0;
  std::optional<std::string> reason;
};
struct Counters {
  std::uint64_t resolve_calls = 0;
  std::uint64_t resolve_memory_hits = 0;
  std::uint64_t resolve_store_hits = 0;
  std::uint64_t resolve_misses = 0;
  std::uint64_t fetches_started = 0;
  std::uint64_t fetches_done = 0;
  std::uint64_t fetches_failed = 0;
  std::uint64_t fetched_bytes = 0;
  std::uint64_t adopted_bytes = 0;
  std::uint64_t quarantined_files = 0;
  std::uint64_t refused_calls = 0;
  std::uint64_t connections = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;
  std::uint64_t images_in_memory = 0;
  std::uint64_t images_in_memory_bytes = 0;
};

// ---- calls: what a client sends ----

struct ResolveCall {
  static constexpr std::string_view method = "Resolve";
  SlotName slot;
  Device device;
  std::optional<std::uint64_t> wait_ms;
  bool offline = false;
  bool describe = false;
  std::optional<std::string> pin{};
  std::optional<std::string> pin_name{};
};
struct FetchCall {
  static constexpr std::string_view method = "Fetch";
  std::vector<SlotName> slots;
  std::vector<Arch> archs;  // empty: every architecture
  bool offline = false;
  std::optional<std::string> pin;
  std::optional<std::string> pin_name;
  std::optional<CudaVersion> driver{};  // of the GPUs of `archs`; absent: any
};
struct ProbeCall {
  static constexpr std::string_view method = "Probe";
  SlotName slot;
  RepoId repo;
  std::string revision;
  std::vector<RepoType> repo_types;  // empty: kernel, then model
  std::optional<std::string> abi;
};
struct ListCall {
  static constexpr std::string_view method = "List";
  std::optional<SlotName> slot;
};
struct InfoCall {
  static constexpr std::string_view method = "Info";
  SlotName slot;
};
struct VerifyCall {
  static constexpr std::string_view method = "Verify";
  std::optional<SlotName> slot;
};
struct RemoveCall {
  static constexpr std::string_view method = "Remove";
  SlotName slot;
};
struct PruneCall {
  static constexpr std::string_view method = "Prune";
  std::optional<std::uint64_t> max_bytes;
};
struct PinsCall {
  static constexpr std::string_view method = "Pins";
};
struct StatusCall {
  static constexpr std::string_view method = "Status";
};
struct RebuildIndexCall {
  static constexpr std::string_view method = "RebuildIndex";
};

// ---- replies ----

struct ResolveReply {
  std::string slot;
  Image image;
  std::string repo;
  std::string repo_type;
  std::string commit;
  ProofKind proof = ProofKind::git;
  std::string file;
  std::string pin;  // where the pin came from
  std::vector<RefusedImage> refused;
  std::vector<std::string> deterministic{};  // passes of which the pin says so
};
struct FetchReply {
  std::optional<FetchProgress> progress;  // exactly one of the two
  std::optional<std::vector<FetchedSlot>> fetched;
};
struct ProbeReply {
  std::optional<FetchProgress> progress;  // alone, or everything below
  std::optional<std::string> pin;
  std::optional<std::string> commit;
  std::optional<std::string> repo_type;
  std::optional<std::string> license;
  std::vector<File> files;
  std::vector<std::string> warnings;
  std::vector<std::string> kept;
};
struct ListReply {
  std::vector<Revision> revisions;
};
struct InfoReply {
  Pin pin;
  std::optional<Revision> revision;
  std::vector<File> files;
};
struct VerifyReply {
  std::optional<VerifyProgress> progress;  // alone, or everything below
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<DamagedFile> damaged;
  std::vector<MissingFile> missing;
};
struct RemoveReply {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};
struct PruneReply {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_left = 0;
  std::vector<RefusedPin> refused;
};
struct PinsReply {
  std::vector<Pin> pins;
  std::vector<RefusedPin> refused;
};
struct StatusReply {
  std::string version;
  Mode mode = Mode::private_instance;
  std::int64_t pid = 0;
  std::uint64_t uptime_s = 0;
  std::string endpoint;
  bool offline = false;
  StoreStatus store;
  std::vector<SlotStatus> slots;
  Counters counters;
  std::vector<RefusedPin> refused;
};
struct RebuildIndexReply {
  std::uint64_t files = 0;
  std::uint64_t images = 0;
  std::uint64_t revisions = 0;
};

// What an error reply carries beyond the Error itself.
struct ErrorFields {
  std::optional<std::string> slot;
  std::vector<RefusedImage> refused;
};

}  // namespace lyk::wire
