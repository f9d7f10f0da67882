// All kernels as one translation unit: one module for a driver to load, and the headers are read
// once.
#include "kernels/cuda/amax.cu"
#include "kernels/cuda/fake_quant_fp8.cu"
#include "kernels/cuda/fake_quant_int8_affine.cu"
#include "kernels/cuda/fake_quant_int8_per_channel.cu"
#include "kernels/cuda/fake_quant_int_grouped.cu"
#include "kernels/cuda/fake_quant_mxfp4.cu"
#include "kernels/cuda/fake_quant_nvfp4.cu"
#include "kernels/cuda/ms_deform_attn_backward.cu"
#include "kernels/cuda/ms_deform_attn_forward.cu"
#include "kernels/cuda/ms_deform_attn_gather.cu"
#include "kernels/cuda/unpack.cu"
