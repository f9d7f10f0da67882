// Identities of content: a sha256 (files, images) and a git object id (sha1). Values; parsed
// strictly once at the edge, so that whoever holds one holds 32 or 20 real bytes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/result.hpp"

namespace lyk {

namespace detail {
std::string to_hex(const std::uint8_t* bytes, std::size_t size);
// Exactly 2*size lower-case hex digits into bytes; false for anything else.
bool from_hex(std::string_view hex, std::uint8_t* bytes, std::size_t size);
}  // namespace detail

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  // 64 lower-case hex digits and nothing else.
  static Result<Digest> parse(std::string_view hex);
  std::string hex() const { return detail::to_hex(bytes.data(), bytes.size()); }
  auto operator<=>(const Digest&) const = default;
};

// A git object id: of a commit, a tree or a blob.
struct GitId {
  std::array<std::uint8_t, 20> bytes{};

  // 40 lower-case hex digits and nothing else: upper-case and short ids are names that can move.
  static Result<GitId> parse(std::string_view hex);
  std::string hex() const { return detail::to_hex(bytes.data(), bytes.size()); }
  auto operator<=>(const GitId&) const = default;
};

}  // namespace lyk
