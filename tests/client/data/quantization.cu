// The kernels of the quantization slots.
#include "kernels/cuda/amax.cu"
#include "kernels/cuda/fake_quant_fp8.cu"
#include "kernels/cuda/fake_quant_int8_affine.cu"
#include "kernels/cuda/fake_quant_int8_per_channel.cu"
#include "kernels/cuda/fake_quant_int_grouped.cu"
#include "kernels/cuda/fake_quant_mxfp4.cu"
#include "kernels/cuda/fake_quant_nvfp4.cu"
#include "kernels/cuda/unpack.cu"
