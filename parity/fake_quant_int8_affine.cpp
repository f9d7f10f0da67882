// The parity set of fake_quant_int8_affine: activations in a calibrated range that clips some of
// them, ranges of every kind, and the places where one rounding decides.
#include "kernels/reference/fake_quant_int8_affine.hpp"

#include <array>
#include <limits>
#include <utility>

#include "parity/quantization.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view slot = "fake_quant_int8_affine";
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Range {
  float lo = -2.5F;  // LibreYOLO's harness
  float hi = 3.25F;
};

struct Row {
  Body body;
  Range range{};
};

std::string text(const Range& range) {
  return str(shortest(double{range.lo}), " to ", shortest(double{range.hi}));
}

// The tie beside each of `codes` codes on either side of zero, and the floats beside it.
Row ties(const Range& range, int codes) {
  Floats x;
  const float step = (range.hi - range.lo) / 255;
  for (int code = -codes; code < codes; ++code)
    for (const float value : around((static_cast<float>(code) + 0.5F) * step))
      x.push_back(value);
  return {given_body(str("ties, ", text(range)), std::move(x)), range};
}

// Ranges whose zero point, -128 - lo / scale, is at a tie after two roundings and is not before:
// one way in the first four, for another rounding of the quotient, and of the difference in the
// others. Around the ties of x in them the reciprocal and the product decide likewise.
constexpr std::array<Range, 8> deciding_ranges{{{-0x1.42f13ap+2F, 0x1.687664p+2F},
                                                {-0x1.7fe30ep+2F, 0x1.62301p+1F},
                                                {-0x1.10fed8p+2F, 0x1.9ae68p+1F},
                                                {-0x1.52438ap+1F, 0x1.673f7ap-1F},
                                                {-0x1.d73986p-1F, 0x1.b190b8p+2F},
                                                {-0x1.8de556p-2F, 0x1.0e155cp+2F},
                                                {-0x1.1dc58p+0F, 0x1.e91bdap+2F},
                                                {-0x1.90aee8p-2F, 0x1.9e57ccp+1F}}};

constexpr std::array<Range, 13> awkward_ranges{{{0, 0},
                                                {1, 2},
                                                {-3, -1},
                                                {-1e-13F, 1e-14F},
                                                {-1.75F, 1e30F},
                                                {nan, 1},
                                                {-1, nan},
                                                {-infinity, 1},
                                                {0, infinity},
                                                {-0.0F, 0.5F},
                                                {-3e38F, 3e38F},
                                                {-127.5F, 127.5F},
                                                {-0.25F, 0.125F}}};

// Those of 16 bits come last: `cpu` does not take them.
std::vector<Body> bodies_of_16_bits(ElementType type) {
  std::vector<Body> out;
  for (const Filling filling : {Filling::normal, Filling::not_finite}) {
    const std::string_view kind = filling == Filling::normal ? "numbers" : "awkward numbers";
    out.push_back({.name = str(kind, " in ", name(type)),
                   .shape = {3, 107},
                   .filling = filling,
                   .deviation = 2,
                   .type = type});
  }
  out.push_back({.name = str("activation 1 x 1300 x 384 in ", name(type)),
                 .shape = {1, 1300, 384},
                 .origin = Origin::model,
                 .deviation = 2,
                 .type = type});
  return out;
}

std::vector<Row> rows(Implementation implementation) {
  std::vector<Body> bodies;
  for (auto* const make :
       {linear_activation_bodies, conv_activation_bodies, odd_bodies, filled_bodies})
    append(bodies, make(2));
  for (const int size : {2, 5, 4099})
    bodies.push_back({.name = str("vector of ", size), .shape = {size}, .deviation = 2});
  std::vector<Row> out;
  out.reserve(bodies.size());
  for (Body& body : bodies)
    out.push_back({std::move(body), {}});
  for (const Range& range : awkward_ranges)
    out.push_back({{.name = str("range ", text(range)),
                    .shape = {301},
                    .filling = Filling::not_finite,
                    .deviation = 2},
                   range});
  out.push_back(ties({-64, 63.5F}, 130));
  for (const Range& range : deciding_ranges)
    out.push_back(ties(range, 140));
  if (implementation != Implementation::cpu)
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
      for (Body& body : bodies_of_16_bits(type))
        out.push_back({std::move(body), {}});
  return out;
}

std::size_t count_cases(Implementation implementation) {
  return rows(implementation).size();
}

Case make_case(std::size_t index, Extent extent, Implementation implementation) {
  const std::vector<Row> all = rows(implementation);
  LYK_CHECK(index < all.size());
  const auto& [body, range] = all[index];
  const Inputs in = draw(slot, body, extent);
  const Answers answers = answers_of<slots::FakeQuantInt8Affine>(
      {reference::fake_quant_int8_affine, reference::fake_quant_int8_affine_backward},
      {.x = in.x,
       .lo = range.lo,
       .hi = range.hi,
       .scalar_division = scalar_division(implementation),
       .nan_as_integer = nan_as_integer(implementation)},
      in);
  return fake_quant_case(body, in,
                         {.input = "x",
                          .more = {float_tensor("lo", {1}, std::span{&range.lo, 1}),
                                   float_tensor("hi", {1}, std::span{&range.hi, 1})}},
                         answers);
}

}  // namespace

const Set fake_quant_int8_affine_set{.slot = slot, .count = count_cases, .make = make_case};

}  // namespace lyk::parity
