// A TOML table read strictly: the one place where toml++ is used. Pin files and daemon.toml are
// read through it. Every error is invalid_argument, one line, `file:line: ...`. Thread rule:
// values; a table is read by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/result.hpp"

namespace lyk::fetcher {

class TomlTable {
public:
  // Refuses what is not UTF-8 or larger than `bytes_max` before it is parsed.
  static Result<TomlTable> parse(std::string_view text,
                                 std::string_view source_name,
                                 std::size_t bytes_max);
  ~TomlTable();
  TomlTable(TomlTable&&) noexcept;
  TomlTable& operator=(TomlTable&&) noexcept;
  TomlTable(const TomlTable&) = delete;
  TomlTable& operator=(const TomlTable&) = delete;

  // Refuses the first key that is not one of `known`, and names the nearest one.
  Result<void> only(std::span<const std::string_view> known) const;

  // nullopt: the key is absent. An Error: it has another type.
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;  // whole or not
  Result<std::optional<bool>> flag(std::string_view key) const;
  Result<std::optional<std::vector<std::string>>> texts(std::string_view key) const;
  // A table of texts, such as [digests]; in the order of the keys.
  Result<std::optional<std::vector<std::pair<std::string, std::string>>>> text_table(
      std::string_view key) const;

  // A table of lists of texts, such as [archs]; in the order of the keys.
  Result<std::optional<std::vector<std::pair<std::string, std::vector<std::string>>>>> texts_table(
      std::string_view key) const;

  // A list of tables, such as [[parity]], each with the name of this one. Absent: empty.
  Result<std::vector<TomlTable>> tables(std::string_view key) const;

  // `file:line: key: why`, at the line of `key`; of `inner` inside the table `key` if it is not
  // empty.
  Error error_at(std::string_view key, std::string_view why, std::string_view inner = {}) const;
  // `file:line: why`, where `why` says itself what it is about.
  Error error_on_line_of(std::string_view key, std::string_view why) const;
  // `file: why`: what is wrong with the file as a whole, such as a key that is not there.
  Error error(std::string_view why) const;

private:
  struct State;
  explicit TomlTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lyk::fetcher
