// What PyTorch takes the scale of an mxfp4 block from on a GPU, log2f, is made of multiplications
// and additions alone: its bits are known without one. Ours take the exponent and a table.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "tests/cuda/device.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Floats = std::vector<float>;

struct Log2f {  // of data/log2f.cu
  const float* x = nullptr;
  float* logarithms = nullptr;
  std::uint32_t count = 0;
};

Floats logarithms_on_cuda(const Floats& x) {
  SoftDevice device{0, 75, LYK_LOG2F_PTX};
  const Log2f call{.x = device.put(x),
                   .logarithms = device.allocate<float>(x.size()),
                   .count = static_cast<std::uint32_t>(x.size())};
  device.run("log2f_of_all", cuda::run_grid(x.size(), 2), call);
  return device.get<float>(call.logarithms, x.size());
}

// The floats just below a power of two are those whose logarithm may be rounded up to an integer:
// 44 of them at most.
TEST(CudaLog2f, HasTheFloorThatScalesOfMxfp4AreMadeFrom) {
  Floats x{};
  for (int exponent = -99; exponent <= 128; ++exponent)
    for (int below = -2; below < 50; ++below) {
      const auto near =
          static_cast<float>(std::ldexp(1 - below * (below > 0 ? 0x1p-24 : 0x1p-23), exponent));
      if (std::isfinite(near))
        x.push_back(near);
    }
  for (const float deviation : normal_floats(500, 41))
    x.push_back(std::fabs(deviation) + 1e-30F);
  const Floats logarithms = logarithms_on_cuda(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scale = std::ldexp(1.0F, static_cast<int>(std::floor(logarithms[i])) - 2);
    ASSERT_EQ(scale, reference::mxfp4_effective_scale(x[i], slots::Log2Rule::rounded)) << x[i];
  }
}

}  // namespace
}  // namespace lyk::test
