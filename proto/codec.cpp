#include "proto/codec.hpp"

#include <span>

namespace lyk::wire {

namespace {

// A value that is text on the wire and is parsed by `parse`, with the place before its message.
template <typename Parse>
auto read_parsed(const Json& json, const Place& place, Parse parse) -> decltype(parse("")) {
  LYK_TRY_ASSIGN(const std::string text, Codec<std::string>::read(json, place));
  auto value = parse(text);
  if (!value)
    return place.error(value.error().message);
  return value;
}

}  // namespace

std::string Place::text() const {
  if (parent == nullptr)
    return std::string{name};
  const std::string before = parent->text();
  if (name.empty())
    return str(before, '[', index, ']');
  return before.empty() ? std::string{name} : str(before, '.', name);
}

Error Place::error(std::string_view why) const {
  const std::string where = text();
  if (where.empty())
    return {Code::invalid_argument, str("parameters: ", why)};
  return {Code::invalid_argument, str("parameter '", where, "': ", why)};
}

Result<std::string> Codec<std::string>::read(const Json& json, const Place& place) {
  if (const auto* text = json.get_ptr<const std::string*>())
    return *text;
  return place.error("it must be a string");
}

Result<bool> Codec<bool>::read(const Json& json, const Place& place) {
  if (const auto* value = json.get_ptr<const bool*>())
    return *value;
  return place.error("it must be true or false");
}

Result<std::int64_t> read_integer(const Json& json, const Place& place, IntegerRange range) {
  const Error bad =
      place.error(str("it must be a whole number from ", range.min, " to ", range.max));
  // nlohmann keeps what is not negative as unsigned, and what fits in neither as a floating number.
  if (const auto* positive = json.get_ptr<const std::uint64_t*>()) {
    if (*positive > static_cast<std::uint64_t>(range.max))
      return bad;
    return static_cast<std::int64_t>(*positive);
  }
  const auto* number = json.get_ptr<const std::int64_t*>();
  if (number == nullptr || *number < range.min || *number > range.max)
    return bad;
  return *number;
}

std::size_t word_index_or_size(std::span<const std::string_view> words, std::string_view word) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

Error unknown_word(std::span<const std::string_view> words, const Place& place) {
  std::string known;
  for (const std::string_view word : words)
    known += str(known.empty() ? "'" : ", '", word, "'");
  return place.error(str("it must be one of ", known));
}

Result<Digest> Codec<Digest>::read(const Json& json, const Place& place) {
  return read_parsed(json, place, Digest::parse);
}

Result<SlotName> Codec<SlotName>::read(const Json& json, const Place& place) {
  return read_parsed(json, place, SlotName::parse);
}

Result<RepoId> Codec<RepoId>::read(const Json& json, const Place& place) {
  return read_parsed(json, place, RepoId::parse);
}

Result<Arch> Codec<Arch>::read(const Json& json, const Place& place) {
  return read_parsed(json, place, [](std::string_view text) -> Result<Arch> {
    LYK_TRY_ASSIGN(const Arch arch, Arch::parse(text));
    if (arch.variant != ArchVariant::none)
      return Error{Code::invalid_argument,
                   str("architecture ", quoted(text), ": a GPU has no variant letter, write 9.0")};
    return arch;
  });
}

Result<CudaVersion> Codec<CudaVersion>::read(const Json& json, const Place& place) {
  return read_parsed(json, place, CudaVersion::parse);
}

namespace {
// `Device` as it is sent: what is absent is told from the rest.
struct SentDevice {
  Arch arch;
  std::optional<bool> tegra;
  std::optional<CudaVersion> driver;
};
}  // namespace

template <>
inline constexpr auto fields_of<SentDevice> = std::make_tuple(field("arch", &SentDevice::arch),
                                                              field("tegra", &SentDevice::tegra),
                                                              field("driver", &SentDevice::driver));

Result<Device> Codec<Device>::read(const Json& json, const Place& place) {
  LYK_TRY_ASSIGN(const SentDevice sent, Codec<SentDevice>::read(json, place));
  return Device{sent.arch, sent.tegra.value_or(is_tegra_arch(sent.arch)), sent.driver};
}

void Codec<Device>::write(std::string& out, const Device& value) {
  Codec<SentDevice>::write(out, SentDevice{value.arch, value.tegra, value.driver});
}

}  // namespace lyk::wire
