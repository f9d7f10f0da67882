// The words after a command's name: options by the command's own table, and positionals.
// A wrong word is an invalid_argument error that names it and the nearest right one.
// Thread rule: values.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/result.hpp"

namespace lyk::cli {

enum class Repeat { once, many };

struct Option {
  std::string_view name;   // "arch"; the user writes --arch
  std::string_view value;  // what help calls its value, "ARCH"; empty: a flag
  std::string_view help;   // one line
  char letter = '\0';      // 'q' for -q
  Repeat repeat = Repeat::once;
};

// Options that every command has.
std::span<const Option> common_options();

class Arguments {
public:
  bool has(std::string_view option) const { return options_.contains(std::string{option}); }
  std::optional<std::string> value(std::string_view option) const;  // of a `once` option
  std::vector<std::string> values(std::string_view option) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

private:
  friend Result<Arguments> parse_arguments(std::span<const Option> options,
                                           std::span<const std::string> words);
  std::map<std::string, std::vector<std::string>> options_;
  std::vector<std::string> positionals_;
};

// `options` in addition to the common ones.
Result<Arguments> parse_arguments(std::span<const Option> options,
                                  std::span<const std::string> words);

// How many positionals a command takes, and what it calls them: "SLOT..." for the message.
struct PositionalRange {
  std::size_t min = 0;
  std::size_t max = 0;
  std::string_view usage;
};
Result<void> check_positionals(const Arguments& arguments, const PositionalRange& range);

// "4096", "64M", "2GiB": bytes, with the binary suffixes K M G T, each also as KiB or KB.
Result<std::uint64_t> parse_bytes(std::string_view text);

// "9.0,12.0" and repeated options alike: every part not empty.
Result<std::vector<std::string>> split_list(std::span<const std::string> values);

}  // namespace lyk::cli
