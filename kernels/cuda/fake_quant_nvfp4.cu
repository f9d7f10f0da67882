// The slots fake_quant_nvfp4_weight and fake_quant_nvfp4_dynamic: kernels/reference/nvfp4.hpp and
// e2m1_blocks.hpp state the formula. The greatest magnitude of the tensor is given to the one and
// found for the other by a launch of its own, lyk_fake_quant_nvfp4_dynamic_amax_f32: every block
// needs it before it can begin.
#include "kernels/cuda/e2m1_blocks.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/nvfp4.cuh"

namespace lyk::cuda {
namespace {

constexpr unsigned nvfp4_lanes = 4;

struct ScaleOf {
  float tensor_scale;
  float divisor;

  __device__ explicit ScaleOf(float tensor_amax)
      : tensor_scale(nvfp4_tensor_scale(tensor_amax)), divisor(__fmul_rn(e2m1_max, tensor_scale)) {}

  __device__ float operator()(std::uint32_t amax_bits) const {
    const float ratio = __fdiv_rn(__uint_as_float(amax_bits), divisor);
    const float clipped = at_most(at_least(ratio, smallest_scale), e4m3_max);
    return nvfp4_effective_scale(round_to_e4m3(clipped), tensor_scale);
  }
};

}  // namespace

extern "C" __global__ void lyk_fake_quant_nvfp4_forward_f32(E2m1Blocks call) {
  e2m1_forward<nvfp4_lanes>(call, ScaleOf{load(call.tensor_amax)});
}

extern "C" __global__ void lyk_fake_quant_nvfp4_backward_f32(E2m1Blocks call) {
  e2m1_backward<nvfp4_lanes>(call, ScaleOf{load(call.tensor_amax)});
}

}  // namespace lyk::cuda
