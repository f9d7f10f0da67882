// What the driver tests load: every kind of parameter, static and dynamic shared memory, a
// variable, and kernels that go wrong.
#include <cstdint>

struct Pair {
  float first;
  float second;
};

__device__ float offset_of_all = 0.5F;

extern "C" __global__ void combine(
    const float* from, Pair pair, std::uint8_t sign, int count, float* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count)
    return;
  const float value = from[i] * pair.first + pair.second + offset_of_all;
  to[i] = sign != 0 ? -value : value;
}

// The sum of each block, through static shared memory.
extern "C" __global__ void block_sum(const float* from, float* sums) {
  __shared__ float parts[256];
  parts[threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = parts[0];
}

// Reverses each block, through dynamic shared memory.
extern "C" __global__ void reverse(float* values) {
  extern __shared__ float elements[];
  elements[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = elements[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void write_through(float* to) {
  *to = 1.0F;
}

extern "C" __global__ void write_misaligned(char* to) {
  *reinterpret_cast<volatile float*>(to + 1) = 1.0F;
}

extern "C" __global__ void trap_always() {
  asm volatile("trap;");
}

extern "C" __global__ void __launch_bounds__(64) few_threads(float* to) {
  to[threadIdx.x] = 2.0F;
}
