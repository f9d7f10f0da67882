#include "proto/digest.hpp"

#include "proto/text.hpp"

namespace lyk {

namespace detail {

std::string to_hex(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    out += digits[bytes[i] >> 4U];
    out += digits[bytes[i] & 15U];
  }
  return out;
}

namespace {
int nibble(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}
}  // namespace

bool from_hex(std::string_view hex, std::uint8_t* bytes, std::size_t size) {
  if (hex.size() != 2 * size)
    return false;
  for (std::size_t i = 0; i < size; ++i) {
    const int high = nibble(hex[2 * i]);
    const int low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace detail

Result<Digest> Digest::parse(std::string_view hex) {
  Digest out;
  if (!detail::from_hex(hex, out.bytes.data(), out.bytes.size()))
    return Error{Code::invalid_argument,
                 str("sha256 ", quoted(hex), ": not 64 lower-case hex digits")};
  return out;
}

Result<GitId> GitId::parse(std::string_view hex) {
  GitId out;
  if (!detail::from_hex(hex, out.bytes.data(), out.bytes.size()))
    return Error{Code::invalid_argument,
                 str("revision ", quoted(hex), ": not 40 lower-case hex digits")};
  return out;
}

}  // namespace lyk
