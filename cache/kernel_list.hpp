// The column `images.kernels`: records `symbol NUL name NUL offset:size,offset:size NUL`, one for
// each kernel (docs/store_format.md). Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/image/image.hpp"

namespace lyk::cache {

std::string encode_kernels(std::span<const image::Kernel> kernels);

// Empty for anything that `encode_kernels` does not write.
std::optional<std::vector<image::Kernel>> decode_kernels(std::span<const std::uint8_t> encoded);

}  // namespace lyk::cache
