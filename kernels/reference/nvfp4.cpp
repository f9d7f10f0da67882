#include "kernels/reference/nvfp4.hpp"

#include "kernels/reference/arithmetic.hpp"
#include "kernels/reference/e2m1.hpp"
#include "kernels/reference/e4m3.hpp"

namespace lyk::reference {

float nvfp4_tensor_scale(float tensor_amax, slots::ScalarDivision rule) {
  return at_least(divide_by_constant(tensor_amax, e4m3_max * e2m1_max, rule), smallest_scale);
}

float nvfp4_effective_scale(float block_scale, float tensor_scale) {
  return at_least(block_scale * tensor_scale, smallest_scale);
}

E2m1Blocks nvfp4_blocks(std::span<const float> x, std::size_t columns, float tensor_scale) {
  const auto effective_scale = [tensor_scale](std::span<const float> block) {
    const float divisor = e2m1_max * tensor_scale;
    const float ratio =
        at_most(at_least(greatest_magnitude(block) / divisor, smallest_scale), e4m3_max);
    return nvfp4_effective_scale(round_to_e4m3(ratio), tensor_scale);
  };
  return {
      .x = x, .columns = columns, .width = slots::nvfp4_block, .effective_scale = effective_scale};
}

}  // namespace lyk::reference
