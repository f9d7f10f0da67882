// What the parity sets of the quantization slots have in common: how a tensor is filled, and the
// two calls of a case.
//
// Expected is what kernels/reference computes with PyTorch's roundings on the implementation's
// device: on CUDA a division by a number is a multiplication with its reciprocal, and a code that
// is too large saturates; on a CPU neither. The logarithm is the rounded one on both. The bits must
// be the same (bit_for_bit). A set's rows are made anew for each case: they are few and small.
// Thread rule: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/slots/quantization.hpp"
#include "parity/case.hpp"
#include "parity/random.hpp"

namespace lyk::parity {

using Floats = std::vector<float>;
using Shape = std::vector<std::int64_t>;

// ---- inputs

// Normal numbers, and what is put among some of them at a distance at which most groups have none
// and some have several.
enum class Filling : std::uint8_t {
  normal,
  awkward,     // zeros of both signs, denormals, tiny and huge numbers
  not_finite,  // those, infinities and NaN
  zeros,       // nothing but zeros, of both signs
  denormals,   // nothing but denormals
};

// A small set has a part of what models have, and edges as they are.
enum class Origin : std::uint8_t { model, edge };

// A tensor that is quantised, and the gradient that comes back for it.
struct Body {
  std::string name;
  Shape shape;
  Origin origin = Origin::edge;
  Filling filling = Filling::normal;
  double deviation = 1;
  Floats given{};  // instead of a filling: as many as the shape has
  ElementType type = ElementType::float32;
};

struct Inputs {
  Random random;  // for what else the case draws
  Shape shape;
  Floats x;
  Floats grad_output;
};

// From the case's own seed: of slot and name.
Inputs draw(std::string_view slot, const Body& body, Extent extent);

// "linear 384 x 384", "activation 4 x 257 x 384".
std::vector<Body> linear_weight_bodies(double deviation);
std::vector<Body> linear_activation_bodies(double deviation);
std::vector<Body> conv_weight_bodies(double deviation);
std::vector<Body> conv_activation_bodies(double deviation);
// One element, and rows that fill no block, group or vector.
std::vector<Body> odd_bodies(double deviation);
// Fillings that formulas trip over.
std::vector<Body> filled_bodies(double deviation);

// A row of a slot's own numbers.
Body given_body(std::string name, Floats values);

void append(std::vector<Body>& bodies, std::vector<Body> more);

// `value`, and the floats just below and just above it.
std::vector<float> around(float value);

// Every second of them has an odd scale: nothing, below the floor of scales, denormal, negative,
// huge, infinite, NaN.
Floats odd_scales(Random& random, std::size_t count);

// A dense tensor of that shape, along one of its axes.
slots::ChannelAxis channels_of(const Shape& shape, std::size_t axis);

// Of each channel. NaN counts for nothing: what follows from this are scales that are given.
Floats greatest_magnitudes(std::span<const float> values, const slots::ChannelAxis& axis);

// ---- calls

slots::ScalarDivision scalar_division(Implementation implementation);
slots::CodeOverflow code_overflow(Implementation implementation);
slots::NanAsInteger nan_as_integer(Implementation implementation);

template <typename SlotCall>
struct Oracle {
  void (*forward)(const SlotCall& call, std::span<float> output);
  void (*backward)(const SlotCall& call,
                   std::span<const float> grad_output,
                   std::span<float> gradient);
};

struct Answers {
  Floats output;
  Floats gradient;
};

template <typename SlotCall>
Answers answers_of(const Oracle<SlotCall>& oracle, const SlotCall& call, const Inputs& in) {
  Answers out{Floats(in.x.size()), Floats(in.x.size())};
  oracle.forward(call, out.output);
  oracle.backward(call, in.grad_output, out.gradient);
  return out;
}

// What a call of a fake_quant slot has beside the tensor that is quantised.
struct Beside {
  std::string_view input;                     // the name of that tensor: "x", "weight"
  std::vector<std::optional<Tensor>> more{};  // scales and ranges, in the slot's order
  std::shared_ptr<const void> parameters{};
};

// Forward and backward. Answers in 16 bits are the float32 ones, rounded once.
Case fake_quant_case(const Body& body, const Inputs& in, Beside beside, const Answers& answers);

}  // namespace lyk::parity
