// Launch ABIs: what a launcher of ours needs from a device image that somebody else built. An ABI
// is a name and a set of kernels; a kernel is its mangled symbol and the byte layout of its
// parameters. An image fits an ABI when it defines every one of the symbols with exactly that
// layout.
//
// A pin names its ABI; the daemon checks images against it before it hands one out, and the
// client's launcher of the same name relies on it. The tables are constants of the program: no
// input reaches them. Thread rule: immutable data.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lyk {

// One parameter of a kernel, in bytes from the start of the kernel's parameter space.
struct KernelParameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  auto operator<=>(const KernelParameter&) const = default;
};

struct AbiKernel {
  std::string_view symbol;  // mangled, as in the image
  std::span<const KernelParameter> parameters;
};

struct LaunchAbi {
  std::string_view name;
  std::span<const AbiKernel> kernels;
};

// Every ABI of this release, in the order of their names.
std::span<const LaunchAbi> launch_abis();

// Null if this release has no launcher of that name.
const LaunchAbi* find_launch_abi(std::string_view name);

// "'x', 'y'": every name, for people to choose from.
std::string launch_abis_text();

// "this release has no launcher 'x'; did you mean 'y'?", for a name that `find_launch_abi` does not
// know.
std::string no_launcher_text(std::string_view name);

}  // namespace lyk
