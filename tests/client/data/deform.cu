// The kernels of ms_deform_attn.
#include "kernels/cuda/ms_deform_attn_backward.cu"
#include "kernels/cuda/ms_deform_attn_forward.cu"
#include "kernels/cuda/ms_deform_attn_gather.cu"
