// The logarithm of CUDA's own library, compiled as PyTorch compiles its kernels: tests/cuda runs it
// beside ours.
struct Log2f {
  const float* x;
  float* logarithms;
  unsigned count;
};

extern "C" __global__ void log2f_of_all(Log2f call) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < call.count; i += stride)
    call.logarithms[i] = log2f(call.x[i]);
}
