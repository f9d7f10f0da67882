// Which of several images a device gets: a pure function, tested by a table.
//
// An image is a candidate at all if it defines the launch ABI (every symbol, with exactly that
// parameter layout) and was not built by a newer CUDA major than the driver's. Among those:
//   1. machine code for exactly the device's architecture; of the forms that run there, `a` before
//      `f` before the plain one, since each was built for fewer chips
//   2. machine code for the highest lower minor of the same major; family images (`f`) within their
//      family only; never to, from or between Tegra chips
//   3. the highest PTX that is not above the device and that the driver can compile; `a` PTX only
//      for its own architecture, `f` PTX only within its family
// Among equals the smaller download wins, then the name of the file, then the place in it.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/image/image.hpp"
#include "proto/device.hpp"
#include "proto/launch_abi.hpp"

namespace lyk::image {

struct Candidate {
  const Image* image = nullptr;      // not null; borrowed for the call
  std::string_view file;             // its path in the repo
  std::uint64_t file_bytes = 0;      // what has to be downloaded for it
  std::optional<CudaVersion> build;  // CUDA version that the build variant's name states, if any
};

struct Refusal {
  std::size_t candidate = 0;
  std::string reason;  // "built for sm_90a, which runs on 9.0 only"
};

struct Choice {
  std::optional<std::size_t> chosen;
  std::string reason;            // why the chosen one fits: "machine code for exactly 9.0"
  std::vector<Refusal> refused;  // every other candidate, in their order
};

// `abi` null: an ABI is not asked for.
Choice choose(std::span<const Candidate> candidates, const Device& device, const LaunchAbi* abi);

// One line for a refusal as a whole: every candidate by file, architecture and reason.
std::string explain(const Choice& choice, std::span<const Candidate> candidates);

// Why `image` does not define `abi`; empty if it does.
std::optional<std::string> abi_mismatch(const Image& image, const LaunchAbi& abi);

// Whether machine code or PTX of this target runs on the device, as far as architectures decide it.
bool runs_on(Kind kind, const Arch& target, const Device& device);

// The highest PTX `.version` that a driver of this CUDA version compiles.
CudaVersion newest_ptx_version(const CudaVersion& driver);

// The CUDA version in the name of a build variant: "torch29-cxx11-cu130-x86_64-linux" -> 13.0.
std::optional<CudaVersion> build_cuda_version(std::string_view repo_path);

}  // namespace lyk::image
