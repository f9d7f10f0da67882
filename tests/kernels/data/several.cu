// Kernels whose parameters have every kind of layout: the image reader's answers to them are stated
// in tests/kernels/nvcc_test.cpp.
#include <cstdint>

struct Mixed {
  char first;
  double rest[3];
};
struct Huge {
  char bytes[5000];
};

extern "C" __global__ void scale(float* x, int n, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    x[i] *= factor;
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void huge(int index, Huge values, int* out) {
  *out = values.bytes[index];
}

template <typename T>
__global__ void add(T* x, char index, Mixed mixed, const T* y, std::int16_t s) {
  x[threadIdx.x] = y[threadIdx.x] + static_cast<T>(mixed.rest[static_cast<int>(index)]) + s;
}
template __global__ void add<float>(float*, char, Mixed, const float*, std::int16_t);
template __global__ void add<double>(double*, char, Mixed, const double*, std::int16_t);

namespace {
__global__ void hidden(const float3 a, bool b, float4* out) {
  if (b)
    *out = make_float4(a.x, a.y, a.z, 0.0F);
}
}  // namespace

void launch_hidden(float4* out) {
  hidden<<<1, 1>>>(float3{}, true, out);
}
