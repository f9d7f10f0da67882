// The kernels of nvfp4 alone: a module that the stand-in driver reads in no time, for tests that
// start hundreds of processes.
#include "kernels/cuda/amax.cu"
#include "kernels/cuda/fake_quant_nvfp4.cu"
