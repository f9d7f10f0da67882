// A device image that the driver has loaded into one context, and the first run of its kernels.
//
// The first run of a kernel is where most of what can be wrong with it shows, and only if somebody
// waits for it: the stream is waited for before, so that an error of earlier work is not taken for
// ours, and after, so that ours does not surface in somebody else's call.
// Thread rule: a Module may be used by any number of threads; its context must be current.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "client/connection.hpp"
#include "client/context.hpp"
#include "client/cuda_abi.h"
#include "client/driver.hpp"
#include "proto/launch_abi.hpp"
#include "proto/result.hpp"

namespace lyk::client {

struct Kernel {
  lyk_cu_function function = nullptr;
  std::atomic<bool> has_run{false};
  std::uint32_t resident_blocks = 0;  // of 256 threads that the GPU holds at once, if it was asked
};

// Never unloaded once it is complete: calls hold no lock that would tell when the last one is done,
// and an unload breaks a capture that goes on elsewhere.
struct Module {
  lyk_cu_module handle = nullptr;
  std::uint64_t context_id = 0;     // of the context that it was loaded into
  std::uint32_t deterministic = 0;  // LYK_DETERMINISTIC_*, as the pin marks its image
  std::vector<Kernel> kernels;      // as many as were asked for, in that order
};

// Loads what lies at `image` into the current context, with every kernel on the device already: a
// kernel that is loaded lazily would allocate in the middle of a capture. `title` is what people
// call the image. Errors: cuda_error, with what the driver's compiler said about PTX.
Result<std::unique_ptr<Module>> load_module(const Driver& driver,
                                            const void* image,
                                            std::string_view title,
                                            std::span<const std::string_view> symbols);

// The same of a received image, with the kernels of `abi`. Errors also: not_eligible (no room to
// map the image).
Result<std::unique_ptr<Module>> load_module(const Driver& driver,
                                            const ResolvedImage& image,
                                            const LaunchAbi& abi);

// Nothing may be waited for or loaded while a stream captures. Errors: not_eligible (it does, or a
// capture elsewhere would be disturbed by a look at it), cuda_error.
Result<void> check_not_capturing(const lyk_cu_functions& cu, lyk_cu_stream stream);

// Surrounds what is enqueued for kernels that may not have run before, and lets the thread load
// what the driver has left for the first launch.
//
//   LYK_TRY_ASSIGN(FirstRun first, FirstRun::begin(cu, kernels, stream));
//   ... enqueue ...
//   LYK_TRY(first.finish());
class FirstRun {
public:
  // Does nothing for kernels that have run. `kernels` must outlive this. Errors: not_eligible,
  // cuda_error: nothing was enqueued and the error is not the kernels'.
  static Result<FirstRun> begin(const lyk_cu_functions& cu,
                                std::span<Kernel* const> kernels,
                                lyk_cu_stream stream);

  bool is_first() const { return relaxed_.has_value(); }

  // Errors: cuda_error, of the kernels.
  Result<void> finish();

private:
  FirstRun(const lyk_cu_functions& cu, std::span<Kernel* const> kernels, lyk_cu_stream stream)
      : cu_(&cu), kernels_(kernels), stream_(stream) {}

  const lyk_cu_functions* cu_;
  std::span<Kernel* const> kernels_;
  lyk_cu_stream stream_;
  std::optional<RelaxedCapture> relaxed_;  // none: all have run before
};

// Whether all of them have run.
bool have_run(std::span<Kernel* const> kernels);

}  // namespace lyk::client
