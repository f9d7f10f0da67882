#include "proto/device.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "proto/text.hpp"

namespace lyk {

namespace {

constexpr std::string_view variant_suffix(ArchVariant variant) {
  switch (variant) {
    case ArchVariant::none:
      return "";
    case ArchVariant::specific:
      return "a";
    case ArchVariant::family:
      return "f";
  }
  return "";
}

// `digits` as a number from 0 to 999; -1 for anything else.
int small_number(std::string_view digits) {
  int value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = status == std::errc{} && end == digits.data() + digits.size();
  return whole && digits.size() <= 3 && digits.front() != '-' ? value : -1;
}

}  // namespace

Result<Arch> Arch::parse(std::string_view text) {
  const Error bad{Code::invalid_argument,
                  str("architecture ", quoted(text), ": write it as 9.0, sm_90 or sm_90a")};
  std::string_view rest = text;
  Arch out;
  if (const auto underscore = rest.find('_'); underscore != std::string_view::npos) {
    const std::string_view prefix = rest.substr(0, underscore);
    if (prefix != "sm" && prefix != "compute")
      return bad;
    rest.remove_prefix(underscore + 1);
  }
  if (rest.ends_with('a') || rest.ends_with('f')) {
    out.variant = rest.back() == 'a' ? ArchVariant::specific : ArchVariant::family;
    rest.remove_suffix(1);
  }
  if (const auto dot = rest.find('.'); dot != std::string_view::npos) {
    out.major = small_number(rest.substr(0, dot));
    out.minor = small_number(rest.substr(dot + 1));
    if (out.minor > 9)
      return bad;
  } else {
    const int number = small_number(rest);
    out.major = number / 10;
    out.minor = number % 10;
  }
  if (out.major < 1 || out.minor < 0)
    return bad;
  return out;
}

std::string Arch::sm() const {
  return str("sm_", number(), variant_suffix(variant));
}
std::string Arch::compute() const {
  return str("compute_", number(), variant_suffix(variant));
}
std::string Arch::capability() const {
  return str(major, '.', minor);
}

Result<CudaVersion> CudaVersion::parse(std::string_view text) {
  const auto dot = text.find('.');
  CudaVersion out;
  out.major = small_number(text.substr(0, dot));
  out.minor = dot == std::string_view::npos ? 0 : small_number(text.substr(dot + 1));
  if (out.major < 1 || out.minor < 0)
    return Error{Code::invalid_argument, str("CUDA version ", quoted(text), ": write it as 13.0")};
  return out;
}

std::string CudaVersion::text() const {
  return str(major, '.', minor);
}

bool is_tegra_arch(const Arch& arch) {
  constexpr std::array tegra{53, 62, 72, 87, 101, 110};
  return std::find(tegra.begin(), tegra.end(), arch.number()) != tegra.end();
}

}  // namespace lyk
