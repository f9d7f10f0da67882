// What every exported function has in common: the text of the last failure, the guard that turns
// results and exceptions into statuses, and how a caller's struct is read.
// Thread rule: the text is per thread; everything else is pure or says so.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include "client/line.hpp"
#include "client/lyk.h"
#include "proto/error.hpp"
#include "proto/result.hpp"
#include "proto/text.hpp"

namespace lyk::client {

// ---- failures

// Keeps `text` as the calling thread's last failure, on `handle`, and returns the code's status.
int fail(const void* handle, Code code, std::string_view text) noexcept;

// A new handle may have the address of one that was closed; its failures are not the new one's.
void forget_failure(const void* handle) noexcept;

// Empty, never null, if the calling thread's last failure was on another handle.
const char* failure_text(const void* handle) noexcept;

// What an implementation or predicate says of the failure that it is about to return: not yet a
// failure of a call, and kept apart from the last one. Of the calling thread.
void note(std::string_view text) noexcept;
Line& noted() noexcept;

// That an implementation does not take a call. The text is in the note and not in the Error: the
// next one may take the call, which has then allocated nothing.
template <typename... Parts>
Error not_taken(const Parts&... parts) noexcept {
  Line& line = noted();
  line.clear();
  (line.add(parts), ...);
  return {Code::not_eligible, {}};
}

// An empty note for as long as this lives, for whoever is called meanwhile, and what was in it back
// afterwards: who calls may be an implementation that has said something already.
class FreshNote {
public:
  FreshNote() noexcept : note_(noted()) {
    if (note_.empty()) [[likely]]
      return;
    before_.emplace(note_);
    note_.clear();
  }
  ~FreshNote() {
    note_.clear();
    if (before_)
      note_ = *before_;
  }
  FreshNote(const FreshNote&) = delete;
  FreshNote& operator=(const FreshNote&) = delete;
  FreshNote(FreshNote&&) = delete;
  FreshNote& operator=(FreshNote&&) = delete;

  void clear() noexcept { note_.clear(); }

private:
  Line& note_;
  std::optional<Line> before_;
};

// Cancelling a thread unwinds it, which must not pass through here and would leave a reply unread.
class Uncancellable {
public:
  Uncancellable() { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancellable() { (void)::pthread_setcancelstate(before_, nullptr); }  // neither can fail
  Uncancellable(const Uncancellable&) = delete;
  Uncancellable& operator=(const Uncancellable&) = delete;
  Uncancellable(Uncancellable&&) = delete;
  Uncancellable& operator=(Uncancellable&&) = delete;

private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Runs the body of an exported function: what it returns, or what it throws, becomes a status.
template <typename Body>
int guarded(const void* handle, const Body& body) noexcept {
  const Uncancellable uncancellable;
  try {
    const Result<void> result = body();
    return result ? LYK_OK : fail(handle, result.error().code, result.error().message);
  } catch (const std::exception& exception) {
    return fail(handle, Code::internal, exception.what());
  } catch (...) {
    return fail(handle, Code::internal, "unknown exception");
  }
}

// ---- arguments

Error bad_argument(std::string_view argument, std::string_view why);

inline constexpr std::uint32_t known_call_flags =
    LYK_NEEDS_GRADIENT | LYK_DETERMINISTIC | LYK_FP64_SUMS;
Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view argument);

// The size that a caller's struct says it has, if that can be: at least `first_bytes`, what the
// first release had, and without anything in it that only a later release knows.
Result<std::size_t> check_size(const void* given,
                               std::string_view argument,
                               std::size_t first_bytes,
                               std::size_t known_bytes);

// A caller's struct as this release knows it. An older caller's is shorter, and the rest is zero; a
// newer caller's is longer, and may ask for nothing that is not known here. NULL is all zero.
template <typename Struct>
Result<Struct> read_struct(const Struct* given,
                           std::string_view argument,
                           std::size_t first_bytes = sizeof(Struct)) {
  Struct out{};
  if (given != nullptr) {
    LYK_TRY_ASSIGN(const std::size_t size,
                   check_size(given, argument, first_bytes, sizeof(Struct)));
    std::memcpy(&out, given, std::min(size, sizeof(Struct)));
  }
  out.size = sizeof(Struct);
  return out;
}

// As read_struct, for a struct that must be there and is read in every call: the caller's own where
// it is of this release, else a copy in `storage`.
template <typename Struct>
Result<const Struct*> view_struct(const Struct* given, std::string_view argument, Struct& storage) {
  if (given == nullptr)
    return bad_argument(argument, "NULL");
  if (given->size == sizeof(Struct)) [[likely]]
    return given;
  LYK_TRY_ASSIGN(storage, read_struct(given, argument));
  return &storage;
}

// ---- handles

// Debug builds know every open handle, so that one that was closed, or is of another kind, is an
// argument like any other that is wrong; to close it does nothing. Other builds believe the caller.
// NULL is never open. Safe from any thread.
enum class HandleKind { client, image };
void note_opened(const void* handle, HandleKind kind);
bool is_open(const void* handle, HandleKind kind) noexcept;
// Whether it was open until now, and may be ended.
bool note_closed(const void* handle, HandleKind kind) noexcept;
Result<void> check_handle(const void* handle, HandleKind kind, std::string_view argument);

}  // namespace lyk::client
