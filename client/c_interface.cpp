#include "client/c_interface.hpp"

#include <mutex>
#include <set>
#include <utility>

namespace lyk::client {

namespace {

#define LYK_SAME_STATUS(code, status) \
  static_assert(info(Code::code).c_status == (status), "lyk.h and proto/error.hpp differ")
LYK_SAME_STATUS(invalid_argument, LYK_INVALID_ARGUMENT);
LYK_SAME_STATUS(not_found, LYK_NOT_FOUND);
LYK_SAME_STATUS(not_pinned, LYK_NOT_PINNED);
LYK_SAME_STATUS(refused, LYK_REFUSED);
LYK_SAME_STATUS(offline, LYK_OFFLINE);
LYK_SAME_STATUS(network, LYK_NETWORK);
LYK_SAME_STATUS(remote_status, LYK_REMOTE_STATUS);
LYK_SAME_STATUS(timeout, LYK_TIMEOUT);
LYK_SAME_STATUS(cancelled, LYK_CANCELLED);
LYK_SAME_STATUS(busy, LYK_BUSY);
LYK_SAME_STATUS(protocol, LYK_PROTOCOL);
LYK_SAME_STATUS(size_mismatch, LYK_SIZE_MISMATCH);
LYK_SAME_STATUS(digest_mismatch, LYK_DIGEST_MISMATCH);
LYK_SAME_STATUS(signature_invalid, LYK_SIGNATURE_INVALID);
LYK_SAME_STATUS(no_space, LYK_NO_SPACE);
LYK_SAME_STATUS(io, LYK_IO);
LYK_SAME_STATUS(corrupt_store, LYK_CORRUPT_STORE);
LYK_SAME_STATUS(no_driver, LYK_NO_DRIVER);
LYK_SAME_STATUS(cuda, LYK_CUDA);
LYK_SAME_STATUS(internal, LYK_INTERNAL);
LYK_SAME_STATUS(not_cached, LYK_NOT_CACHED);
LYK_SAME_STATUS(no_image, LYK_NO_IMAGE);
LYK_SAME_STATUS(not_eligible, LYK_NOT_ELIGIBLE);
static_assert(code_table.size() == 23, "a new code needs its LYK_* in lyk.h and a line above");

// The calling thread's last failure. A Line, not a string: it has nothing to destroy when a thread
// outlives the library.
struct LastFailure {
  const void* handle = nullptr;
  Line text;
};
thread_local LastFailure last_failure;
thread_local Line last_note;

constexpr std::size_t struct_bytes_max = 4096;  // ours have some hundred; more is a wild number

#ifndef NDEBUG
struct OpenHandles {
  std::mutex mutex;
  std::set<std::pair<const void*, HandleKind>> handles;
};
// Never destroyed: handles may be closed while the process is on its way out.
OpenHandles& open_handles() {
  static auto* const open = new OpenHandles;
  return *open;
}
#endif

}  // namespace

int fail(const void* handle, Code code, std::string_view text) noexcept {
  last_failure.handle = handle;
  last_failure.text.clear();
  last_failure.text.add(text);
  return info(code).c_status;
}

void forget_failure(const void* handle) noexcept {
  if (last_failure.handle != handle)
    return;
  last_failure.handle = nullptr;
  last_failure.text.clear();
}

const char* failure_text(const void* handle) noexcept {
  return last_failure.handle == handle ? last_failure.text.c_str() : "";
}

void note(std::string_view text) noexcept {
  last_note.clear();
  last_note.add(text);
}

Line& noted() noexcept {
  return last_note;
}

Error bad_argument(std::string_view argument, std::string_view why) {
  return {Code::invalid_argument, str(argument, ": ", why)};
}

Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view argument) {
  if ((flags & ~known) != 0)
    return bad_argument(argument, str("flags ", flags, " are not all known"));
  return {};
}

Result<std::size_t> check_size(const void* given,
                               std::string_view argument,
                               std::size_t first_bytes,
                               std::size_t known_bytes) {
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size < first_bytes || size > struct_bytes_max)
    return bad_argument(argument, str("its size is ", size, ", not its sizeof (", known_bytes,
                                      " in this release)"));
  const auto* bytes = static_cast<const char*>(given);
  if (size > known_bytes &&
      std::any_of(bytes + known_bytes, bytes + size, [](char byte) { return byte != 0; }))
    return bad_argument(argument, "it asks for what only a later release knows");
  return std::size_t{size};
}

#ifndef NDEBUG
void note_opened(const void* handle, HandleKind kind) {
  OpenHandles& open = open_handles();
  const std::lock_guard lock{open.mutex};
  open.handles.emplace(handle, kind);
}

bool is_open(const void* handle, HandleKind kind) noexcept {
  OpenHandles& open = open_handles();
  const std::lock_guard lock{open.mutex};
  return open.handles.contains({handle, kind});
}

bool note_closed(const void* handle, HandleKind kind) noexcept {
  OpenHandles& open = open_handles();
  const std::lock_guard lock{open.mutex};
  return open.handles.erase({handle, kind}) != 0;
}
#else
void note_opened(const void*, HandleKind) {}

bool is_open(const void* handle, HandleKind) noexcept {
  return handle != nullptr;
}

bool note_closed(const void* handle, HandleKind) noexcept {
  return handle != nullptr;
}
#endif

Result<void> check_handle(const void* handle, HandleKind kind, std::string_view argument) {
  if (handle == nullptr)
    return bad_argument(argument, "NULL");
  if (!is_open(handle, kind))
    return bad_argument(argument, "not an open handle: it was closed, or never opened");
  return {};
}

}  // namespace lyk::client
