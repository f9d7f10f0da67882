// One JSON document for people and their scripts (proto/json_writer makes messages): indented by
// two, keys in the order in which they are given, since goldens compare it. Thread rule: one thread
// at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lyk::cli {

// On one line, for short arrays of numbers; or one member a line.
enum class Layout { inline_values, lines };

// Misuse (a key in an array, an end without its begin) is our own mistake and aborts.
class JsonDocument {
public:
  void begin_object(Layout layout = Layout::lines) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_array(Layout layout = Layout::lines) { begin('[', layout); }
  void end_array() { end(']'); }
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view{text}); }
  void value(std::uint64_t number);
  void value(std::uint32_t number) { value(std::uint64_t{number}); }
  void value(double number);  // the shortest that reads as the same; "nan" and "inf" as texts
  void value(bool truth);
  void null();

  template <typename T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  // Null where there is none: keys are always there.
  template <typename T>
  void member(std::string_view name, const std::optional<T>& content) {
    key(name);
    if (content)
      value(*content);
    else
      null();
  }
  void member(std::string_view name, const std::vector<std::string>& texts);

  // The document and a newline; every begin must have met its end.
  std::string finish() &&;

private:
  struct Level {
    char open = '{';
    Layout layout = Layout::lines;
    bool empty = true;
  };
  void begin(char open, Layout layout);
  void end(char close);
  void separate();  // comma, newline and indentation before the next key or element
  void new_line();

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace lyk::cli
