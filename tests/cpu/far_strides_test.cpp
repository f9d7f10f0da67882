// Strides whose product with an index is beyond 32 bits, on addresses of which only the few that
// are touched are memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/cpu/fake_quant_int_grouped.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "tests/cpu/deform_scene.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

// Zeros, as many as asked for. Null where the system does not give out addresses without memory.
class FarFloats {
public:
  explicit FarFloats(std::ptrdiff_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(float)),
        at_(::mmap(nullptr,
                   bytes_,
                   PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1,
                   0)) {}
  FarFloats(const FarFloats&) = delete;
  FarFloats& operator=(const FarFloats&) = delete;
  ~FarFloats() {
    if (at_ != MAP_FAILED)
      (void)::munmap(at_, bytes_);
  }

  float* data() const { return at_ == MAP_FAILED ? nullptr : static_cast<float*>(at_); }

private:
  std::size_t bytes_;
  void* at_;
};

constexpr std::ptrdiff_t two_to_the_31 = std::ptrdiff_t{1} << 31;

TEST(FarStrides, ImagesAndHeadsOfAValueAndItsGradientAreFoundBeyondThirtyTwoBits) {
  const DeformScene scene{{.batch = 2, .heads = 2, .channels = 4, .queries = 3, .points = 2},
                          {4, 6, 2, 3}};
  const ValueStrides strides{
      .batch = 2 * two_to_the_31 + 512, .cell = 4, .head = two_to_the_31 + 256, .channel = 1};
  const std::ptrdiff_t count = strides.batch + strides.head + 512;
  const FarFloats value{count};
  const FarFloats gradient{count};
  if (value.data() == nullptr || gradient.data() == nullptr)
    GTEST_SKIP() << "no addresses without memory";
  scene.for_each_value(
      [&](std::size_t index, std::ptrdiff_t place) { value.data()[place] = scene.value[index]; },
      strides);
  slots::MsDeformAttn<float> call = scene.call();
  call.value = value.data();
  call.value_strides = strides;
  const Floats expected = scene.oracle<float>();
  const Floats expected_gradient = scene.oracle_backward<float>().value;
  Pools pools;
  pools.for_each_set([&](const Execution& execution) {
    Floats output(expected.size(), nan);
    ms_deform_attn(call, output, execution);
    expect_same(output, expected);
    Floats of_locations(scene.locations.size());
    Floats of_weights(scene.weights.size());
    ms_deform_attn_backward(call, scene.grad_output,
                            {.value = gradient.data(),
                             .value_strides = strides,
                             .locations = of_locations,
                             .weights = of_weights},
                            execution);
    Floats dense(scene.value.size());
    scene.for_each_value(
        [&](std::size_t index, std::ptrdiff_t place) { dense[index] = gradient.data()[place]; },
        strides);
    expect_same(dense, expected_gradient);
  });
}

TEST(FarStrides, ScalesOfRowsAreFoundBeyondThirtyTwoBits) {
  constexpr std::size_t rows = 3;
  constexpr std::size_t columns = 128;
  const FarFloats scale{2 * (two_to_the_31 + 64) + 1};
  if (scale.data() == nullptr)
    GTEST_SKIP() << "no addresses without memory";
  for (const std::ptrdiff_t row : {0, 1, 2})
    scale.data()[row * (two_to_the_31 + 64)] = 0.1F * static_cast<float>(row + 1);
  const Floats weight = values(rows * columns, 55);
  const slots::FakeQuantIntGrouped call{
      .weight = weight,
      .rows = rows,
      .columns = columns,
      .scale = {.data = scale.data(), .row_stride = two_to_the_31 + 64}};
  const std::array near{0.1F * 1.0F, 0.1F * 2.0F, 0.1F * 3.0F};
  slots::FakeQuantIntGrouped dense = call;
  dense.scale = {.data = near.data(), .row_stride = 1};
  Floats expected(weight.size());
  reference::fake_quant_int_grouped(dense, expected);
  Pools pools;
  pools.for_each_set([&](const Execution& execution) {
    Floats output(weight.size(), nan);
    fake_quant_int_grouped(call, output, execution);
    expect_same(output, expected);
  });
}

}  // namespace
}  // namespace lyk::cpu::test
