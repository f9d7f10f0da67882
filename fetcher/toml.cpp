#include "fetcher/toml.hpp"

#include <algorithm>
#include <sstream>

// Header only and without exceptions: the shared library of the distribution exports only the other
// form.
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "proto/names.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

struct TomlTable::State {
  std::string source_name;
  toml::table table;
};

namespace {

// The library's descriptions quote the input; one line of printable ASCII is left of them.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 200))
    out += c >= 0x20 && c < 0x7f ? c : ' ';
  return out;
}

}  // namespace

Result<TomlTable> TomlTable::parse(std::string_view text,
                                   std::string_view source_name,
                                   std::size_t bytes_max) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::invalid_argument, str(source_name, ": ", why)};
  };
  if (text.size() > bytes_max)
    return refuse(str("larger than ", bytes_max, " bytes"));
  if (!is_utf8(text))
    return refuse("not UTF-8 text");
  if (text.find('\0') != std::string_view::npos)
    return refuse("not a text file: it has a NUL character");
  toml::parse_result parsed = toml::parse(text);
  if (parsed.failed()) {
    const auto& failure = parsed.error();
    return Error{Code::invalid_argument, str(source_name, ":", failure.source().begin.line,
                                             ": not TOML: ", one_line(failure.description()))};
  }
  return TomlTable{
      std::make_unique<State>(State{std::string{source_name}, std::move(parsed).table()})};
}

TomlTable::TomlTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
TomlTable::~TomlTable() = default;
TomlTable::TomlTable(TomlTable&&) noexcept = default;
TomlTable& TomlTable::operator=(TomlTable&&) noexcept = default;

Result<void> TomlTable::only(std::span<const std::string_view> known) const {
  for (const auto& [key, node] : state_->table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end())
      continue;
    const std::string_view near = nearest(key.str(), known);
    return Error{
        Code::invalid_argument,
        str(state_->source_name, ":", key.source().begin.line, ": unknown key ", quoted(key.str()),
            near.empty() ? std::string{} : str("; did you mean '", near, "'"))};
  }
  return {};
}

Result<std::optional<std::string>> TomlTable::text(std::string_view key) const {
  const toml::node* node = state_->table.get(key);
  if (node == nullptr)
    return std::optional<std::string>{};
  const auto* value = node->as_string();
  if (value == nullptr)
    return error_at(key, "it must be a text in quotes");
  return std::optional{value->get()};
}

Result<std::optional<std::int64_t>> TomlTable::integer(std::string_view key) const {
  const toml::node* node = state_->table.get(key);
  if (node == nullptr)
    return std::optional<std::int64_t>{};
  const auto* value = node->as_integer();
  if (value == nullptr)
    return error_at(key, "it must be a whole number");
  return std::optional{value->get()};
}

Result<std::optional<bool>> TomlTable::flag(std::string_view key) const {
  const toml::node* node = state_->table.get(key);
  if (node == nullptr)
    return std::optional<bool>{};
  const auto* value = node->as_boolean();
  if (value == nullptr)
    return error_at(key, "it must be true or false");
  return std::optional{value->get()};
}

Result<std::optional<std::vector<std::string>>> TomlTable::texts(std::string_view key) const {
  const toml::node* node = state_->table.get(key);
  if (node == nullptr)
    return std::optional<std::vector<std::string>>{};
  const auto* values = node->as_array();
  if (values == nullptr)
    return error_at(key, "it must be a list of texts: [\"a\", \"b\"]");
  std::vector<std::string> out;
  for (const toml::node& element : *values) {
    const auto* value = element.as_string();
    if (value == nullptr)
      return error_at(key, "every element must be a text in quotes");
    out.push_back(value->get());
  }
  return std::optional{std::move(out)};
}

Result<std::optional<std::vector<std::pair<std::string, std::string>>>> TomlTable::text_table(
    std::string_view key) const {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const toml::node* node = state_->table.get(key);
  if (node == nullptr)
    return std::optional<Pairs>{};
  const auto* table = node->as_table();
  if (table == nullptr)
    return error_at(key, str("it must be a table: [", key, "]"));
  Pairs out;
  for (const auto& [inner, element] : *table) {
    const auto* value = element.as_string();
    if (value == nullptr)
      return error_at(key, "it must be a text in quotes", inner.str());
    out.emplace_back(inner.str(), value->get());
  }
  return std::optional{std::move(out)};
}

Error TomlTable::error_at(std::string_view key,
                          std::string_view why,
                          std::string_view inner) const {
  const toml::node* node = state_->table.get(key);
  if (node != nullptr && !inner.empty() && node->is_table())
    node = node->as_table()->get(inner);
  const std::string name = inner.empty() ? std::string{key} : str(key, ".", quoted(inner));
  if (node == nullptr)
    return error(str(name, ": ", why));
  return Error{Code::invalid_argument,
               str(state_->source_name, ":", node->source().begin.line, ": ", name, ": ", why)};
}

Error TomlTable::error(std::string_view why) const {
  return Error{Code::invalid_argument, str(state_->source_name, ": ", why)};
}

std::string toml_quoted(std::string_view text) {
  static constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace lyk::fetcher
