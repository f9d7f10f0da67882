#include "cache/kernel_list.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "proto/text.hpp"

namespace lyk::cache {

namespace {

// Takes what comes before `end` out of `rest`, and `end` with it; empty if `end` is not there.
std::optional<std::string_view> take_until(std::string_view& rest, char end) {
  const auto at = rest.find(end);
  if (at == std::string_view::npos)
    return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return taken;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return value;
}

// "0:8,8:4"; empty text is a kernel without parameters.
std::optional<std::vector<image::Parameter>> parameters(std::string_view text) {
  std::vector<image::Parameter> out;
  if (text.empty())
    return out;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const auto colon = item.find(':');
    if (colon == std::string_view::npos)
      return std::nullopt;
    const auto offset = number(item.substr(0, colon));
    const auto size = number(item.substr(colon + 1));
    if (!offset || !size)
      return std::nullopt;
    out.push_back({*offset, *size});
    if (comma == std::string_view::npos)
      return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string encode_kernels(std::span<const image::Kernel> kernels) {
  std::string out;
  for (const image::Kernel& kernel : kernels) {
    out.append(kernel.symbol).push_back('\0');
    out.append(kernel.name).push_back('\0');
    std::string_view separator;
    for (const image::Parameter& parameter : kernel.parameters) {
      out += str(separator, parameter.offset, ':', parameter.size);
      separator = ",";
    }
    out.push_back('\0');
  }
  return out;
}

std::optional<std::vector<image::Kernel>> decode_kernels(std::span<const std::uint8_t> encoded) {
  std::string_view rest{reinterpret_cast<const char*>(encoded.data()), encoded.size()};
  std::vector<image::Kernel> out;
  while (!rest.empty()) {
    const auto symbol = take_until(rest, '\0');
    const auto readable = symbol ? take_until(rest, '\0') : std::nullopt;
    const auto layout = readable ? take_until(rest, '\0') : std::nullopt;
    auto parsed = layout ? parameters(*layout) : std::nullopt;
    if (!parsed)
      return std::nullopt;
    out.push_back({std::string{*symbol}, std::string{*readable}, std::move(*parsed)});
  }
  return out;
}

}  // namespace lyk::cache
