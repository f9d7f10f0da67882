// Text for people: tables, sizes, colours. Whatever came from outside (names of kernels, paths,
// texts of the service) passes `printable`, so that no file can send escape sequences to a
// terminal. Thread rule: pure functions and values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.hpp"
#include "proto/digest.hpp"

namespace lyk::cli {

// Control characters, those that Unicode hides or lets change a line's direction, and bytes that
// are not UTF-8 as \xNN; all else as it is.
std::string printable(std::string_view text);

// Columns that a terminal needs for it: code points, which is exact for everything shown here.
std::size_t display_width(std::string_view text);

// "812 B", "12.4 KiB", "81.0 MiB": three digits or so.
std::string human_bytes(std::uint64_t bytes);

// "1 file", "3 files".
std::string counted(std::uint64_t count, std::string_view noun);

// The first 12 digits, enough to tell files apart; --json has all.
std::string short_hash(std::string_view hex);

// "3 d 4 h", "2 h 5 min", "41 s".
std::string human_seconds(std::uint64_t seconds);

enum class Paint { none, bold, dim, green, yellow, red };
std::string painted(std::string_view text, Paint paint, Colours colours);

enum class Align { left, right };

struct Column {
  std::string_view title;
  Align align = Align::left;
};

struct Cell {
  std::string text;
  Paint paint = Paint::none;
};

// Rows under bold titles, two spaces between columns, no space at the end of a line.
class Table {
public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row);  // as many cells as columns
  bool empty() const { return rows_.empty(); }
  std::string render(Colours colours, std::string_view indent = "") const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "name:  value" lines with the values under each other.
class Facts {
public:
  void add(std::string_view name, std::string value, Paint paint = Paint::none);
  std::string render(Colours colours) const;

private:
  struct Fact {
    std::string name;
    Cell value;
  };
  std::vector<Fact> facts_;
};

}  // namespace lyk::cli
