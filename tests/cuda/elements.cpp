#include "tests/cuda/elements.hpp"

#include <cmath>
#include <limits>

#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

const softcuda::ptx::FloatFormat& format_of(ElementType type) {
  return type == ElementType::f16 ? softcuda::ptx::half_format : softcuda::ptx::bfloat_format;
}

std::uint16_t encoded(ElementType type, float value) {
  return static_cast<std::uint16_t>(
      softcuda::ptx::encode(double{value}, format_of(type), softcuda::ptx::Rounding::rn));
}

float decoded(ElementType type, std::uint16_t bits) {
  return static_cast<float>(softcuda::ptx::decode(bits, format_of(type)));
}

}  // namespace

std::string suffix(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "_f32";
    case ElementType::f16:
      return "_f16";
    case ElementType::bf16:
      return "_bf16";
  }
  return {};
}

std::vector<float> rounded_to(ElementType type, std::vector<float> values) {
  if (type != ElementType::f32)
    for (float& value : values)
      value = decoded(type, encoded(type, value));
  return values;
}

void* put_as(SoftDevice& device,
             ElementType type,
             const std::vector<float>& values,
             std::size_t shift) {
  if (type == ElementType::f32)
    return device.put(values, shift);
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values)
    bits.push_back(encoded(type, value));
  return device.put(bits, shift);
}

void* allocate_as(SoftDevice& device, ElementType type, std::size_t count, std::size_t shift) {
  if (type == ElementType::f32)
    return device.allocate<float>(count, shift);
  return device.allocate<std::uint16_t>(count, shift);
}

std::vector<float> get_as(const SoftDevice& device,
                          ElementType type,
                          const void* from,
                          std::size_t count) {
  if (type == ElementType::f32)
    return device.get<float>(from, count);
  std::vector<float> values;
  values.reserve(count);
  for (const std::uint16_t bits : device.get<std::uint16_t>(from, count))
    values.push_back(decoded(type, bits));
  return values;
}

std::vector<float> awkward_floats(std::size_t count, unsigned seed) {
  constexpr std::array specials{0.0F,  -0.0F,  1e-45F,    -3e-39F, 1e-20F, -1e-12F,  3e4F,
                                -6e4F, 1e20F,  0x1p25F,   3.3e38F, -3e38F, infinity, -infinity,
                                nan,   448.0F, -0x1p-10F, 1e-30F,  127.5F, -128.5F};
  constexpr std::size_t distance = 23;  // so that most groups have none, and some have several
  std::vector<float> values = normal_floats(count, seed, 2);
  for (std::size_t i = seed % distance, k = seed; i < count; i += distance + i % 5)
    values[i] = specials[k++ % specials.size()];
  return values;
}

std::array<float, 3> around(float value) {
  return {std::nextafter(value, -infinity), value, std::nextafter(value, infinity)};
}

}  // namespace lyk::test
