// Kernels with names of data/kernels.cu and other parameters: no twin of it.
extern "C" __global__ void write_through(float* to, float value) {
  *to = value;
}
