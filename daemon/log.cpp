#include "daemon/log.hpp"

#include <unistd.h>

#include <algorithm>

namespace lyk::daemon {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"_-./:+,@%"}.find(c) != std::string_view::npos;
}

void append_value(std::string& line, std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), is_plain)) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      line += "\\x";
      line += hex_digits[byte >> 4];
      line += hex_digits[byte & 0xf];
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

std::string format_line(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string line = "<";
  line += std::to_string(static_cast<int>(level));
  line += '>';
  line += event;
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  return line;
}

void Log::write(Level level, std::string_view event, std::initializer_list<Field> fields) const {
  if (level > threshold_)
    return;
  const std::string line = format_line(level, event, fields) + '\n';
  if (::write(fd_, line.data(), line.size()) < 0)
    return;  // a log that cannot be written has nobody to tell
}

std::string Log::shown(const Digest& digest) const {
  std::string hex = digest.hex();
  if (threshold_ < Level::debug)
    hex.resize(12);
  return hex;
}

}  // namespace lyk::daemon
