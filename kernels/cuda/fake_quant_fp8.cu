// The slot fake_quant_fp8: kernels/reference/fake_quant_fp8.hpp states the formula. Backward is a
// copy of the gradient, which needs no kernel.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/channels.cuh"

namespace lyk::cuda {
namespace {

// Clipping drops NaN. The result is NaN all the same: where the quotient is NaN, x or the scale is
// NaN, or both are infinite, and each of that comes through the last two lines.
__device__ float quantise(float x, float scale) {
  const float scaled = fminf(fmaxf(__fdiv_rn(x, scale), -e4m3_max), e4m3_max);
  const float quantised = __fmul_rn(round_to_e4m3(scaled), scale);
  return straight_through(quantised, x);
}

}  // namespace

extern "C" __global__ void lyk_fake_quant_fp8_forward_f32(Fp8 call) {
  const auto make = [&call](std::uint64_t channel) {
    return at_least(load(call.scale + channel), smallest_scale);
  };
  const auto apply = [](float x, float, float scale) { return quantise(x, scale); };
  map(call.x, call.output, run_of(call.elements, call.x, call.x, call.output),
      [&](const auto& values, auto& result, std::uint64_t first) {
        for_each_channel(call.inner, call.channels, first, values, result, make, apply);
      });
}

}  // namespace lyk::cuda
