#include "tests/cuda/elements.hpp"

#include <cmath>

#include "tests/reference/bits.hpp"

namespace lyk::test {

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

void* put_as(SoftDevice& device,
             ElementType type,
             const std::vector<float>& values,
             std::size_t shift) {
  return device.put(bytes_as(type, values), shift * bytes_of_element(type));
}

void* allocate_as(SoftDevice& device, ElementType type, std::size_t count, std::size_t shift) {
  const std::size_t bytes = bytes_of_element(type);
  return device.allocate<std::byte>(count * bytes, shift * bytes);
}

std::vector<float> get_as(const SoftDevice& device,
                          ElementType type,
                          const void* from,
                          std::size_t count) {
  return floats_from(type, device.get<std::byte>(from, count * bytes_of_element(type)));
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
