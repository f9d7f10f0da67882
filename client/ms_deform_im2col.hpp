// The launcher of ABI ms_deform_im2col: how the Hub's multi-scale deformable attention kernels want
// to be launched. What the published host code gets wrong is decided here: no grid is ever capped
// (the backward kernels are right for one iteration per thread only), 32-bit offsets never
// overflow, and every result of the driver is looked at.
// Thread rule: pure functions; launches as client/module.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/cuda_abi.h"
#include "client/driver.hpp"
#include "client/module.hpp"
#include "proto/launch_abi.hpp"
#include "proto/result.hpp"

namespace lyk::client {

struct DeformSizes {
  std::int64_t batch = 0;
  std::int64_t cells = 0;  // of all levels together
  std::int64_t heads = 0;
  std::int64_t channels = 0;
  std::int64_t levels = 0;
  std::int64_t queries = 0;
  std::int64_t points = 0;
};

// Device addresses of dense float32 tensors, and of int64 shapes and starts.
struct DeformForward {
  lyk_cu_deviceptr value = 0;
  lyk_cu_deviceptr spatial_shapes = 0;
  lyk_cu_deviceptr level_starts = 0;
  lyk_cu_deviceptr locations = 0;
  lyk_cu_deviceptr weights = 0;
  lyk_cu_deviceptr output = 0;  // forward only
};
struct DeformBackward {
  DeformForward inputs;
  lyk_cu_deviceptr grad_output = 0;
  lyk_cu_deviceptr grad_value = 0;
  lyk_cu_deviceptr grad_locations = 0;
  lyk_cu_deviceptr grad_weights = 0;
};

// Which kernel, by its place in the ABI, and how many threads and bytes of dynamic shared memory a
// block of it has.
struct DeformKernel {
  std::size_t index = 0;
  std::int64_t threads = 0;
  std::int64_t shared_bytes = 0;
};
DeformKernel deform_forward_kernel();
DeformKernel deform_backward_kernel(std::int64_t channels);

// Beyond 1024 channels several blocks add to one gradient of a location or weight.
bool adds_to_all_gradients(std::int64_t channels);

// How many images one launch may take so that no 32-bit number in the kernel overflows; at most
// sizes.batch. 0: not even one. Sizes are positive.
std::int64_t images_per_launch(const DeformSizes& sizes, std::int64_t threads);

// Enqueues the whole computation on `stream`, in as many launches as it takes. Gradients must be
// zero where the kernels add to them. The kernel is one of `module`; its context is current. One
// launch may take an image at least.
Result<void> launch_forward(const lyk_cu_functions& cu,
                            const Kernel& kernel,
                            const DeformSizes& sizes,
                            const DeformForward& tensors,
                            lyk_cu_stream stream);
Result<void> launch_backward(const lyk_cu_functions& cu,
                             const Kernel& kernel,
                             const DeformSizes& sizes,
                             const DeformBackward& tensors,
                             lyk_cu_stream stream);

}  // namespace lyk::client
