// Which GPU, in the terms that choose an image: compute capability, Tegra or not, driver version.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/result.hpp"

namespace lyk {

// A compute capability, or the target of an image: 9.0, sm_90a, sm_100f.
//   none      runs on the same and higher minors of its major (cubin) or on anything later (PTX)
//   specific  `a`: on exactly its own architecture
//   family    `f`: on its own and higher minors within its family
enum class ArchVariant : std::uint8_t { none, specific, family };

struct Arch {
  int major = 0;
  int minor = 0;
  ArchVariant variant = ArchVariant::none;

  // Accepts "9.0", "12.1", "sm_90", "sm_90a", "compute_100f", "90". The last digit is the minor.
  static Result<Arch> parse(std::string_view text);
  std::string sm() const;          // "sm_90a"
  std::string compute() const;     // "compute_90a"
  std::string capability() const;  // "9.0", without the variant
  int number() const { return major * 10 + minor; }
  auto operator<=>(const Arch&) const = default;
};

// A CUDA version, of a driver or of a toolkit.
struct CudaVersion {
  int major = 0;
  int minor = 0;

  static Result<CudaVersion> parse(std::string_view text);  // "13.0"
  std::string text() const;
  auto operator<=>(const CudaVersion&) const = default;
};

struct Device {
  Arch arch;                          // variant is none
  bool tegra = false;                 // an integrated Tegra chip: exact images only
  std::optional<CudaVersion> driver;  // absent: not known, assume new enough for everything
  // NOLINTNEXTLINE(readability-implicit-bool-conversion): the compiler compares `tegra` so
  auto operator<=>(const Device&) const = default;
};

// True for the compute capabilities that exist only as Tegra chips: 53 62 72 87 101 110.
bool is_tegra_arch(const Arch& arch);

}  // namespace lyk
