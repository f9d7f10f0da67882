#include "cli/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <cxxopts.hpp>

#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::string_view positional_key = "positional";

constexpr std::array<Option, 3> common{{
    {.name = "json", .value = "", .help = "print one JSON document (docs/cli.md)"},
    {.name = "quiet",
     .value = "",
     .help = "no progress and no notes, only results and errors",
     .letter = 'q'},
    {.name = "help", .value = "", .help = "print this text", .letter = 'h'},
}};

std::vector<Option> all_options(std::span<const Option> own) {
  std::vector<Option> all{own.begin(), own.end()};
  all.insert(all.end(), common.begin(), common.end());
  return all;
}

Error invalid(std::string message) {
  return {Code::invalid_argument, std::move(message)};
}

// "--frob=3" -> an error that names --frob and the option that was meant.
Error unknown_option(std::string_view word, std::span<const Option> options) {
  const auto shown = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Option& option : options)
    names.push_back(option.name);
  const auto bare = shown.substr(std::min(shown.find_first_not_of('-'), shown.size()));
  const auto meant = nearest(bare, names);
  if (meant == bare && !meant.empty())  // "--arch=9\n": to cxxopts a line break ends all
    return invalid(str("option --", meant, " has a value with a line break"));
  if (meant.empty())
    return invalid(str("unknown option ", quoted(shown)));
  return invalid(str("unknown option ", quoted(shown), ": did you mean --", meant, "?"));
}

cxxopts::Options describe(std::span<const Option> options) {
  cxxopts::Options parser{"libreyolo-kernels"};
  parser.allow_unrecognised_options();
  auto add = parser.add_options();
  for (const Option& option : options) {
    const std::string key =
        option.letter == '\0' ? std::string{option.name} : str(option.letter, ',', option.name);
    if (option.value.empty())
      add(key, "", cxxopts::value<bool>());
    else
      add(key, "", cxxopts::value<std::string>());
  }
  add(std::string{positional_key}, "", cxxopts::value<std::vector<std::string>>());
  parser.parse_positional(std::string{positional_key});
  return parser;
}

// cxxopts throws; nothing outside this function sees that.
Result<cxxopts::ParseResult> parse(cxxopts::Options& parser, std::span<const std::string> words) {
  std::vector<const char*> argv{"libreyolo-kernels"};
  for (const std::string& word : words)
    argv.push_back(word.c_str());
  try {
    return parser.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::missing_argument&) {
    return invalid(str("option ", quoted(words.back()), " needs a value"));
  } catch (const cxxopts::exceptions::exception& problem) {
    return invalid(str("options are malformed: ", quoted(problem.what())));
  }
}

// cxxopts reads "--json=maybe" as a boolean; a flag takes no value here. It would also take
// "--positional", which is our own name for what has none.
Result<void> check_words(std::span<const std::string> words, std::span<const Option> options) {
  for (const std::string& word : words) {
    if (word == "--")
      break;
    if (!word.starts_with("--"))
      continue;
    const auto name = std::string_view{word}.substr(2, word.find('=') - 2);
    if (name == positional_key)
      return unknown_option(word, options);
    for (const Option& option : options)
      if (option.name == name && option.value.empty() && word.find('=') != std::string::npos)
        return invalid(str("option --", name, " takes no value"));
  }
  return {};
}

// A word like "--[x]" is no option to cxxopts, so it comes as a positional; to a user it is a wrong
// option. After "--" everything is positional.
Result<void> check_dashes(std::span<const std::string> positionals,
                          std::span<const std::string> words,
                          std::span<const Option> options) {
  const auto separator = std::find(words.begin(), words.end(), "--");
  const auto after = static_cast<std::size_t>(words.end() - separator);
  const std::size_t meant = after == 0 ? 0 : std::min(after - 1, positionals.size());
  for (const std::string& word : positionals.first(positionals.size() - meant))
    if (word.size() > 1 && word.front() == '-')
      return unknown_option(word, options);
  return {};
}

}  // namespace

std::span<const Option> common_options() {
  return common;
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = options_.find(std::string{option});
  if (found == options_.end())
    return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = options_.find(std::string{option});
  return found == options_.end() ? std::vector<std::string>{} : found->second;
}

Result<Arguments> parse_arguments(std::span<const Option> options,
                                  std::span<const std::string> words) {
  const std::vector<Option> all = all_options(options);
  LYK_TRY(check_words(words, all));
  cxxopts::Options parser = describe(all);
  LYK_TRY_ASSIGN(const cxxopts::ParseResult parsed, parse(parser, words));
  if (!parsed.unmatched().empty())
    return unknown_option(parsed.unmatched().front(), all);
  Arguments arguments;
  for (const auto& entry : parsed.arguments()) {
    if (entry.key() == positional_key)
      arguments.positionals_.push_back(entry.value());
    else
      arguments.options_[entry.key()].push_back(entry.value());
  }
  LYK_TRY(check_dashes(arguments.positionals_, words, all));
  for (const Option& option : all) {
    const std::vector<std::string> values = arguments.values(option.name);
    if (!option.value.empty() && std::find(values.begin(), values.end(), "") != values.end())
      return invalid(str("option --", option.name, " has an empty value"));
    if (option.repeat == Repeat::once && !option.value.empty() && values.size() > 1)
      return invalid(str("option --", option.name, " is given twice"));
  }
  return arguments;
}

Result<void> check_positionals(const Arguments& arguments, const PositionalRange& range) {
  const auto& given = arguments.positionals();
  if (given.size() < range.min)
    return invalid(str("missing argument: ", range.usage));
  if (given.size() > range.max)
    return invalid(str("unexpected argument ", quoted(given[range.max])));
  return {};
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto error = [&] {
    return invalid(str("size ", quoted(text), ": expected bytes, as 4096, 64M or 2GiB"));
  };
  if (problem != std::errc{})
    return error();
  auto suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty() || suffix == "B")
    return number;
  constexpr std::string_view units = "KMGT";
  const auto unit = units.find(suffix.front());
  suffix.remove_prefix(1);
  if (unit == std::string_view::npos || !(suffix.empty() || suffix == "B" || suffix == "iB"))
    return error();
  const auto shift = 10 * (unit + 1);
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift)
    return error();
  return number << shift;
}

Result<std::vector<std::string>> split_list(std::span<const std::string> values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      if (end == begin)
        return invalid(str("list ", quoted(value), " has an empty part"));
      parts.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

}  // namespace lyk::cli
