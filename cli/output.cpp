#include "cli/output.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/check.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

std::string_view escape_of(Paint paint) {
  switch (paint) {
    case Paint::none:
      return "";
    case Paint::bold:
      return "\x1b[1m";
    case Paint::dim:
      return "\x1b[2m";
    case Paint::green:
      return "\x1b[32m";
    case Paint::yellow:
      return "\x1b[33m";
    case Paint::red:
      return "\x1b[31m";
  }
  LYK_CHECK(false);
}

// The code point of a valid UTF-8 sequence.
std::uint32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1)
    return first;
  std::uint32_t point = first & (0x7fU >> sequence.size());
  for (const char c : sequence.substr(1))
    point = point << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return point;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// What a terminal obeys, or what makes a line read as something else than its bytes say.
constexpr std::array<Range, 10> unshown{{
    {0x00, 0x1f},        // C0
    {0x7f, 0x9f},        // DEL and C1, which some terminals obey
    {0xad, 0xad},        // soft hyphen
    {0x61c, 0x61c},      // the mark of Arabic letters' direction
    {0x200b, 0x200f},    // zero width, and marks of direction
    {0x2028, 0x202e},    // line and paragraph ends; embeddings and overrides of direction
    {0x2060, 0x206f},    // invisible operators, isolates of direction
    {0xfeff, 0xfeff},    // zero width, or the mark of byte order
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // tags
}};

bool is_unshown(std::string_view sequence) {
  const std::uint32_t point = code_point(sequence);
  return std::any_of(unshown.begin(), unshown.end(), [&](const Range& range) {
    return range.first <= point && point <= range.last;
  });
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
}

std::string aligned(const Cell& cell, std::size_t width, Align align, Colours colours) {
  const std::string padding(width - std::min(width, display_width(cell.text)), ' ');
  const std::string text = painted(cell.text, cell.paint, colours);
  return align == Align::right ? str(padding, text) : str(text, padding);
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_sequence_bytes(text);  // 0: not UTF-8
    const auto sequence = text.substr(0, std::max(size, std::size_t{1}));
    if (size != 0 && !is_unshown(sequence))
      out += sequence;
    else
      append_escaped(out, sequence);
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;  // not a continuation byte
  }));
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> units{" KiB", " MiB", " GiB", " TiB"};
  if (bytes < 1024)
    return str(bytes, " B");
  std::size_t unit = 0;
  std::uint64_t scale = 1024;
  // The next unit from 1023.95 on, so that no line says "1024.0 KiB".
  while (unit + 1 < units.size() && bytes / scale * 20 + bytes % scale * 20 / scale >= 20479) {
    scale *= 1024;
    ++unit;
  }
  const std::uint64_t whole = bytes / scale;
  const std::uint64_t tenths = (bytes % scale * 10 + scale / 2) / scale;
  return str(whole + tenths / 10, '.', tenths % 10, units[unit]);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return str(count, ' ', noun, count == 1 ? "" : "s");
}

std::string short_hash(std::string_view hex) {
  return std::string{hex.substr(0, 12)};
}

std::string human_seconds(std::uint64_t seconds) {
  const std::uint64_t minutes = seconds / 60;
  const std::uint64_t hours = minutes / 60;
  if (hours >= 24)
    return str(hours / 24, " d ", hours % 24, " h");
  if (hours > 0)
    return str(hours, " h ", minutes % 60, " min");
  return minutes > 0 ? str(minutes, " min ", seconds % 60, " s") : str(seconds, " s");
}

std::string painted(std::string_view text, Paint paint, Colours colours) {
  if (colours == Colours::off || paint == Paint::none || text.empty())
    return std::string{text};
  return str(escape_of(paint), text, "\x1b[0m");
}

void Table::add(std::vector<Cell> row) {
  LYK_CHECK(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::string Table::render(Colours colours, std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_)
      width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](const auto& cell_at) {
    std::string line{indent};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      line += i == 0 ? "" : "  ";
      line += aligned(cell_at(i), widths[i], columns_[i].align, colours);
    }
    end_line(line);
    out += line;
  };
  add_line([&](std::size_t i) { return Cell{std::string{columns_[i].title}, Paint::bold}; });
  for (const auto& row : rows_)
    add_line([&](std::size_t i) { return row[i]; });
  return out;
}

void Facts::add(std::string_view name, std::string value, Paint paint) {
  facts_.push_back({str(name, ':'), {std::move(value), paint}});
}

std::string Facts::render(Colours colours) const {
  std::size_t width = 0;
  for (const Fact& fact : facts_)
    width = std::max(width, display_width(fact.name));
  std::string out;
  for (const Fact& fact : facts_) {
    std::string line = str(aligned({fact.name, Paint::bold}, width, Align::left, colours), "  ",
                           painted(fact.value.text, fact.value.paint, colours));
    end_line(line);
    out += line;
  }
  return out;
}

}  // namespace lyk::cli
