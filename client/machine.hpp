// What a process on this machine could run, for people who ask before one does: the GPUs that the
// driver knows, and whether it takes an image or the library's own kernels.
// Thread rule: any thread. The driver stays open, and no child of this process can use one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection.hpp"
#include "client/driver.hpp"
#include "client/fatbin_file.hpp"
#include "proto/device.hpp"
#include "proto/launch_abi.hpp"
#include "proto/result.hpp"

namespace lyk::client {

struct MachineGpu {
  std::int32_t number = 0;  // as the driver counts
  std::string name;         // "NVIDIA H100 PCIe"
  Device device;
};

// Errors: no_driver (there is none, or it knows no GPU), and as open_driver. Makes no context.
Result<std::vector<MachineGpu>> list_gpus(const std::string& library);

// What the implementation `cpu` of this process computes with.
struct Processors {
  std::string_view instructions;  // the best set of this machine: "avx512", "avx2", "baseline"
  std::size_t threads = 1;        // at most
};

Processors describe_processors();

// Whether this release has a call for `slot`, so that an image of it can be run.
bool has_launcher(std::string_view slot);

// Every slot that has one.
std::span<const std::string_view> launchable_slots();

// Loads the image with every kernel of `abi` into the primary context of a GPU, which is made for
// it if it is not there, and takes it away again. Errors: as open_driver and load_module.
Result<void> try_to_load(const std::string& library,
                         std::int32_t gpu,
                         const ResolvedImage& image,
                         const LaunchAbi& abi);

// The library's own kernels that calls of `slot` need; empty: `cuda` has no such slot.
std::span<const std::string_view> own_kernels(std::string_view slot);

// The same with those kernels of a fatbin. Errors: as open_driver and FatbinFile::load.
Result<void> try_to_load(const std::string& library,
                         std::int32_t gpu,
                         const FatbinFile& fatbin,
                         std::span<const std::string_view> symbols);

}  // namespace lyk::client
