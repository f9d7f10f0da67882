// The parity sets of the four slots that round to E2M1 in blocks: weights and activations, blocks
// that are not full, scales of blocks at and beside every midpoint of E4M3, levels of E2M1 at every
// tie, and greatest magnitudes whose logarithm is rounded up.
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "parity/quantization.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view nvfp4_weight = "fake_quant_nvfp4_weight";
constexpr std::string_view nvfp4_dynamic = "fake_quant_nvfp4_dynamic";
constexpr std::string_view mxfp4_weight = "fake_quant_mxfp4_weight";
constexpr std::string_view mxfp4_dynamic = "fake_quant_mxfp4_dynamic";

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float scale_divisor = 2688;  // of a tensor_amax: the scale of the tensor is then 1

struct Rows {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

Rows rows_of(const Shape& shape) {
  const auto columns = static_cast<std::size_t>(shape.back());
  return {.rows = element_count(shape) / columns, .columns = columns};
}

// ---- rows that all of them have, or both of a kind

std::vector<Body> weights() {
  std::vector<Body> out = linear_weight_bodies(0.05);
  append(out, odd_bodies(0.05));
  append(out, filled_bodies(1));
  return out;
}

std::vector<Body> activations() {
  std::vector<Body> out = linear_activation_bodies(1);
  append(out, odd_bodies(1));
  append(out, filled_bodies(1));
  out.push_back({.name = "vector of 1031", .shape = {1031}});
  return out;
}

// Every level, every midpoint, and what is beside it, where the scale of a block is 1: in blocks of
// `width` whose greatest magnitude is 6.
Body levels(std::size_t width) {
  Floats x;
  for (const float value : {0.0F, 0.25F, 0.5F, 0.75F, 1.0F, 1.25F, 1.5F, 1.75F, 2.0F, 2.5F, 3.0F,
                            3.5F, 4.0F, 5.0F, 6.0F})
    for (const float near : around(value)) {
      if (near > 6)
        continue;
      if (x.size() % width == 0)
        x.push_back(6);
      x.insert(x.end(), {near, -near, -near});
      while (x.size() % width != 0 && x.size() % width > width - 3)
        x.push_back(1e-40F);
    }
  return given_body("levels", std::move(x));
}

// ---- nvfp4

// Blocks whose greatest magnitude is at every midpoint of E4M3, or beside it, from where their
// scale is zero to where it clips.
Body block_scales() {
  Floats x;
  for (const int exponent : {-12, -11, -10, -7, -6, -1, 7, 8, 9})
    for (int sixteenth = 16; sixteenth < 32; ++sixteenth)
      for (const float ratio : around(std::ldexp(static_cast<float>(sixteenth), exponent - 4)))
        for (int i = 0; i < 16; ++i)
          x.push_back(i == 7 ? 6 * ratio : ratio * static_cast<float>(i) / 3);
  return given_body("scales of blocks", std::move(x));
}

// A few of them where the scale of the tensor is no power of two, so that the divisor and the
// quotient are rounded.
Body rounded_block_scales(float tensor_amax) {
  Floats x;
  const float divisor = 6 * (tensor_amax / scale_divisor);
  for (int thirty_second = 33; thirty_second < 64; thirty_second += 2)
    for (const float greatest : around(static_cast<float>(thirty_second) / 32 * divisor))
      for (int i = 0; i < 16; ++i)
        x.push_back(greatest / static_cast<float>(1 + i));
  return given_body(str("rounded scales of blocks, amax ", shortest(double{tensor_amax})),
                    std::move(x));
}

struct WeightRow {
  Body body;
  std::optional<float> amax{};  // absent: the greatest magnitude of the weight, times `share`
  float share = 1;              // less than 1: the weight has grown since
};

std::vector<WeightRow> weight_rows() {
  std::vector<WeightRow> out;
  for (Body& body : weights())
    out.push_back({std::move(body), {}});
  for (const float share : {0.4F, 3.0F})
    out.push_back({.body = {.name = str("amax times ", shortest(double{share})), .shape = {6, 100}},
                   .share = share});
  for (const float amax : {0.0F, 1e-13F, 1e-3F, 30.0F, 1e6F, 3e38F, infinity, nan})
    out.push_back({{.name = str("amax ", shortest(double{amax})),
                    .shape = {3, 160},
                    .filling = Filling::not_finite},
                   amax});
  out.push_back({levels(slots::nvfp4_block), scale_divisor});
  out.push_back({block_scales(), scale_divisor});
  for (const float amax : {4.7F, 0.31F, 77.7F, 1.3F, 900.1F})
    out.push_back({rounded_block_scales(amax), amax});
  return out;
}

std::size_t count_nvfp4_weight(Implementation /*implementation*/) {
  return weight_rows().size();
}

Case make_nvfp4_weight(std::size_t index, Extent extent, Implementation implementation) {
  const std::vector<WeightRow> all = weight_rows();
  LYK_CHECK(index < all.size());
  const WeightRow& row = all[index];
  const Inputs in = draw(nvfp4_weight, row.body, extent);
  const float own = greatest_magnitudes(in.x, {.inner = in.x.size()})[0];
  const float amax = row.amax.value_or(own * row.share);
  const auto [rows, columns] = rows_of(in.shape);
  const Answers answers = answers_of<slots::FakeQuantNvfp4Weight>(
      {reference::fake_quant_nvfp4_weight, reference::fake_quant_nvfp4_weight_backward},
      {.weight = in.x,
       .rows = rows,
       .columns = columns,
       .tensor_amax = amax,
       .scalar_division = scalar_division(implementation)},
      in);
  return fake_quant_case(
      row.body, in,
      {.input = "weight", .more = {float_tensor("tensor_amax", {1}, std::span{&amax, 1})}},
      answers);
}

// The greatest magnitude is that of the whole tensor, so that one odd number is everybody's.
std::vector<Body> nvfp4_dynamic_bodies() {
  std::vector<Body> out = activations();
  for (const float odd : {nan, -infinity, 3e38F, 1e-40F}) {
    Random random{str(nvfp4_dynamic, ":around ", shortest(double{odd}))};
    Floats x(300);
    for (float& each : x)
      each = static_cast<float>(random.normal());
    x[217] = odd;
    out.push_back(given_body(str("one ", shortest(double{odd})), std::move(x)));
  }
  Body scales = block_scales();
  scales.given.back() = scale_divisor;
  out.push_back(std::move(scales));
  return out;
}

std::size_t count_nvfp4_dynamic(Implementation /*implementation*/) {
  return nvfp4_dynamic_bodies().size();
}

Case make_nvfp4_dynamic(std::size_t index, Extent extent, Implementation implementation) {
  const std::vector<Body> all = nvfp4_dynamic_bodies();
  LYK_CHECK(index < all.size());
  const Inputs in = draw(nvfp4_dynamic, all[index], extent);
  const auto [rows, columns] = rows_of(in.shape);
  const Answers answers = answers_of<slots::FakeQuantNvfp4Dynamic>(
      {reference::fake_quant_nvfp4_dynamic, reference::fake_quant_nvfp4_dynamic_backward},
      {.x = in.x,
       .rows = rows,
       .columns = columns,
       .scalar_division = scalar_division(implementation)},
      in);
  return fake_quant_case(all[index], in, {.input = "x"}, answers);
}

// ---- mxfp4

// The floats just below powers of two, one in each row: the logarithm of some is rounded up.
Body logarithms() {
  Floats x;
  for (int exponent = -101; exponent <= 128; exponent += exponent % 16 == 0 ? 1 : 3)
    for (const int below : {0, 1, 2, 3, 5, 6, 11, 12, 22, 23, 44, 45, 46})
      if (const double value = std::ldexp(1.0, exponent) - below * std::ldexp(1.0, exponent - 24);
          value <= std::numeric_limits<float>::max())
        x.push_back(static_cast<float>(value));
  Body out = given_body("logarithms", std::move(x));
  std::swap(out.shape[0], out.shape[1]);
  return out;
}

std::vector<Body> mxfp4_bodies(std::string_view slot) {
  std::vector<Body> out = slot == mxfp4_weight ? weights() : activations();
  out.push_back(levels(slots::mxfp4_block));
  out.push_back(logarithms());
  return out;
}

template <const std::string_view& slot>
std::size_t count_mxfp4(Implementation /*implementation*/) {
  return mxfp4_bodies(slot).size();
}

template <const std::string_view& slot>
Case make_mxfp4(std::size_t index, Extent extent, Implementation /*implementation*/) {
  const std::vector<Body> all = mxfp4_bodies(slot);
  LYK_CHECK(index < all.size());
  const Inputs in = draw(slot, all[index], extent);
  const auto [rows, columns] = rows_of(in.shape);
  const Answers answers = answers_of<slots::FakeQuantMxfp4>(
      {reference::fake_quant_mxfp4, reference::fake_quant_mxfp4_backward},
      {.x = in.x, .rows = rows, .columns = columns}, in);
  return fake_quant_case(all[index], in, {.input = slot == mxfp4_weight ? "weight" : "x"}, answers);
}

}  // namespace

const Set fake_quant_nvfp4_weight_set{
    .slot = nvfp4_weight, .count = count_nvfp4_weight, .make = make_nvfp4_weight};
const Set fake_quant_nvfp4_dynamic_set{
    .slot = nvfp4_dynamic, .count = count_nvfp4_dynamic, .make = make_nvfp4_dynamic};
const Set fake_quant_mxfp4_weight_set{
    .slot = mxfp4_weight, .count = count_mxfp4<mxfp4_weight>, .make = make_mxfp4<mxfp4_weight>};
const Set fake_quant_mxfp4_dynamic_set{
    .slot = mxfp4_dynamic, .count = count_mxfp4<mxfp4_dynamic>, .make = make_mxfp4<mxfp4_dynamic>};

}  // namespace lyk::parity
