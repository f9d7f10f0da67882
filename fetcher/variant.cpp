#include "fetcher/variant.hpp"

#include <algorithm>
#include <array>

namespace lyk::fetcher {

namespace {

constexpr std::array<std::string_view, 11> other_backends{"cpu",  "metal",     "neuron", "tpu",
                                                          "npu",  "universal", "rocm",   "xpu",
                                                          "cann", "darwin",    "windows"};
// Backends that carry their version: `rocm71`, `xpu20253`.
constexpr std::array<std::string_view, 3> versioned_backends{"rocm", "xpu", "cann"};

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_other_backend(std::string_view part) {
  return std::find(other_backends.begin(), other_backends.end(), part) != other_backends.end() ||
         std::any_of(versioned_backends.begin(), versioned_backends.end(),
                     [&](std::string_view backend) {
                       return part.starts_with(backend) && all_digits(part.substr(backend.size()));
                     });
}

// `cu130` is 13.0: the last digit is the minor.
std::optional<CudaVersion> parse_toolkit(std::string_view part) {
  if (!part.starts_with("cu") || part.size() < 4 || part.size() > 6 || !all_digits(part.substr(2)))
    return std::nullopt;
  CudaVersion version;
  for (const char c : part.substr(2, part.size() - 3))
    version.major = version.major * 10 + (c - '0');
  version.minor = part.back() - '0';
  return version;
}

}  // namespace

Variant parse_variant(std::string_view name) {
  Variant variant;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('-'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (is_other_backend(part))
      variant.may_hold_cuda = false;
    if (const auto toolkit = parse_toolkit(part))
      variant.cuda = toolkit;
    if (part == "x86_64")
      variant.x86_64 = true;
  }
  return variant;
}

}  // namespace lyk::fetcher
