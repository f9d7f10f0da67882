// Conversions to narrow floats and back. For sm_75 the toolkit's headers compute them with
// integers; for newer targets they are instructions. Both must give the same bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

namespace {

__device__ float number(unsigned bits) {
  return __uint_as_float(bits);
}

}  // namespace

// Single precision whose upper half is the number of the thread: every exponent, signs, NaNs and
// infinities; the lower half makes ties, or what lies beside them.
extern "C" __global__ void narrow(unsigned* out, unsigned low) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = number(i << 16 | low);
  const float2 both = make_float2(x, number((i ^ 0x8000) << 16 | (low + 1)));
  unsigned* const own = out + 8 * i;
  own[0] = __nv_cvt_float2_to_fp8x2(both, __NV_SATFINITE, __NV_E4M3);
  own[1] = __nv_cvt_float2_to_fp8x2(both, __NV_SATFINITE, __NV_E5M2);
  own[2] = __nv_cvt_float2_to_fp4x2(both, __NV_E2M1, cudaRoundNearest);
  own[3] = __nv_cvt_float2_to_fp6x2(both, __NV_E2M3, cudaRoundNearest);
  own[4] = __nv_cvt_float2_to_fp6x2(both, __NV_E3M2, cudaRoundNearest);
  own[5] = __nv_cvt_float2_to_e8m0x2(both, __NV_SATFINITE, cudaRoundPosInf);
  own[6] = __bfloat16_as_ushort(__float2bfloat16_rn(x));
  own[7] = __half_as_ushort(__float2half_rn(x));
}

// Back from every pattern of 8 bits.
extern "C" __global__ void widen(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto pair = static_cast<unsigned short>(i << 8 | (255 - i));
  const auto bits = [](__half2_raw wide) { return static_cast<unsigned>(wide.y) << 16 | wide.x; };
  const auto bits_of_bfloat = [](__nv_bfloat162_raw wide) {
    return static_cast<unsigned>(wide.y) << 16 | wide.x;
  };
  unsigned* const own = out + 6 * i;
  own[0] = bits(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3));
  own[1] = bits(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E5M2));
  own[2] = bits(__nv_cvt_fp4x2_to_halfraw2(static_cast<unsigned char>(i), __NV_E2M1));
  own[3] = bits(__nv_cvt_fp6x2_to_halfraw2(pair, __NV_E2M3));
  own[4] = bits(__nv_cvt_fp6x2_to_halfraw2(pair, __NV_E3M2));
  own[5] = bits_of_bfloat(__nv_cvt_e8m0x2_to_bf162raw(pair));
}
