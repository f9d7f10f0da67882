// A device for tests of the CUDA kernels: the PTX of the fatbin that the build made, on the
// stand-in's PTX machine, with its checks for races and for reads of what nobody wrote.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cuda/launch.hpp"
#include "tests/fakes/softcuda/ptx/memory.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace lyk::test {

// Orders of blocks and threads: the plain one, and two others.
inline constexpr std::array<std::uint64_t, 3> thread_orders{0, 1, 20260};

class SoftDevice {
public:
  // With the kernels of `file` instead of the build's, if it is not null.
  explicit SoftDevice(std::uint64_t order, int sm = 75, const char* file = nullptr);

  // Adds what the launches from here on move to `traffic`, which must outlive them.
  void count(softcuda::ptx::Traffic& traffic) { traffic_ = &traffic; }

  // Device memory with these elements, `shift` elements past a multiple of 256 bytes.
  template <typename Element>
  Element* put(std::span<const Element> values, std::size_t shift = 0) {
    auto* const at = allocate<Element>(values.size(), shift);
    write(reinterpret_cast<std::uintptr_t>(at), std::as_bytes(values));
    return at;
  }
  template <typename Element>
  Element* put(const std::vector<Element>& values, std::size_t shift = 0) {
    return put(std::span<const Element>{values}, shift);
  }
  template <typename Element>
  Element* allocate(std::size_t count, std::size_t shift = 0) {
    return reinterpret_cast<Element*>(new_bytes((count + shift) * sizeof(Element)) +
                                      shift * sizeof(Element));
  }
  template <typename Element>
  void fill(void* to, const std::vector<Element>& values) {
    write(reinterpret_cast<std::uintptr_t>(to), std::as_bytes(std::span{values}));
  }
  template <typename Element>
  std::vector<Element> get(const void* from, std::size_t count) const {
    std::vector<Element> values(count);
    read(reinterpret_cast<std::uintptr_t>(from), std::as_writable_bytes(std::span{values}));
    return values;
  }

  // The kernel must exist, take exactly these arguments, and end without a fault.
  template <typename Arguments>
  void run(std::string_view kernel, const cuda::Grid& grid, const Arguments& arguments) {
    run_bytes(kernel, grid, std::as_bytes(std::span{&arguments, 1}));
  }

private:
  std::uintptr_t new_bytes(std::size_t bytes);
  void write(std::uintptr_t to, std::span<const std::byte> bytes);
  void read(std::uintptr_t from, std::span<std::byte> bytes) const;
  void run_bytes(std::string_view kernel,
                 const cuda::Grid& grid,
                 std::span<const std::byte> arguments);

  std::uint64_t order_;
  softcuda::ptx::Traffic* traffic_ = nullptr;
  softcuda::ptx::Memory memory_;
  softcuda::ptx::LoadedModule module_;
};

}  // namespace lyk::test
