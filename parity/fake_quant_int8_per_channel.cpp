// The parity set of fake_quant_int8_per_channel: weights with scales of their own and with frozen
// ones, channels along every axis, scales that are none, and the ties at the ends of the codes.
#include "kernels/reference/fake_quant_int8_per_channel.hpp"

#include <utility>

#include "parity/quantization.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view slot = "fake_quant_int8_per_channel";

enum class Scales : std::uint8_t {
  own,
  frozen,  // three quarters of the own one, so that some values clip
  odd,
  given,
};

struct Row {
  Body body;
  Scales scales = Scales::own;
  std::size_t axis = 0;
  Floats scale{};  // Scales::given
};

// A gradient passes up to the ties at the ends of the codes, of which the upper one is beyond and
// the lower one is not. Products with a reciprocal are rounded onto them for some of the scales.
Row ends_of_codes() {
  constexpr std::size_t count = 32;
  Random random{str(slot, ":scales of the ends")};
  Row out{.body = {.name = "ties at the ends of the codes", .shape = {count, 6}},
          .scales = Scales::given,
          .scale = {1, 0.5F}};
  while (out.scale.size() < count)
    out.scale.push_back(static_cast<float>(random.uniform(0.01, 0.05)));
  for (const float scale : out.scale)
    for (const float end : {127.5F, -128.5F})
      for (const float value : around(end * scale))
        out.body.given.push_back(value);
  return out;
}

// Code 1 times these scales is half-way between two bfloat16, below an even one and below an odd
// one.
Row ties_of_bfloat16() {
  return {.body = {.name = "ties of bfloat16",
                   .shape = {2, 5},
                   .given = Floats(10, 1.0F),
                   .type = ElementType::bfloat16},
          .scales = Scales::given,
          .scale = {0x1.01p+0F, 0x1.03p+0F}};
}

// Of 16 bits, which `cpu` does not take, with a scale: without one PyTorch makes it in 16 bits.
std::vector<Row> rows_of_16_bits() {
  std::vector<Row> out;
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
    out.push_back({.body = {.name = str("linear 384 x 384 in ", name(type)),
                            .shape = {384, 384},
                            .origin = Origin::model,
                            .deviation = 0.05,
                            .type = type},
                   .scales = Scales::frozen});
    out.push_back({.body = {.name = str("odd scales in ", name(type)),
                            .shape = {9, 37},
                            .filling = Filling::not_finite,
                            .type = type},
                   .scales = Scales::odd});
  }
  out.push_back(ties_of_bfloat16());
  return out;
}

std::vector<Row> rows(Implementation implementation) {
  constexpr double deviation = 0.05;
  std::vector<Row> out;
  const auto add = [&](std::vector<Body> bodies, Scales scales, std::size_t axis = 0) {
    for (Body& body : bodies) {
      if (scales == Scales::frozen)
        body.name += ", frozen scale";
      out.push_back({.body = std::move(body), .scales = scales, .axis = axis});
    }
  };
  for (const Scales scales : {Scales::own, Scales::frozen}) {
    add(linear_weight_bodies(deviation), scales);
    add(conv_weight_bodies(deviation), scales);
    add(odd_bodies(deviation), scales);
    add(filled_bodies(deviation), scales);
    add({{.name = "one dimension", .shape = {33}}}, scales);
    add({{.name = "channels in the middle", .shape = {3, 4, 9}},
         {.name = "channels of planes", .shape = {2, 5, 8, 8}},
         {.name = "channels last", .shape = {50, 6}, .filling = Filling::awkward}},
        scales, 1);
  }
  // Longer than what a block of threads keeps in its registers.
  add({{.name = "a long row", .shape = {1, 19187}, .origin = Origin::model},
       {.name = "long rows", .shape = {2, 19187}}},
      Scales::own);
  add({{.name = "odd scales", .shape = {19, 40}, .filling = Filling::not_finite}}, Scales::odd);
  add({{.name = "odd scales in the middle", .shape = {3, 19, 3}, .filling = Filling::not_finite}},
      Scales::odd, 1);
  out.push_back(ends_of_codes());
  if (implementation != Implementation::cpu)
    for (Row& row : rows_of_16_bits())
      out.push_back(std::move(row));
  return out;
}

Floats frozen_scales(const Inputs& in, const slots::ChannelAxis& axis) {
  constexpr float share = 0.75F;
  constexpr float highest_code = 127;
  Floats out = greatest_magnitudes(in.x, axis);
  for (float& each : out)
    each = each / highest_code * share;
  return out;
}

Floats scales_of(const Row& row, Inputs& in, const slots::ChannelAxis& axis) {
  switch (row.scales) {
    case Scales::own:
      return {};
    case Scales::frozen:
      return frozen_scales(in, axis);
    case Scales::odd:
      return odd_scales(in.random, axis.channels);
    case Scales::given:
      return row.scale;
  }
  return {};
}

std::shared_ptr<const void> make_parameters(std::size_t axis) {
  lyk_fake_quant_int8_per_channel_parameters out{};
  out.size = sizeof(out);
  out.channel_axis = static_cast<std::int64_t>(axis);
  return std::make_shared<lyk_fake_quant_int8_per_channel_parameters>(out);
}

std::size_t count_cases(Implementation implementation) {
  return rows(implementation).size();
}

Case make_case(std::size_t index, Extent extent, Implementation implementation) {
  const std::vector<Row> all = rows(implementation);
  LYK_CHECK(index < all.size());
  const Row& row = all[index];
  Inputs in = draw(slot, row.body, extent);
  const slots::ChannelAxis axis = channels_of(in.shape, row.axis);
  const Floats scale = scales_of(row, in, axis);
  Beside beside{.input = "weight", .more = {std::nullopt}, .parameters = make_parameters(row.axis)};
  if (row.scales != Scales::own)
    beside.more = {float_tensor("scale", {static_cast<std::int64_t>(scale.size())}, scale)};
  const Answers answers = answers_of<slots::FakeQuantInt8PerChannel>(
      {reference::fake_quant_int8_per_channel, reference::fake_quant_int8_per_channel_backward},
      {.weight = in.x,
       .axis = axis,
       .scale = scale,
       .scalar_division = scalar_division(implementation),
       .overflow = code_overflow(implementation)},
      in);
  return fake_quant_case(row.body, in, std::move(beside), answers);
}

}  // namespace

const Set fake_quant_int8_per_channel_set{.slot = slot, .count = count_cases, .make = make_case};

}  // namespace lyk::parity
