#include "client/ms_deform_im2col.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "proto/check.hpp"

namespace lyk::client {

namespace {

constexpr std::int64_t threads_max = 1024;
constexpr std::int64_t float_bytes = 4;

// Places in the ABI's list of kernels (proto/launch_abi.cpp).
constexpr std::size_t im2col = 0;
constexpr std::size_t col2im_global = 1;
constexpr std::size_t col2im_serial = 2;        // shm_reduce_v1
constexpr std::size_t col2im_tree = 3;          // shm_reduce_v2
constexpr std::size_t col2im_multi_blocks = 4;  // shm_reduce_v2_multi_blocks
constexpr std::size_t col2im_fixed = 5;         // for 1, 2, 4, ... 1024 channels

// The 32-bit sizes that every kernel takes, in its order.
struct KernelSizes {
  std::int32_t batch, cells, heads, channels, levels, queries, points;
};

KernelSizes kernel_sizes(const DeformSizes& sizes, std::int64_t images) {
  const auto narrow = [](std::int64_t size) { return static_cast<std::int32_t>(size); };
  return {narrow(images),       narrow(sizes.cells),   narrow(sizes.heads), narrow(sizes.channels),
          narrow(sizes.levels), narrow(sizes.queries), narrow(sizes.points)};
}

// Bytes from one image to the next.
struct ImageBytes {
  lyk_cu_deviceptr value, output, weights, locations;

  explicit ImageBytes(const DeformSizes& s)
      : value(bytes(s.cells * s.heads * s.channels)),
        output(bytes(s.queries * s.heads * s.channels)),
        weights(bytes(s.queries * s.heads * s.levels * s.points)),
        locations(2 * weights) {}

  static lyk_cu_deviceptr bytes(std::int64_t elements) {
    return static_cast<lyk_cu_deviceptr>(elements * float_bytes);
  }
};

// A power of two below 2048, as its exponent; -1 for any other number.
int exponent(std::int64_t channels) {
  for (int e = 0; e <= 10; ++e)
    if (channels == std::int64_t{1} << e)
      return e;
  return -1;
}

Result<void> launch(const lyk_cu_functions& cu,
                    const Kernel& kernel,
                    const DeformKernel& shape,
                    std::int64_t elements,
                    void** parameters,
                    lyk_cu_stream stream) {
  const std::int64_t blocks = (elements + shape.threads - 1) / shape.threads;
  LYK_TRY_CUDA(
      cu,
      launch_kernel(kernel.function, static_cast<unsigned>(blocks), 1, 1,
                    static_cast<unsigned>(shape.threads), 1, 1,
                    static_cast<unsigned>(shape.shared_bytes), stream, parameters, nullptr),
      "launch the kernel");
  return {};
}

}  // namespace

DeformKernel deform_forward_kernel() {
  return {.index = im2col, .threads = threads_max, .shared_bytes = 0};
}

DeformKernel deform_backward_kernel(std::int64_t channels) {
  const std::int64_t threads = std::min(channels, threads_max);
  // Three partial sums of each thread: two of the location, one of the weight.
  const std::int64_t partial_bytes = 3 * threads * float_bytes;
  if (const int e = exponent(channels); e >= 0)
    return {col2im_fixed + static_cast<std::size_t>(e), threads, 0};
  if (channels < 64)
    return {col2im_serial, threads, partial_bytes};
  if (channels < threads_max)
    return {col2im_tree, threads, partial_bytes};
  if (channels % threads_max == 0)
    return {col2im_multi_blocks, threads, partial_bytes};
  return {col2im_global, threads, 0};
}

bool adds_to_all_gradients(std::int64_t channels) {
  return channels > threads_max;
}

std::int64_t images_per_launch(const DeformSizes& sizes, std::int64_t threads) {
  constexpr std::int64_t int_max = std::numeric_limits<std::int32_t>::max();
  const std::int64_t elements = sizes.queries * sizes.heads * sizes.channels;
  // The kernel steps once over the whole grid behind its last element before it stops.
  const std::int64_t elements_max = (int_max - threads) / 2;
  const std::int64_t locations = 2 * sizes.queries * sizes.heads * sizes.levels * sizes.points;
  const std::int64_t cells = sizes.cells * sizes.heads * sizes.channels;
  return std::min({sizes.batch, elements_max / elements, int_max / locations, int_max / cells});
}

Result<void> launch_forward(const lyk_cu_functions& cu,
                            const Kernel& kernel,
                            const DeformSizes& sizes,
                            const DeformForward& tensors,
                            lyk_cu_stream stream) {
  const DeformKernel shape = deform_forward_kernel();
  const std::int64_t images_max = images_per_launch(sizes, shape.threads);
  LYK_CHECK(images_max > 0);
  const ImageBytes step{sizes};
  DeformForward at = tensors;
  for (std::int64_t first = 0; first < sizes.batch; first += images_max) {
    const std::int64_t images = std::min(images_max, sizes.batch - first);
    const std::int64_t elements = images * sizes.queries * sizes.heads * sizes.channels;
    auto n = static_cast<std::int32_t>(elements);
    KernelSizes k = kernel_sizes(sizes, images);
    std::array<void*, 14> parameters{
        &n,          &at.value,  &at.spatial_shapes, &at.level_starts, &at.locations,
        &at.weights, &k.batch,   &k.cells,           &k.heads,         &k.channels,
        &k.levels,   &k.queries, &k.points,          &at.output};
    LYK_TRY(launch(cu, kernel, shape, elements, parameters.data(), stream));
    const auto count = static_cast<lyk_cu_deviceptr>(images);
    at.value += count * step.value;
    at.locations += count * step.locations;
    at.weights += count * step.weights;
    at.output += count * step.output;
  }
  return {};
}

Result<void> launch_backward(const lyk_cu_functions& cu,
                             const Kernel& kernel,
                             const DeformSizes& sizes,
                             const DeformBackward& tensors,
                             lyk_cu_stream stream) {
  const DeformKernel shape = deform_backward_kernel(sizes.channels);
  const std::int64_t images_max = images_per_launch(sizes, shape.threads);
  LYK_CHECK(images_max > 0);
  const ImageBytes step{sizes};
  DeformBackward at = tensors;
  DeformForward& in = at.inputs;
  for (std::int64_t first = 0; first < sizes.batch; first += images_max) {
    const std::int64_t images = std::min(images_max, sizes.batch - first);
    const std::int64_t elements = images * sizes.queries * sizes.heads * sizes.channels;
    auto n = static_cast<std::int32_t>(elements);
    KernelSizes k = kernel_sizes(sizes, images);
    std::array<void*, 17> parameters{&n,
                                     &at.grad_output,
                                     &in.value,
                                     &in.spatial_shapes,
                                     &in.level_starts,
                                     &in.locations,
                                     &in.weights,
                                     &k.batch,
                                     &k.cells,
                                     &k.heads,
                                     &k.channels,
                                     &k.levels,
                                     &k.queries,
                                     &k.points,
                                     &at.grad_value,
                                     &at.grad_locations,
                                     &at.grad_weights};
    LYK_TRY(launch(cu, kernel, shape, elements, parameters.data(), stream));
    const auto count = static_cast<lyk_cu_deviceptr>(images);
    in.value += count * step.value;
    in.locations += count * step.locations;
    in.weights += count * step.weights;
    at.grad_output += count * step.output;
    at.grad_value += count * step.value;
    at.grad_locations += count * step.locations;
    at.grad_weights += count * step.weights;
  }
  return {};
}

}  // namespace lyk::client
