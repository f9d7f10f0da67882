#include "kernels/reference/fake_quant_mxfp4.hpp"

#include <cmath>

#include "kernels/reference/arithmetic.hpp"
#include "kernels/reference/e2m1_blocks.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

constexpr float smallest_greatest = 1e-30F;
constexpr float e2m1_exponent = 2;           // that of 6, the greatest level
constexpr float exponent_of_infinity = 128;  // as its exponent field reads

// REQUIRES: value is positive, infinite or NaN.
float floor_log2(float value, slots::Log2Rule rule) {
  if (rule == slots::Log2Rule::exponent && !std::isnan(value))
    return std::isinf(value) ? exponent_of_infinity : static_cast<float>(std::ilogb(value));
  // A logarithm in double is so near to the exact one that rounding it to fp32 gives the correctly
  // rounded fp32 logarithm wherever that can be an integer.
  const auto logarithm = static_cast<float>(std::log2(static_cast<double>(value)));
  return std::floor(logarithm);
}

E2m1Blocks blocks_of(const slots::FakeQuantMxfp4& call) {
  LYK_CHECK(call.x.size() == call.rows * call.columns);
  const auto effective_scale = [rule = call.log2](std::span<const float> block) {
    return mxfp4_effective_scale(greatest_magnitude(block), rule);
  };
  return {.x = call.x,
          .columns = call.columns,
          .width = slots::mxfp4_block,
          .effective_scale = effective_scale};
}

}  // namespace

float mxfp4_effective_scale(float greatest, slots::Log2Rule rule) {
  const float exponent = floor_log2(at_least(greatest, smallest_greatest), rule) - e2m1_exponent;
  return std::exp2(at_most(at_least(exponent, -127), 127));
}

void fake_quant_mxfp4(const slots::FakeQuantMxfp4& call, std::span<float> output) {
  fake_quant_e2m1_blocks(blocks_of(call), output);
}

void fake_quant_mxfp4_backward(const slots::FakeQuantMxfp4& call,
                               std::span<const float> grad_output,
                               std::span<float> grad_x) {
  fake_quant_e2m1_blocks_backward(blocks_of(call), grad_output, grad_x);
}

}  // namespace lyk::reference
