// The one error system. `Code` is a contract: programs decide by it. `message` is for people and
// may change. One table turns a code into everything that the edges need: the varlink error name,
// the status of the C ABI, the exit code of the command line, and whether trying again can help.
//
// Messages: lower case, one line, no full stop, object first: `open '/x/y': Permission denied`.
// Thread rule: values, no shared state.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lyk {

enum class Code {
  invalid_argument,
  not_found,
  not_pinned,
  refused,
  offline,
  network,
  remote_status,
  timeout,
  cancelled,
  busy,
  protocol,
  size_mismatch,
  digest_mismatch,
  signature_invalid,
  no_space,
  io,
  corrupt_store,
  no_driver,
  cuda,
  internal,
  not_cached,
  no_image,
  not_eligible,
};

enum class Retryable { no, yes };

struct CodeInfo {
  Code code;
  std::string_view name;     // as in --json and in log lines
  std::string_view varlink;  // without the interface prefix
  int c_status;              // LYK_* of the C ABI: negative, append only
  int exit_code;             // DESIGN section 12
  Retryable retryable;
};

inline constexpr std::array<CodeInfo, 23> code_table{{
    {Code::invalid_argument, "invalid_argument", "InvalidArgument", -1, 2, Retryable::no},
    {Code::not_found, "not_found", "NotFound", -2, 3, Retryable::no},
    {Code::not_pinned, "not_pinned", "NotPinned", -3, 3, Retryable::no},
    {Code::refused, "refused", "Refused", -4, 8, Retryable::no},
    {Code::offline, "offline", "Offline", -5, 5, Retryable::no},
    {Code::network, "network", "Network", -6, 5, Retryable::yes},
    {Code::remote_status, "remote_status", "RemoteStatus", -7, 5, Retryable::no},
    {Code::timeout, "timeout", "Timeout", -8, 5, Retryable::yes},
    {Code::cancelled, "cancelled", "Cancelled", -9, 70, Retryable::no},
    {Code::busy, "busy", "Busy", -10, 70, Retryable::yes},
    {Code::protocol, "protocol", "Protocol", -11, 70, Retryable::no},
    {Code::size_mismatch, "size_mismatch", "SizeMismatch", -12, 4, Retryable::yes},
    {Code::digest_mismatch, "digest_mismatch", "DigestMismatch", -13, 4, Retryable::yes},
    {Code::signature_invalid, "signature_invalid", "SignatureInvalid", -14, 4, Retryable::no},
    {Code::no_space, "no_space", "NoSpace", -15, 6, Retryable::no},
    {Code::io, "io", "Io", -16, 6, Retryable::no},
    {Code::corrupt_store, "corrupt_store", "CorruptStore", -17, 6, Retryable::no},
    {Code::no_driver, "no_driver", "NoDriver", -18, 7, Retryable::no},
    {Code::cuda, "cuda", "Cuda", -19, 7, Retryable::no},
    {Code::internal, "internal", "Internal", -20, 70, Retryable::no},
    {Code::not_cached, "not_cached", "NotCached", -21, 3, Retryable::yes},
    {Code::no_image, "no_image", "NoImage", -22, 3, Retryable::no},
    {Code::not_eligible, "not_eligible", "NotEligible", -23, 3, Retryable::no},
}};

namespace detail {
constexpr bool code_table_is_in_order() {
  for (std::size_t i = 0; i < code_table.size(); ++i)
    if (static_cast<std::size_t>(code_table[i].code) != i ||
        code_table[i].c_status != -static_cast<int>(i) - 1)
      return false;
  return true;
}
}  // namespace detail
static_assert(detail::code_table_is_in_order(),
              "one row per Code, in the order of the enum, C statuses counting down from -1");

constexpr const CodeInfo& info(Code code) {
  return code_table[static_cast<std::size_t>(code)];
}

// The code of a varlink error name (without the interface prefix) that this release knows.
std::optional<Code> code_from_varlink(std::string_view name);

struct Error {
  Code code = Code::internal;
  std::string message;
};

// Puts `noun: ` before the message, once, where a new noun is known: `pin ms_deform_attn: ...`.
Error annotate(Error error, std::string_view noun);

// `what: strerror(number)`. `number` is errno, read on the line after the call that failed.
// ENOSPC and EDQUOT become no_space, everything else io.
Error os_error(int number, std::string_view what);

}  // namespace lyk
