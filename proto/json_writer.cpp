#include "proto/json_writer.hpp"

#include <array>
#include <charconv>

#include "proto/names.hpp"

namespace lyk::wire {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

void append_escaped(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4U];
      out += digits[static_cast<unsigned char>(c) & 15U];
  }
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

template <typename Number>
void append_number(std::string& out, Number number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain]))
      ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty())
      break;
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      append_escaped(out, text.front());
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = utf8_sequence_bytes(text);
    out += length == 0 ? replacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_json(std::string& out, std::int64_t number) {
  append_number(out, number);
}
void append_json(std::string& out, std::uint64_t number) {
  append_number(out, number);
}

std::string& JsonObject::key(std::string_view name) {
  out_ += first_ ? "\"" : ",\"";
  first_ = false;
  out_ += name;
  return out_ += "\":";
}

}  // namespace lyk::wire
