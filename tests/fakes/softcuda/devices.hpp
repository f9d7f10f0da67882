// The devices that can be stood in for, and which images they accept. Numbers are those of the
// technical tables of the CUDA Programming Guide, one product for each architecture.
//
// The acceptance rules are written here anew, not taken from kernels/image/choose: what the product
// believes about a driver is not what it should be tested with.
//
// Thread rule: immutable data and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/device.hpp"

namespace softcuda {

struct DeviceModel {
  std::string_view sm;  // "sm_90"
  lyk::Arch arch;
  lyk::CudaVersion first_driver;  // that knows the architecture
  int multiprocessors;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  int shared_bytes_per_multiprocessor;
  int shared_bytes_optin;     // most for one block, after asking for it
  int shared_bytes_reserved;  // of each block, for the system
  int l2_bytes;
  bool tegra;
};

inline constexpr std::size_t devices_max = 16;  // as many as one machine has
inline constexpr int shared_bytes_default = 48 * 1024;
inline constexpr int block_threads_max = 1024;
inline constexpr int registers_per_multiprocessor = 65'536;
inline constexpr int constant_bytes = 64 * 1024;
// Host memory stands behind it twice, so it is less than any of the real ones has.
inline constexpr std::uint64_t device_memory_bytes = std::uint64_t{4} << 30U;

// Null if there is none of that name.
const DeviceModel* find_device_model(std::string_view sm);
std::vector<std::string_view> device_model_names();

// 11.8 to 13.9, where 12 ends with 12.9.
bool is_known_driver(const lyk::CudaVersion& driver);
// The PTX version that came with this CUDA version.
lyk::CudaVersion ptx_version_of(const lyk::CudaVersion& driver);

// Machine code: the same major and no higher minor; nothing but its own for a Tegra chip, and its
// code nowhere else; `a` only its own; `f` its own and higher members of the family.
bool runs_machine_code(const DeviceModel& device, const lyk::Arch& target);
// PTX: nothing above the device; `a` only its own; `f` within the family.
bool compiles_ptx(const DeviceModel& device, const lyk::Arch& target);

// The value of CUdevice_attribute `attribute` for the device with this number; -1 where the
// attribute does not exist.
int device_attribute(const DeviceModel& device, int number, int attribute);

}  // namespace softcuda
