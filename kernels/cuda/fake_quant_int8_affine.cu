// The slot fake_quant_int8_affine: kernels/reference/fake_quant_int8_affine.hpp states the formula.
// Scalar division by reciprocal and a zero point of zero for NaN, as PyTorch has them on CUDA.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/int8.cuh"
#include "kernels/cuda/quads.cuh"

namespace lyk::cuda {
namespace {

struct AffineGrid {
  float scale;
  float inverse;
  float zero_point;  // an integer
};

__device__ AffineGrid affine_grid(const Int8Affine& call) {
  constexpr float steps = 255;
  const float lo = at_most(load(call.lo), 0);
  const float hi = at_least(load(call.hi), 0);
  const float range = __fsub_rn(hi, lo);
  const float scale = at_least(__fmul_rn(range, 1.0F / steps), smallest_scale);
  const float quotient = __fdiv_rn(lo, scale);
  const float zero_point =
      at_most(at_least(rintf(__fsub_rn(lowest_int8, quotient)), lowest_int8), highest_int8);
  return {scale, __fdiv_rn(1.0F, scale), isnan(zero_point) ? 0 : zero_point};
}

__device__ float unclipped_code(float x, const AffineGrid& grid) {
  return __fadd_rn(grid.zero_point, rintf(__fmul_rn(x, grid.inverse)));
}

template <typename Element>
__device__ void forward(const Int8Affine& call) {
  const auto* x = static_cast<const Element*>(call.x);
  auto* output = static_cast<Element*>(call.output);
  const AffineGrid grid = affine_grid(call);
  map(x, output, run_of(call.elements, x, x, output),
      [&grid](const auto& values, auto& result, std::uint64_t) {
#pragma unroll
        for (int i = 0; i < size_of(values); ++i) {
          const float code = clip_int8(unclipped_code(values.at[i], grid));
          result.at[i] = __fmul_rn(__fsub_rn(code, grid.zero_point), grid.scale);
        }
      });
}

template <typename Element>
__device__ void backward(const Int8Affine& call) {
  const auto* x = static_cast<const Element*>(call.x);
  const auto* grad_output = static_cast<const Element*>(call.grad_output);
  auto* grad_x = static_cast<Element*>(call.output);
  const AffineGrid grid = affine_grid(call);
  map(x, grad_output, grad_x, run_of(call.elements, x, grad_output, grad_x),
      [&grid](const auto& values, auto& result, std::uint64_t) {
#pragma unroll
        for (int i = 0; i < size_of(values); ++i)
          result.at[i] = masked_gradient(result.at[i], unclipped_code(values.at[i], grid));
      });
}

}  // namespace

extern "C" __global__ void lyk_fake_quant_int8_affine_forward_f32(Int8Affine call) {
  forward<float>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_affine_forward_f16(Int8Affine call) {
  forward<Half>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_affine_forward_bf16(Int8Affine call) {
  forward<Bfloat16>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_affine_backward_f32(Int8Affine call) {
  backward<float>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_affine_backward_f16(Int8Affine call) {
  backward<Half>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_affine_backward_bf16(Int8Affine call) {
  backward<Bfloat16>(call);
}

}  // namespace lyk::cuda
