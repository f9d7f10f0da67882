// What every launch of ours does around its kernels: entering the tensors' GPU, looking at the
// caller's stream, and filling memory, with each result of the driver told for what it is.
// Thread rule: as DeviceCode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "client/cuda_abi.h"
#include "client/device_code.hpp"
#include "client/lyk.h"
#include "client/module.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// The kernels of one call, by their places in a module: at most the four of a deterministic
// backward.
struct KernelSet {
  std::array<std::size_t, 4> places{};
  std::size_t count = 0;
};

// The same in that module.
class PickedKernels {
public:
  PickedKernels(Module& module, const KernelSet& set) : count_(set.count) {
    for (std::size_t i = 0; i < count_; ++i)
      kernels_[i] = &module.kernels[set.places[i]];
  }
  std::span<Kernel* const> all() const { return {kernels_.data(), count_}; }

private:
  std::array<Kernel*, 4> kernels_{};
  std::size_t count_;
};

// The GPU of a call's tensors: its context is current, and the call's stream may be used.
struct ReadyGpu {
  const Driver* driver;
  std::int32_t number;
  lyk_cu_stream stream;
  EnteredGpu entered;
};

// `name` is that of the first tensor. Errors: as DeviceCode::driver and DeviceCode::enter;
// invalid_argument (the stream is of another context); not_eligible (another stream captures, and
// this one would end that).
Result<ReadyGpu> enter_gpu(DeviceCode& code, const lyk_arguments& arguments, std::string_view name);

// Whether the context of such a call's tensors is not the one that `code` has lost. Errors: cuda
// (it is), with how.
Result<void> check_context_not_lost(DeviceCode& code, const lyk_arguments& arguments);

// A forward that needs gradients is of no use in a capture that its backward cannot join.
Result<void> check_backward_follows(const lyk_cu_functions& cu,
                                    std::span<Kernel* const> backward,
                                    const lyk_arguments& arguments);

// Runs `enqueue`, which returns Result<void>, as the first run of those of the kernels that have
// not run before. Errors: as FirstRun::begin; what `enqueue` returns; what the kernels' first run
// ends with, of which `code` is told.
template <typename Enqueue>
Result<void> run_kernels(DeviceCode& code,
                         const ReadyGpu& gpu,
                         const Module& module,
                         std::span<Kernel* const> kernels,
                         const Enqueue& enqueue) {
  LYK_TRY_ASSIGN(FirstRun first, FirstRun::begin(gpu.driver->cu, kernels, gpu.stream));
  Result<void> done = enqueue();
  if (done)
    done = first.finish();
  // The stream was clean before; but an error that a context does not survive is the context's, and
  // what runs beside us on another stream may be to blame.
  if (!done && first.is_first())
    return code.lost(gpu.number, module, std::move(done).error());
  return done;
}

// Sets the memory of an argument to zero. Errors: invalid_argument, where it is the driver that
// does not take the pointer; cuda_error.
Result<void> fill_zero(const lyk_cu_functions& cu,
                       lyk_cu_deviceptr at,
                       std::uint64_t bytes,
                       std::string_view argument,
                       lyk_cu_stream stream);

// Sets a 32-bit word. Errors: as fill_zero.
Result<void> fill_word(const lyk_cu_functions& cu,
                       lyk_cu_deviceptr at,
                       std::uint32_t word,
                       std::string_view argument,
                       lyk_cu_stream stream);

// Copies within the device. `argument` is where it is copied from. Errors: as fill_zero.
struct CopyOf {
  std::string_view argument;
  lyk_cu_stream stream = nullptr;
};
Result<void> copy_bytes(const lyk_cu_functions& cu,
                        lyk_cu_deviceptr to,
                        lyk_cu_deviceptr from,
                        std::uint64_t bytes,
                        const CopyOf& what);

}  // namespace lyk::client
