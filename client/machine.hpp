// What a process on this machine would run, for people who ask before one does: the GPUs that the
// driver knows, and for a slot every implementation with what keeps it from running there. Loads
// nothing and makes no context.
// Thread rule: as Connection; list_gpus from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/connection.hpp"
#include "client/driver.hpp"
#include "client/environment.hpp"
#include "client/registry.hpp"
#include "proto/device.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::client {

struct MachineGpu {
  std::int32_t number = 0;  // as the driver counts
  std::string name;         // "NVIDIA H100 PCIe"
  Device device;
};

// Errors: no_driver (there is none, or it knows no GPU), and as open_driver. The driver stays open,
// and no child of this process can use one.
Result<std::vector<MachineGpu>> list_gpus(const std::string& library = std::string{driver_library});

// Every implementation of `slot` that this release brings, in the order of a call. Asks the service
// for what is cached, and starts no fetch.
std::vector<ImplementationState> prospects(const Policy& policy,
                                           const SlotName& slot,
                                           const Device& device,
                                           Connection& connection);

}  // namespace lyk::client
