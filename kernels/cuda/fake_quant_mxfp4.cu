// The slots fake_quant_mxfp4_weight and fake_quant_mxfp4_dynamic:
// kernels/reference/fake_quant_mxfp4.hpp and e2m1_blocks.hpp state the formula; here with the
// rounded logarithm.
#include "kernels/cuda/arithmetic.cuh"
#include "kernels/cuda/e2m1_blocks.cuh"

namespace lyk::cuda {
namespace {

constexpr unsigned mxfp4_lanes = 8;

// floor(log2(x)) of a normal float, where the logarithm is rounded to fp32 first: for the `early`
// floats just below 2^(e + 1) that is e + 1 already. The nearer a logarithm is to zero, the finer
// fp32 is there, so that `early` halves with each power of two of e or -(e + 1).
__device__ int floor_log2_rounded(std::uint32_t bits) {
  constexpr int bias = 127;
  const int exponent = static_cast<int>(bits >> float_mantissa_bits) - bias;
  const int distance = exponent ^ (exponent >> 31);
  const std::uint32_t early = 44U >> (__clz(distance | 1) - 25);
  return static_cast<int>((bits + early) >> float_mantissa_bits) - bias;
}

// A power of two, or NaN. The greatest finite ones have an exponent below that of infinity's scale.
__device__ float scale_of(std::uint32_t amax_bits) {
  constexpr std::uint32_t smallest_amax_bits = 0x0DA24260;      // 1e-30
  constexpr std::uint32_t scale_of_infinity_bits = 0x7F000000;  // 2^127
  constexpr int e2m1_exponent = 2;                              // that of 6, the greatest level
  if (amax_bits > float_infinity_bits)
    return __uint_as_float(amax_bits);
  if (amax_bits == float_infinity_bits)
    return __uint_as_float(scale_of_infinity_bits);
  const int exponent = floor_log2_rounded(max(amax_bits, smallest_amax_bits)) - e2m1_exponent;
  return __uint_as_float(static_cast<std::uint32_t>(exponent + 127) << float_mantissa_bits);
}

}  // namespace

extern "C" __global__ void lyk_fake_quant_mxfp4_forward_f32(E2m1Blocks call) {
  e2m1_forward<mxfp4_lanes>(call, scale_of);
}
extern "C" __global__ void lyk_fake_quant_mxfp4_backward_f32(E2m1Blocks call) {
  e2m1_backward<mxfp4_lanes>(call, scale_of);
}

}  // namespace lyk::cuda
