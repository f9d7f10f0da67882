// Tensors of the three element types on a device, as floats on this side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/device.hpp"
#include "tests/support/element_types.hpp"

namespace lyk::test {

// What a kernel's name ends in.
std::string suffix(ElementType type);

void* put_as(SoftDevice& device,
             ElementType type,
             const std::vector<float>& values,
             std::size_t shift = 0);
void* allocate_as(SoftDevice& device, ElementType type, std::size_t count, std::size_t shift = 0);
std::vector<float> get_as(const SoftDevice& device,
                          ElementType type,
                          const void* from,
                          std::size_t count);

// Normally distributed, and among them zeros, denormals, huge ones, infinities and NaN.
std::vector<float> awkward_floats(std::size_t count, unsigned seed);

// `value`, and the floats just below and just above it.
std::array<float, 3> around(float value);

}  // namespace lyk::test
