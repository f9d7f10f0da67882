// Reading little-endian numbers and pieces out of bytes that nobody vouches for. Every read is
// checked against the end; nothing here can run over it, whatever offsets a file states. Hosts are
// 64-bit, so a file's 64-bit offsets are sizes here.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "proto/result.hpp"
#include "proto/text.hpp"

namespace lyk::image {

static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));

using Bytes = std::span<const std::byte>;

// The piece [offset, offset + size), if it lies within `bytes`.
inline std::optional<Bytes> piece(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    return std::nullopt;
  return bytes.subspan(offset, size);
}

// A copy of the T at `offset`, if there is a whole one. Formats and hosts are little-endian.
template <typename T>
requires std::is_trivially_copyable_v<T> std::optional<T> load(Bytes bytes, std::uint64_t offset) {
  const std::optional<Bytes> source = piece(bytes, offset, sizeof(T));
  if (!source)
    return std::nullopt;
  T out;
  std::memcpy(&out, source->data(), sizeof(T));
  return out;
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The text at `offset` up to its NUL, which must come within `bytes_max` bytes: a table of names
// without NULs must not be searched to its end for each name.
inline std::optional<std::string_view> c_string(Bytes bytes,
                                                std::uint64_t offset,
                                                std::size_t bytes_max) {
  if (offset >= bytes.size())
    return std::nullopt;
  const std::string_view rest = as_text(bytes.subspan(offset));
  const std::size_t end = rest.substr(0, bytes_max + 1).find('\0');
  if (end == std::string_view::npos)
    return std::nullopt;
  return rest.substr(0, end);
}

// The file is recognised but not well formed.
template <typename... Parts>
Error malformed(const Parts&... parts) {
  return Error{Code::no_image, str(parts...)};
}

// The file exceeds a limit of limits.hpp.
template <typename... Parts>
Error too_much(const Parts&... parts) {
  return Error{Code::refused, str(parts...)};
}

}  // namespace lyk::image
