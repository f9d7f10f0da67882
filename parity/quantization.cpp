#include "parity/quantization.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "parity/shapes.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

constexpr std::array finite_specials{0.0F,   -0.0F,  1e-45F,  -3e-39F, 1e-20F, -1e-12F, 3e4F,
                                     -6e4F,  1e20F,  0x1p25F, 3.3e38F, -3e38F, 448.0F,  -0x1p-10F,
                                     1e-30F, 127.5F, -128.5F, 0.5F,    -2.5F};
constexpr std::array all_specials{0.0F,   -0.0F,  1e-45F,  infinity, 1e-20F,   -1e-12F, nan,
                                  -6e4F,  1e20F,  0x1p25F, 3.3e38F,  -3e38F,   448.0F,  -infinity,
                                  1e-30F, 127.5F, -128.5F, nan,      -0x1p-10F};
constexpr std::array both_zeros{0.0F, -0.0F};

// How much of a model's tensor a small set has: a few groups and channels.
constexpr std::int64_t small_columns = 256;
constexpr std::int64_t small_elements = 768;

Shape part_of(Shape shape) {
  std::int64_t inside = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const bool is_last = i + 1 == shape.size();
    const std::int64_t room =
        is_last ? small_columns : std::max<std::int64_t>(small_elements / inside, 1);
    shape[i] = std::min(shape[i], room);
    inside *= shape[i];
  }
  return shape;
}

void put_among(Floats& values, Random& random, std::span<const float> specials) {
  constexpr std::size_t distance = 23;
  std::size_t next = random.bits() % specials.size();
  for (std::size_t i = random.bits() % distance; i < values.size(); i += distance + i % 5)
    values[i] = specials[next++ % specials.size()];
  // A tensor that is shorter than the distance has one all the same.
  if (values.size() < distance && !values.empty())
    values[random.bits() % values.size()] = specials[next % specials.size()];
}

Floats filled(Random& random, Filling filling, std::size_t count, double deviation) {
  Floats out(count);
  for (std::size_t i = 0; i < count; ++i)
    switch (filling) {
      case Filling::normal:
      case Filling::awkward:
      case Filling::not_finite:
        out[i] = static_cast<float>(random.normal() * deviation);
        break;
      case Filling::zeros:
        out[i] = both_zeros[random.bits() % both_zeros.size()];
        break;
      case Filling::denormals:
        out[i] = static_cast<float>(random.uniform(-1, 1) * 0x1p-126);
        break;
    }
  if (filling == Filling::awkward)
    put_among(out, random, finite_specials);
  if (filling == Filling::not_finite)
    put_among(out, random, all_specials);
  return out;
}

// A gradient has what trips formulas up where the tensor has it, though not at the same places.
Filling filling_of_gradient(Filling filling) {
  switch (filling) {
    case Filling::normal:
    case Filling::zeros:
    case Filling::denormals:
      return Filling::normal;
    case Filling::awkward:
    case Filling::not_finite:
      return Filling::not_finite;
  }
  return filling;
}

Body model(std::string_view kind, Shape shape, double deviation) {
  std::string name = str(kind, ' ', shape_text(shape));
  return {.name = std::move(name),
          .shape = std::move(shape),
          .origin = Origin::model,
          .deviation = deviation};
}

std::vector<Body> models(std::string_view kind, std::span<const Shape> shapes, double deviation) {
  std::vector<Body> out;
  out.reserve(shapes.size());
  for (const Shape& shape : shapes)
    out.push_back(model(kind, shape, deviation));
  return out;
}

Tensor tensor_of(std::string_view name, const Body& body, const Inputs& in, const Floats& values) {
  return float_tensor(name, body.type, in.shape, values);
}

Expected expect(std::size_t tensor, const Body& body, const Floats& values) {
  Expected out{tensor, {}, bit_for_bit};
  out.values.reserve(values.size());
  for (const float value : values)
    out.values.push_back(rounded_to(body.type, value));
  return out;
}

}  // namespace

// ---- inputs

Inputs draw(std::string_view slot, const Body& body, Extent extent) {
  const bool is_part = extent == Extent::small && body.origin == Origin::model;
  Inputs in{.random = Random{str(slot, ':', body.name)},
            .shape = is_part ? part_of(body.shape) : body.shape,
            .x = {},
            .grad_output = {}};
  const std::size_t count = element_count(in.shape);
  in.x = body.given.empty() ? filled(in.random, body.filling, count, body.deviation) : body.given;
  LYK_CHECK(in.x.size() == count);
  in.grad_output = filled(in.random, filling_of_gradient(body.filling), count, 1);
  for (Floats* values : {&in.x, &in.grad_output})
    for (float& value : *values)
      value = rounded_to(body.type, value);
  return in;
}

std::vector<Body> linear_weight_bodies(double deviation) {
  std::vector<Body> out;
  for (const auto& [rows, columns] : linear_weights())
    out.push_back(model("linear", signed_shape({rows, columns}), deviation));
  return out;
}

std::vector<Body> linear_activation_bodies(double deviation) {
  std::vector<Body> out;
  for (const auto& [windows, tokens, columns] : linear_activations())
    out.push_back(model("activation", signed_shape({windows, tokens, columns}), deviation));
  out.push_back(model("activation", {8, 300, 2048}, deviation));
  return out;
}

std::vector<Body> conv_weight_bodies(double deviation) {
  const std::array<Shape, 3> shapes{{{64, 32, 3, 3}, {256, 256, 3, 3}, {512, 256, 1, 1}}};
  return models("convolution", shapes, deviation);
}

std::vector<Body> conv_activation_bodies(double deviation) {
  const std::array<Shape, 3> shapes{{{1, 64, 160, 160}, {1, 512, 20, 20}, {8, 128, 40, 40}}};
  return models("map", shapes, deviation);
}

std::vector<Body> odd_bodies(double deviation) {
  const std::array<Shape, 8> shapes{
      {{1, 1}, {7, 1}, {1, 300}, {3, 20}, {5, 48}, {4, 100}, {2, 3, 33}, {3, 257}}};
  const std::array<Shape, 3> large{{{1, 70001}, {70001, 1}, {300, 257}}};
  std::vector<Body> out = models("odd", shapes, deviation);
  for (Body& body : out)
    body.origin = Origin::edge;
  append(out, models("odd", large, deviation));
  return out;
}

std::vector<Body> filled_bodies(double deviation) {
  const Shape shape{5, 100};
  return {{.name = "zeros", .shape = shape, .filling = Filling::zeros},
          {.name = "denormals", .shape = shape, .filling = Filling::denormals},
          {.name = "awkward numbers",
           .shape = shape,
           .filling = Filling::awkward,
           .deviation = deviation},
          {.name = "infinities and not numbers",
           .shape = shape,
           .filling = Filling::not_finite,
           .deviation = deviation}};
}

Body given_body(std::string name, Floats values) {
  Body out;
  out.name = std::move(name);
  out.shape = {1, static_cast<std::int64_t>(values.size())};
  out.given = std::move(values);
  return out;
}

void append(std::vector<Body>& bodies, std::vector<Body> more) {
  std::move(more.begin(), more.end(), std::back_inserter(bodies));
}

std::vector<float> around(float value) {
  return {std::nextafter(value, -infinity), value, std::nextafter(value, infinity)};
}

Floats odd_scales(Random& random, std::size_t count) {
  constexpr std::array odd{0.0F, 1e-13F, -0.25F, infinity, 1e-39F, nan, 3e38F};
  Floats out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = i % 2 == 0 ? odd[i / 2 % odd.size()] : static_cast<float>(random.uniform(0.001, 0.05));
  return out;
}

slots::ChannelAxis channels_of(const Shape& shape, std::size_t axis) {
  slots::ChannelAxis out{.outer = 1, .channels = 1, .inner = 1};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto size = static_cast<std::size_t>(shape[i]);
    if (i < axis)
      out.outer *= size;
    else if (i == axis)
      out.channels *= size;
    else
      out.inner *= size;
  }
  return out;
}

Floats greatest_magnitudes(std::span<const float> values, const slots::ChannelAxis& axis) {
  Floats out(axis.channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& greatest = out[axis.channel_of(i)];
    greatest = std::max(greatest, std::abs(values[i]));
  }
  return out;
}

// ---- calls

slots::ScalarDivision scalar_division(Implementation implementation) {
  return implementation == Implementation::cpu ? slots::ScalarDivision::ieee
                                               : slots::ScalarDivision::reciprocal;
}

slots::CodeOverflow code_overflow(Implementation implementation) {
  return implementation == Implementation::cpu ? slots::CodeOverflow::lowest
                                               : slots::CodeOverflow::saturate;
}

slots::NanAsInteger nan_as_integer(Implementation implementation) {
  return implementation == Implementation::cpu ? slots::NanAsInteger::lowest
                                               : slots::NanAsInteger::zero;
}

Case fake_quant_case(const Body& body, const Inputs& in, Beside beside, const Answers& answers) {
  Call forward{.pass = "forward",
               .operation = LYK_FORWARD,
               .flags = LYK_NEEDS_GRADIENT,
               .tensors = {tensor_of(beside.input, body, in, in.x)},
               .parameters = std::move(beside.parameters),
               .expected = {}};
  std::move(beside.more.begin(), beside.more.end(), std::back_inserter(forward.tensors));
  Call backward = forward;
  backward.pass = "backward";
  backward.operation = LYK_BACKWARD;
  backward.flags = 0;

  const std::size_t inputs = forward.tensors.size();
  forward.tensors.emplace_back(unwritten_tensor("output", in.shape, body.type));
  forward.expected.push_back(expect(inputs, body, answers.output));
  backward.tensors.emplace_back(tensor_of("grad_output", body, in, in.grad_output));
  backward.tensors.emplace_back(
      unwritten_tensor(beside.input == "x" ? "grad_x" : "grad_weight", in.shape, body.type));
  backward.expected.push_back(expect(inputs + 1, body, answers.gradient));
  return {.name = body.name, .calls = {std::move(forward), std::move(backward)}};
}

}  // namespace lyk::parity
