// Runs a kernel: blocks one after another, the threads of a block one after another from one
// barrier to the next. The order of both comes from a seed, so that code which depends on it gives
// different results for different seeds, and the same for the same.
//
// Thread rule: run() may be called from several threads at once, also for one module. Kernels on
// one Memory run one after another, so that an atomic operation is one; a kernel that waits for
// another run to write something waits in vain. A LoadedModule must outlive the runs of its
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "proto/result.hpp"
#include "tests/fakes/softcuda/ptx/fault.hpp"
#include "tests/fakes/softcuda/ptx/memory.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"

namespace softcuda::ptx {

// A module with its variables placed in the memory of a device. Owns the memory of the variables:
// freed with it. `memory` must outlive it.
class LoadedModule {
public:
  [[nodiscard]] static lyk::Result<LoadedModule> load(std::shared_ptr<const Module> module,
                                                      Memory& memory);
  LoadedModule(LoadedModule&&) noexcept = default;
  LoadedModule& operator=(LoadedModule&&) noexcept = default;
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule() = default;

  [[nodiscard]] const Module& module() const;
  // Where a variable lies, as for cuModuleGetGlobal.
  [[nodiscard]] std::optional<Range> variable(std::string_view name) const;

  struct Placed;  // placed.hpp, for run() alone
  [[nodiscard]] const Placed& placed() const { return *placed_; }

private:
  struct Unplace {
    void operator()(Placed* placed) const;
  };
  explicit LoadedModule(std::unique_ptr<Placed, Unplace> placed) : placed_(std::move(placed)) {}

  std::unique_ptr<Placed, Unplace> placed_;
};

struct Checks {
  bool race = false;
  bool uninitialised = false;
};

// Bytes between threads and global memory, each access as often as a thread makes it: what a cache
// or a coalesced transaction saves is not taken off. An atomic operation counts its operand once.
struct Traffic {
  std::uint64_t loaded = 0;
  std::uint64_t stored = 0;
  std::uint64_t atomic = 0;

  [[nodiscard]] std::uint64_t bytes() const { return loaded + stored + atomic; }
  bool operator==(const Traffic&) const = default;
};

struct Launch {
  Dimensions grid;
  Dimensions block;
  std::uint32_t dynamic_shared_bytes = 0;
  // As many as Kernel::parameter_bytes; each parameter at its offset.
  std::span<const std::byte> parameters;
  std::uint64_t seed = 0;  // 0 is the plain order: blocks and threads ascending
  Checks checks;
  Traffic* traffic = nullptr;  // what the launch moves is added to it
  // Of all threads together. Stops kernels that wait for something that never comes.
  std::uint64_t instructions_max = 100'000'000'000;
};

// Limits that hold on every device from sm_75 on. Which shared memory size a device allows is the
// driver's to check; here it only has to fit the address window.
inline constexpr std::uint32_t block_threads_max = 1024;
inline constexpr std::uint32_t shared_bytes_max = 256 * 1024;

// `kernel` is one of the module's. Nothing, or the fault that ended the launch: what was written
// before it stays written.
[[nodiscard]] std::optional<Fault> run(const LoadedModule& loaded,
                                       const Kernel& kernel,
                                       const Launch& launch,
                                       Memory& memory);

}  // namespace softcuda::ptx
