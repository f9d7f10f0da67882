#include "cli/json_document.hpp"

#include <cmath>

#include "proto/check.hpp"
#include "proto/json_writer.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

void JsonDocument::new_line() {
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonDocument::separate() {
  if (after_key_ || levels_.empty()) {
    after_key_ = false;
    return;
  }
  Level& level = levels_.back();
  if (!level.empty)
    out_ += level.layout == Layout::lines ? "," : ", ";
  level.empty = false;
  if (level.layout == Layout::lines)
    new_line();
}

void JsonDocument::begin(char open, Layout layout) {
  separate();
  // What stands inside one line stays on it.
  if (!levels_.empty() && levels_.back().layout == Layout::inline_values)
    layout = Layout::inline_values;
  out_ += open;
  levels_.push_back({.open = open, .layout = layout});
}

void JsonDocument::end(char close) {
  LYK_CHECK(!levels_.empty() && !after_key_);
  const Level level = levels_.back();
  LYK_CHECK((level.open == '{') == (close == '}'));
  levels_.pop_back();
  if (!level.empty && level.layout == Layout::lines)
    new_line();
  out_ += close;
}

void JsonDocument::key(std::string_view name) {
  LYK_CHECK(!levels_.empty() && levels_.back().open == '{' && !after_key_);
  separate();
  wire::append_json(out_, name);
  out_ += ": ";
  after_key_ = true;
}

void JsonDocument::value(std::string_view text) {
  separate();
  wire::append_json(out_, text);
}

void JsonDocument::value(std::uint64_t number) {
  separate();
  wire::append_json(out_, number);
}

void JsonDocument::value(double number) {
  if (!std::isfinite(number)) {
    value(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    return;
  }
  separate();
  out_ += shortest(number);
}

void JsonDocument::value(bool truth) {
  separate();
  out_ += truth ? "true" : "false";
}

void JsonDocument::null() {
  separate();
  out_ += "null";
}

void JsonDocument::member(std::string_view name, const std::vector<std::string>& texts) {
  key(name);
  begin_array(Layout::inline_values);
  for (const std::string& text : texts)
    value(text);
  end_array();
}

std::string JsonDocument::finish() && {
  LYK_CHECK(levels_.empty() && !after_key_);
  out_ += '\n';
  return std::move(out_);
}

}  // namespace lyk::cli
