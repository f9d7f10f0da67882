// The parity set of fake_quant_fp8: weights with a scale for each channel, activations with one for
// all of them, scales that are too small or none, and every code of E4M3 with its midpoints.
#include "kernels/reference/fake_quant_fp8.hpp"

#include <utility>

#include "kernels/reference/e4m3.hpp"
#include "parity/quantization.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view slot = "fake_quant_fp8";

enum class Scales : std::uint8_t { one, of_channels, odd };

struct Row {
  Body body;
  Scales scales = Scales::one;
  std::size_t axis = 0;  // of the channels
  // Of what maps the greatest magnitude to 448. Below a half, values clip beyond twice the
  // greatest.
  float share = 1;
  float given = 0;  // instead of one that follows from x
};

// Every code, every midpoint between two, and the floats beside them, times the scale: a quotient
// that is rounded to a midpoint is not always one.
Row codes(float scale) {
  Floats x;
  for (std::uint8_t code = 0; code < 0x7e; ++code) {
    const float low = reference::e4m3_value(code);
    const float high = reference::e4m3_value(static_cast<std::uint8_t>(code + 1));
    for (const float value : {low, (low + high) / 2})
      for (const float near : around(value))
        x.insert(x.end(), {near * scale, -near * scale});
  }
  return {.body = given_body(str("codes, scale ", shortest(double{scale})), std::move(x)),
          .given = scale};
}

std::vector<Row> rows() {
  constexpr double weight_deviation = 0.05;
  std::vector<Row> out;
  const auto add = [&](std::vector<Body> bodies, Scales scales, std::size_t axis = 0) {
    for (Body& body : bodies)
      out.push_back({.body = std::move(body), .scales = scales, .axis = axis});
  };
  add(linear_weight_bodies(weight_deviation), Scales::of_channels);
  add(conv_weight_bodies(weight_deviation), Scales::of_channels);
  add(linear_activation_bodies(1), Scales::one);
  add(conv_activation_bodies(1), Scales::one);
  add(odd_bodies(1), Scales::one);
  add(filled_bodies(1), Scales::one);
  add({{.name = "odd scales", .shape = {9, 40}, .filling = Filling::not_finite}}, Scales::odd);
  add({{.name = "channels in the middle", .shape = {2, 9, 3}, .filling = Filling::awkward},
       {.name = "channels last", .shape = {40, 9}, .filling = Filling::awkward}},
      Scales::odd, 1);
  out.push_back({.body = {.name = "clipped", .shape = {8, 48}}, .share = 0.3F});
  out.push_back({.body = {.name = "clipped channels", .shape = {8, 48}},
                 .scales = Scales::of_channels,
                 .share = 0.7F});
  out.push_back(codes(1));
  out.push_back(codes(0.037F));
  return out;
}

// What maps the greatest magnitude of each channel to `share` of 448.
Floats scales_of(const Row& row, Inputs& in, const slots::ChannelAxis& axis) {
  if (row.given != 0)
    return {row.given};
  if (row.scales == Scales::odd)
    return odd_scales(in.random, axis.channels);
  Floats greatest = greatest_magnitudes(in.x, axis);
  for (float& each : greatest)
    each = each / reference::e4m3_max * row.share;
  return greatest;
}

std::size_t count_cases(Implementation /*implementation*/) {
  return rows().size();
}

Case make_case(std::size_t index, Extent extent, Implementation /*implementation*/) {
  const std::vector<Row> all = rows();
  LYK_CHECK(index < all.size());
  const Row& row = all[index];
  Inputs in = draw(slot, row.body, extent);
  const bool is_one = row.scales == Scales::one;
  const slots::ChannelAxis axis =
      is_one ? slots::ChannelAxis{.inner = in.x.size()} : channels_of(in.shape, row.axis);
  const Floats scale = scales_of(row, in, axis);
  Shape scale_shape(is_one ? 1 : in.shape.size(), 1);
  scale_shape[is_one ? 0 : row.axis] = static_cast<std::int64_t>(scale.size());
  const Answers answers = answers_of<slots::FakeQuantFp8>(
      {reference::fake_quant_fp8, reference::fake_quant_fp8_backward},
      {.x = in.x, .axis = axis, .scale = scale}, in);
  return fake_quant_case(
      row.body, in, {.input = "x", .more = {float_tensor("scale", std::move(scale_shape), scale)}},
      answers);
}

}  // namespace

const Set fake_quant_fp8_set{.slot = slot, .count = count_cases, .make = make_case};

}  // namespace lyk::parity
