// The quantization slots on CUDA on a grid that is too small for them, bit for bit with the oracle:
// every loop over a grid goes round several times.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/reference/fake_quant_fp8.hpp"
#include "kernels/reference/fake_quant_int8_affine.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "tests/cuda/elements.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;
using Sizes = std::vector<std::size_t>;
using slots::ScalarDivision;

constexpr cuda::Grid small_grid{.x = 2, .threads = 64};
constexpr std::uint64_t order = thread_orders[1];
constexpr std::size_t output_shift = 1;
// Of what is read: as the output, for quads with elements before and after them, and otherwise, for
// elements alone.
const Sizes input_shifts{output_shift, 2};

// What a kernel with `call.output` writes there.
template <typename Call>
Floats output_of(SoftDevice& device, const std::string& kernel, Call call, std::size_t elements) {
  call.output = device.allocate<float>(elements, output_shift);
  device.run(kernel, small_grid, call);
  return device.get<float>(call.output, elements);
}

// Both directions of a slot on the oracle.
template <typename Slot>
struct Expected {
  using Forward = void (*)(const Slot&, std::span<float>);
  using Backward = void (*)(const Slot&, std::span<const float>, std::span<float>);

  Expected(const Slot& slot, const Floats& gradient_of_output, Forward forward, Backward backward)
      : output(gradient_of_output.size()), gradient(gradient_of_output.size()) {
    forward(slot, output);
    backward(slot, gradient_of_output, gradient);
  }

  Floats output;
  Floats gradient;
};

// ---- one scale, or one for each channel -------------------------------------------------------

TEST(FakeQuantInt8AffineOnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  const Floats x = awkward_floats(5003, 41);
  const Floats gradient = awkward_floats(x.size(), 42);
  const Expected<slots::FakeQuantInt8Affine> expected{
      {.x = x, .lo = -2.5F, .hi = 3.25F, .scalar_division = ScalarDivision::reciprocal},
      gradient,
      reference::fake_quant_int8_affine,
      reference::fake_quant_int8_affine_backward};
  for (const std::size_t shift : input_shifts) {
    SoftDevice device{order};
    const cuda::Int8Affine call{.x = device.put(x, shift),
                                .grad_output = device.put(gradient, shift),
                                .lo = device.put(Floats{-2.5F}),
                                .hi = device.put(Floats{3.25F}),
                                .elements = x.size()};
    const std::string name = "lyk_fake_quant_int8_affine_";
    expect_same(output_of(device, name + "forward_f32", call, x.size()), expected.output);
    expect_same(output_of(device, name + "backward_f32", call, x.size()), expected.gradient);
  }
}

TEST(FakeQuantFp8OnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  const slots::ChannelAxis axis{3, 5, 341};
  const Floats x = awkward_floats(axis.elements(), 43);
  const Floats scale{0.02F, 0.5F, 0.0031F, 7, 0.11F};
  Floats expected(x.size());
  reference::fake_quant_fp8({.x = x, .axis = axis, .scale = scale}, expected);
  for (const std::size_t shift : input_shifts) {
    SoftDevice device{order};
    const cuda::Fp8 call{.x = device.put(x, shift),
                         .scale = device.put(scale),
                         .elements = x.size(),
                         .inner = cuda::divisor_of(axis.inner),
                         .channels = cuda::divisor_of(axis.channels)};
    expect_same(output_of(device, "lyk_fake_quant_fp8_forward_f32", call, x.size()), expected);
  }
}

struct ChannelWeight {
  explicit ChannelWeight(const slots::ChannelAxis& along, Floats given = {})
      : axis(along),
        weight(awkward_floats(axis.elements(), 44)),
        gradient(awkward_floats(axis.elements(), 45)),
        scale(std::move(given)),
        expected({.weight = weight,
                  .axis = axis,
                  .scale = scale,
                  .scalar_division = ScalarDivision::reciprocal,
                  .overflow = slots::CodeOverflow::saturate},
                 gradient,
                 reference::fake_quant_int8_per_channel,
                 reference::fake_quant_int8_per_channel_backward) {}

  // `at`: where the weight lies.
  cuda::Int8PerChannel call(SoftDevice& device, const float* at, std::size_t shift) const {
    return {.weight = at,
            .grad_output = device.put(gradient, shift),
            .scale = scale.empty() ? nullptr : device.put(scale),
            .elements = weight.size(),
            .inner = cuda::divisor_of(axis.inner),
            .channels = cuda::divisor_of(axis.channels)};
  }

  // `rows`: "", or "_rows" of the kernels that find the scale of a row themselves.
  void expect(SoftDevice& device, const cuda::Int8PerChannel& call, const std::string& rows) const {
    const std::string name = "lyk_fake_quant_int8_per_channel_";
    const std::size_t count = weight.size();
    expect_same(output_of(device, name + "forward" + rows + "_f32", call, count), expected.output);
    expect_same(output_of(device, name + "backward" + rows + "_f32", call, count),
                expected.gradient);
  }

  slots::ChannelAxis axis;
  Floats weight;
  Floats gradient;
  Floats scale;
  Expected<slots::FakeQuantInt8PerChannel> expected;
};

TEST(FakeQuantInt8PerChannelOnCuda, EqualsTheOracleInManyRoundsWithAGivenScale) {
  const ChannelWeight given{{3, 5, 341}, {0.02F, 0.5F, 0.0031F, 7, 0.11F}};
  for (const std::size_t shift : input_shifts) {
    SoftDevice device{order};
    given.expect(device, given.call(device, device.put(given.weight, shift), shift), "");
  }
}

// More rows than blocks, and rows that are several times what a block keeps of one.
TEST(FakeQuantInt8PerChannelOnCuda, EqualsTheOracleInManyRoundsOverRows) {
  for (const slots::ChannelAxis& axis :
       std::vector<slots::ChannelAxis>{{1, 9, 37}, {1, 3, 3 * 1024 + 3}})
    for (const std::size_t shift : input_shifts) {
      const ChannelWeight given{axis};
      SoftDevice device{order};
      given.expect(device, given.call(device, device.put(given.weight, shift), shift), "_rows");
    }
}

TEST(FakeQuantInt8PerChannelOnCuda, EqualsTheOracleInManyRoundsOverScatteredChannels) {
  const ChannelWeight given{{9, 61, 5}};
  SoftDevice device{order};
  const float* const at = device.put(given.weight, output_shift);
  cuda::Int8PerChannel call = given.call(device, at, output_shift);
  std::uint32_t* const amax = device.put(std::vector<std::uint32_t>(given.axis.channels));
  device.run("lyk_fake_quant_int8_per_channel_amax_f32", small_grid,
             cuda::Amax{.x = at,
                        .amax = amax,
                        .elements = call.elements,
                        .inner = call.inner,
                        .channels = call.channels});
  call.amax = amax;
  given.expect(device, call, "");
}

// ---- groups of a row --------------------------------------------------------------------------

TEST(FakeQuantIntGroupedOnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  constexpr std::size_t rows = 11;
  constexpr std::size_t columns = 301;
  const Floats weight = awkward_floats(rows * columns, 46);
  for (const std::uint32_t group_size : {16U, 20U}) {
    Floats expected(weight.size());
    reference::fake_quant_int_grouped({.weight = weight,
                                       .rows = rows,
                                       .columns = columns,
                                       .group_size = group_size,
                                       .scalar_division = ScalarDivision::reciprocal},
                                      expected);
    SoftDevice device{order};
    cuda::IntGrouped call{
        .weight = device.put(weight), .group_size = group_size, .highest_code = 7};
    cuda::set_shape(call, rows, columns);
    const std::string name = cuda::is_group_of_quads(group_size)
                                 ? "lyk_fake_quant_int_grouped_forward_f32"
                                 : "lyk_fake_quant_int_grouped_forward_any_f32";
    expect_same(output_of(device, name, call, weight.size()), expected);
  }
}

// Both directions of one family with blocks of `width`.
template <typename Slot>
void expect_blocks(SoftDevice& device,
                   cuda::E2m1Blocks call,
                   const std::string& family,
                   const Floats& gradient,
                   const Expected<Slot>& expected) {
  call.grad_output = device.put(gradient);
  const std::string name = "lyk_fake_quant_" + family;
  expect_same(output_of(device, name + "_forward_f32", call, gradient.size()), expected.output);
  expect_same(output_of(device, name + "_backward_f32", call, gradient.size()), expected.gradient);
}

TEST(FakeQuantNvfp4OnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  constexpr std::size_t rows = 11;
  constexpr std::size_t columns = 301;
  const Floats x = normal_floats(rows * columns, 47);
  const Floats gradient = awkward_floats(x.size(), 48);
  const Expected<slots::FakeQuantNvfp4Dynamic> expected{
      {.x = x, .rows = rows, .columns = columns, .scalar_division = ScalarDivision::reciprocal},
      gradient,
      reference::fake_quant_nvfp4_dynamic,
      reference::fake_quant_nvfp4_dynamic_backward};
  for (const std::size_t shift : Sizes{0, 1}) {
    SoftDevice device{order};
    std::uint32_t* const amax = device.put(std::vector<std::uint32_t>(1));
    const float* const at = device.put(x, shift);
    device.run("lyk_fake_quant_nvfp4_dynamic_amax_f32", small_grid,
               cuda::Amax{.x = at, .amax = amax, .elements = x.size()});
    expect_blocks(device,
                  {.x = at,
                   .tensor_amax = reinterpret_cast<const float*>(amax),
                   .shape = cuda::grouped_rows(rows, columns, slots::nvfp4_block)},
                  "nvfp4", gradient, expected);
  }
}

TEST(FakeQuantMxfp4OnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  constexpr std::size_t rows = 11;
  constexpr std::size_t columns = 301;
  const Floats x = awkward_floats(rows * columns, 49);
  const Floats gradient = awkward_floats(x.size(), 50);
  SoftDevice device{order};
  expect_blocks(
      device, {.x = device.put(x), .shape = cuda::grouped_rows(rows, columns, slots::mxfp4_block)},
      "mxfp4", gradient,
      Expected<slots::FakeQuantMxfp4>{{.x = x, .rows = rows, .columns = columns},
                                      gradient,
                                      reference::fake_quant_mxfp4,
                                      reference::fake_quant_mxfp4_backward});
}

// ---- unpack -----------------------------------------------------------------------------------

Bytes codes(std::size_t count) {
  Bytes out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
  return out;
}

TEST(UnpackIntGroupedOnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  constexpr std::size_t rows = 7;
  constexpr std::size_t columns = 301;
  constexpr std::size_t groups = 19;
  constexpr std::size_t row_bytes = 16 * groups / 2;
  const Bytes payload = codes(rows * row_bytes);
  const Floats scale = normal_floats(rows * groups, 51);
  Floats expected(rows * columns);
  reference::unpack_int_grouped({.payload = payload,
                                 .rows = rows,
                                 .row_bytes = row_bytes,
                                 .columns = columns,
                                 .bits = 4,
                                 .group_size = 16,
                                 .scale = {scale.data(), groups, 1}},
                                expected);
  SoftDevice device{order};
  const cuda::UnpackIntGrouped call{.payload = device.put(payload),
                                    .scale = device.put(scale),
                                    .scale_row_stride = groups,
                                    .scale_group_stride = 1,
                                    .rows = rows,
                                    .columns = columns,
                                    .row_bytes = row_bytes,
                                    .quads_per_row = cuda::divisor_of(76),
                                    .group_size = cuda::divisor_of(16)};
  expect_same(output_of(device, "lyk_unpack_int_grouped_forward_f32", call, expected.size()),
              expected);
}

TEST(UnpackNvfp4OnCuda, EqualsTheOracleInManyRoundsOfItsGrid) {
  constexpr std::size_t rows = 7;
  constexpr std::size_t columns = 301;
  constexpr std::size_t blocks = 19;
  const Bytes payload = codes(rows * blocks * 8);
  const Bytes block_scale = codes(rows * blocks);
  Floats expected(rows * columns);
  reference::unpack_nvfp4({.payload = payload,
                           .rows = rows,
                           .blocks = blocks,
                           .columns = columns,
                           .block_scale_e4m3 = block_scale,
                           .tensor_amax = 1.7F,
                           .scalar_division = ScalarDivision::reciprocal},
                          expected);
  SoftDevice device{order};
  const cuda::UnpackNvfp4 call{.payload = device.put(payload),
                               .block_scale_e4m3 = device.put(block_scale),
                               .tensor_amax = device.put(Floats{1.7F}),
                               .rows = rows,
                               .columns = columns,
                               .blocks = blocks,
                               .quads_per_row = cuda::divisor_of(76)};
  expect_same(output_of(device, "lyk_unpack_nvfp4_forward_f32", call, expected.size()), expected);
}

}  // namespace
}  // namespace lyk::test
