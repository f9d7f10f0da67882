// Elements whose scale depends on their channel.
// Thread rule: each thread by itself.
#pragma once

#include <cstdint>

#include "kernels/cuda/quads.cuh"

namespace lyk::cuda {

// For each element of a pack that begins at `first`: result[i] = apply(values[i], result[i],
// make(channel of i)). `make` is called once for neighbours of one channel.
template <int size, typename Make, typename Apply>
__device__ void for_each_channel(const Divisor& inner,
                                 const Divisor& channels,
                                 std::uint64_t first,
                                 const Pack<size>& values,
                                 Pack<size>& result,
                                 const Make& make,
                                 const Apply& apply) {
  const std::uint64_t row = channels.value == 1 ? 0 : quotient(first, inner);
  std::uint64_t position = first - row * inner.value;
  std::uint64_t channel = row - quotient(row, channels) * channels.value;
  auto grid = make(channel);
#pragma unroll
  for (int i = 0; i < size; ++i) {
    if (position == inner.value) {
      position = 0;
      channel = channel + 1 == channels.value ? 0 : channel + 1;
      grid = make(channel);
    }
    result.at[i] = apply(values.at[i], result.at[i], grid);
    ++position;
  }
}

}  // namespace lyk::cuda
