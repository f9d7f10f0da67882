// Every limit and deadline of the product in one place, each with its reason. Units are last in the
// name. A limit that a user may change is a key of daemon.toml and only its default stands here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lyk::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;
inline constexpr std::size_t gib = 1024 * mib;

// ---- socket

// A request is a few hundred bytes; the largest is an inline pin with digests of some hundred
// files.
inline constexpr std::size_t request_bytes_max = 1 * mib;
// A List of a full store: about 300 bytes an image, tens of thousands of images.
inline constexpr std::size_t reply_bytes_max = 16 * mib;
// Read in pieces of this size; a connection that sends nothing holds no buffer.
inline constexpr std::size_t read_bytes = 16 * kib;
// A message attaches at most one descriptor; a peer that sends more is cut off.
inline constexpr std::size_t fds_per_message_max = 1;
// JSON nesting: ours is 5 deep. Bounds the parser's recursion.
inline constexpr int json_depth_max = 32;
// A call names some slots and architectures. A parsed value costs up to 100 bytes for 2 of text, so
// a full message of empty arrays would otherwise hold 50 times its size, on every connection.
inline constexpr std::size_t json_values_per_call_max = 4096;
// One thread each (64 KiB of stack touched at most): a GPU server runs hundreds of processes, and
// one user's runaway loop must leave room for the others.
inline constexpr std::size_t connections_max = 4096;
inline constexpr std::size_t connections_per_uid_max = 2048;
inline constexpr std::size_t fetches_per_uid_max = 16;
// A connection that has begun a message must finish it in this time; between messages it may idle.
inline constexpr std::chrono::seconds message_deadline{10};
// Each end keeps the last short message that it read and what that says, since the next one is
// mostly the same. A Resolve has about 150 bytes; whatever stands in 512 is at most 16 KiB when
// parsed, on every connection. A reply that describes no kernels has about 600.
inline constexpr std::size_t known_call_bytes_max = 512;
inline constexpr std::size_t known_reply_bytes_max = 4 * kib;
// A peer that does not read its replies is cut off.
inline constexpr std::chrono::seconds write_deadline{10};
// After SIGTERM running requests get this long; systemd's own limit is 90 s.
inline constexpr std::chrono::seconds stop_deadline{10};
// Connecting to a local socket either works at once or the backlog is full.
inline constexpr std::chrono::seconds connect_deadline{5};
// What a client waits for the answer to a question that takes no work; a stuck service is a
// timeout.
inline constexpr std::chrono::seconds reply_deadline{30};
// And for the next message about work: hashing a full store or fetching without news, as long as
// the longest transfer may take.
inline constexpr std::chrono::hours work_deadline{6};
// Stack of a connection's thread. SQLite and the JSON parser need some tens of KiB, and only what
// is touched is real memory; but libc keeps 40 MiB of stacks of ended threads, a few touched pages
// in each, so fewer and larger ones leave less behind after a rush.
inline constexpr std::size_t connection_stack_bytes = 1 * mib;
// Progress of a fetch is told at most this often to a connection that streams it.
inline constexpr std::chrono::milliseconds progress_period{100};
// Steps of files that a flight keeps for those who look that seldom: a fetch begins some hundred
// small files in a period, and an entry has about 200 bytes.
inline constexpr std::size_t flight_news_max = 512;
inline constexpr std::chrono::milliseconds resolve_wait_default{30'000};
inline constexpr std::chrono::milliseconds resolve_wait_max{3'600'000};

// ---- pins and repos

inline constexpr std::size_t pin_bytes_max = 1 * mib;
inline constexpr std::size_t config_bytes_max = 64 * kib;
inline constexpr std::size_t pins_max = 1024;
// Patterns in one pin, and the length of one: a variant's name has about 50 characters.
inline constexpr std::size_t pin_variants_max = 64;
inline constexpr std::size_t variant_bytes_max = 256;
inline constexpr std::size_t repo_path_bytes_max = 1024;
// The Hub's own largest kernel repo has some thousand files.
inline constexpr std::size_t tree_entries_max = 100'000;
inline constexpr int tree_depth_max = 32;
inline constexpr std::size_t pointer_bytes_max = 1024;  // git-lfs specification

// ---- network

// As huggingface_hub: 10 s to connect and 10 s without a byte, no total limit on a healthy
// transfer.
inline constexpr std::chrono::seconds connect_timeout{10};
inline constexpr std::chrono::seconds stall_timeout{10};
// But nothing goes on for ever: a transfer slower than 1 KiB/s for a minute is a stall too.
inline constexpr std::chrono::hours transfer_deadline{6};
inline constexpr int redirects_max = 10;
inline constexpr int attempts_max = 5;
inline constexpr std::chrono::milliseconds retry_delay_first{500};
inline constexpr std::chrono::milliseconds retry_delay_max{8'000};
inline constexpr std::chrono::seconds retry_after_max{120};
inline constexpr std::size_t header_bytes_max = 64 * kib;
// Signed links of content networks have one to two thousand characters.
inline constexpr std::size_t url_bytes_max = 16 * kib;
// A retry that had got this far before it failed is on a working link: the count of attempts starts
// anew.
inline constexpr std::uint64_t retry_progress_bytes = 4 * mib;
// As git-lfs: objects asked for in one batch.
inline constexpr std::size_t lfs_batch_objects_max = 100;
// Request headers that an answer asks for: one or two, an authorization and a version.
inline constexpr std::size_t lfs_headers_max = 32;
// One read of curl's, and one write to the staging file: fewer calls for the same bytes.
inline constexpr long transfer_buffer_bytes = 512L * 1024L;
// Progress reports of one fetch are at least this far apart.
inline constexpr std::chrono::milliseconds progress_interval{100};
// One process fetches a repo's git side; others wait this long for it before they fetch it
// themselves.
inline constexpr std::chrono::seconds proof_lock_wait{120};
// Warnings that one fetch carries up: the Hub has a handful of topics.
inline constexpr std::size_t fetch_warnings_max = 16;
// API answers and error bodies.
inline constexpr std::size_t api_bytes_max = 32 * mib;
inline constexpr std::size_t error_body_bytes_max = 16 * kib;
// A kernel repo's git side holds pointers and Python files.
inline constexpr std::size_t git_pack_bytes_max = 256 * mib;
// A pack is compressed; what it unpacks to is bounded as well (a pack bomb).
inline constexpr std::size_t git_object_bytes_max = 64 * mib;
// All objects of one pack together, unpacked, and how many they may be.
inline constexpr std::uint64_t git_unpacked_bytes_max = 2ULL * gib;
inline constexpr std::size_t git_objects_max = 1'000'000;
// What an upload-pack answer says beside the pack: progress for people, a line a percent.
inline constexpr std::size_t git_progress_bytes_max = 4 * mib;
// A ref advertisement: the Hub keeps one ref per branch, tag and pull request, below 100 bytes
// each.
inline constexpr std::size_t git_advertisement_bytes_max = 8 * mib;
// metadata.json of a build variant.
inline constexpr std::size_t metadata_bytes_max = 1 * mib;
// The largest kernel library on the Hub is below 1 GiB; a file above this is refused by its proof.
inline constexpr std::uint64_t file_bytes_max = 8ULL * gib;

// ---- store

inline constexpr std::uint64_t cache_bytes_max_default = 2ULL * gib;
inline constexpr std::uint64_t image_cache_bytes_max_default = 256 * mib;
// Keys of the image cache: a device and a slot each, of which a machine has some dozens. Bounds
// what a peer with made-up devices can take.
inline constexpr std::size_t images_in_memory_max = 1024;
inline constexpr std::chrono::seconds sqlite_busy_timeout{5};
inline constexpr std::chrono::seconds lock_wait_max{600};
// An unknown file in tmp/ or a blob without a row is older than any running fetch after this.
inline constexpr std::chrono::hours orphan_age{24};
// Eviction is by hours and days; writing a row for each Resolve would cost more than it tells.
inline constexpr std::chrono::minutes use_granularity{10};
// Damaged files are kept to be looked at, the newest of them.
inline constexpr std::size_t quarantine_files_max = 16;
// Opening a store waits for another process that is just making it.
inline constexpr std::chrono::seconds store_open_wait{10};
// Hashing a file: pieces so large that waking the reader for each costs nothing beside the hash (at
// 256 KiB it is 3 %), and enough of them in flight that the hash never waits for the disk.
inline constexpr std::size_t hash_piece_bytes = 1 * mib;
inline constexpr std::size_t hash_pieces = 4;
// Symbols and layouts of one file in the index. The largest libraries of kernel repos need some
// MiB.
inline constexpr std::size_t index_kernels_bytes_max = 64 * mib;

// ---- device images

// One image, after decompression. cuDNN's largest is far below.
inline constexpr std::size_t image_bytes_max = 512 * mib;
inline constexpr std::size_t images_per_file_max = 16'384;
inline constexpr std::size_t kernels_per_image_max = 65'536;
inline constexpr std::size_t parameters_per_kernel_max = 4'096;
inline constexpr std::size_t symbol_bytes_max = 16 * kib;
// What all images of one file may decompress to together: torch's largest library holds about 4
// GiB.
inline constexpr std::uint64_t images_bytes_per_file_max = 16ULL * gib;
// Machine code and PTX compress 3 to 10 times, at most some hundred times; zstd can state a
// million.
inline constexpr std::uint64_t image_compression_ratio_max = 1024;
// A cubin has about five sections for each kernel.
inline constexpr std::size_t elf_sections_max = 1'048'576;
// Writing out a C++ name can take time and memory that are exponential in its length. These bound
// an estimate, in letters: of one symbol (some 10 ms) and of all symbols of an image (some
// seconds). Beyond them a kernel is shown by its mangled symbol.
inline constexpr std::uint64_t demangle_letters_max = 16 * mib;
inline constexpr std::uint64_t demangle_letters_per_image_max = 2 * gib;
// And what is kept is at most this many times the symbol: real names grow 2 to 5 times.
inline constexpr std::size_t demangle_growth_max = 16;
// Symbols, names and parameters of all images of a file, in memory. libtorch_cuda, which no repo
// holds, has about 100 MiB of them; a crafted file of some MiB could unpack to gigabytes.
inline constexpr std::size_t kernel_list_bytes_max = 256 * mib;

// ---- calls in a process

// What one process may register. Every view of a slot that was ever in force is kept, since calls
// read it without a lock: two for each registration and those of reloads. Each has up to 64 entries
// of some 64 bytes, so that the worst case is some 50 MiB; hosts register a handful.
inline constexpr std::size_t slots_per_process_max = 64;
inline constexpr std::size_t implementations_per_slot_max = 64;
inline constexpr std::size_t registrations_per_process_max = 4096;
// Views that came of reading an environment that was never there before; going back to an earlier
// one costs nothing.
inline constexpr std::size_t reloaded_views_per_process_max = 1024;
// Of a text of a failure, as lyk.h has it.
inline constexpr std::size_t line_bytes_max = 1000;
// Of one node; the largest machines have 16.
inline constexpr std::size_t gpus_max = 64;
// No tensor has more elements: their bytes still fit into 63 bits.
inline constexpr std::int64_t tensor_elements_max = std::int64_t{1} << 56;
// Levels of one attention: models have 1 to 5. Their sizes are read one by one in every call. A
// call of more is not eligible, as its header says.
inline constexpr std::int64_t levels_max = 1024;
// Of what the driver's compiler says, the first lines are enough for a warning.
inline constexpr std::size_t jit_log_bytes = 1024;

}  // namespace lyk::limits
