// The greatest magnitude of a tensor, or of each channel that does not lie in one piece.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/reduce.cuh"

namespace lyk::cuda {
namespace {

__device__ void amax_of_tensor(const Amax& call) {
  const float* const x = call.x;
  const Run run = run_of(call.elements, x, x, x);
  const std::uint64_t stride = threads_of_grid();
  std::uint32_t amax = 0;
#pragma unroll 4
  for (std::uint64_t quad = thread_of_grid(); quad < run.quads; quad += stride)
    amax = max(amax, greatest_magnitude(load_pack<quad_size>(x + run.begin_of_quad(quad))));
  for (std::uint64_t single = thread_of_grid(); single < run.singles; single += stride)
    amax = max(amax, magnitude_bits(load(x + run.index_of_single(single))));
  amax = greatest_of_block(amax);
  if (threadIdx.x == 0)
    atomicMax(call.amax, amax);
}

// The tensor as a matrix with a column for each place of each channel. A thread goes down its
// column, so that a warp reads neighbours; the rows are shared out among blocks along y.
__device__ void amax_of_channels(const Amax& call) {
  const std::uint64_t columns = call.inner.value * call.channels.value;
  const std::uint64_t column_stride = threads_of_grid();
  for (std::uint64_t column = thread_of_grid(); column < columns; column += column_stride) {
    std::uint32_t amax = 0;
#pragma unroll 4
    for (std::uint64_t i = column + blockIdx.y * columns; i < call.elements;
         i += gridDim.y * columns)
      amax = max(amax, magnitude_bits(load(call.x + i)));
    atomicMax(call.amax + quotient(column, call.inner), amax);
  }
}

}  // namespace

extern "C" __global__ void lyk_fake_quant_nvfp4_dynamic_amax_f32(Amax call) {
  amax_of_tensor(call);
}

extern "C" __global__ void lyk_fake_quant_int8_per_channel_amax_f32(Amax call) {
  amax_of_channels(call);
}

}  // namespace lyk::cuda
