#include "kernels/reference/fake_quant_fp8.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/reference/arithmetic.hpp"
#include "kernels/reference/e4m3.hpp"
#include "proto/check.hpp"

namespace lyk::reference {

void fake_quant_fp8(const slots::FakeQuantFp8& call, std::span<float> output) {
  LYK_CHECK(call.x.size() == call.axis.elements());
  LYK_CHECK(call.scale.size() == call.axis.channels);
  LYK_CHECK(output.size() == call.x.size());
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float x = call.x[i];
    const float scale = at_least(call.scale[call.axis.channel_of(i)], smallest_scale);
    const float scaled = at_most(at_least(x / scale, -e4m3_max), e4m3_max);
    output[i] = straight_through(round_to_e4m3(scaled) * scale, x);
  }
}

void fake_quant_fp8_backward(const slots::FakeQuantFp8& call,
                             std::span<const float> grad_output,
                             std::span<float> grad_x) {
  LYK_CHECK(grad_output.size() == call.x.size());
  LYK_CHECK(grad_x.size() == call.x.size());
  std::ranges::copy(grad_output, grad_x.begin());
}

}  // namespace lyk::reference
