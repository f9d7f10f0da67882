// What the slot ms_deform_attn takes on host memory: the common ground of the implementations, the
// tests and the registry. What it computes is stated in kernels/reference/ms_deform_attn.hpp.
//
// `Scalar` is float or double. Nothing is owned: spans and pointers are borrowed for the call.
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lyk::slots {

struct MsDeformAttnSizes {
  std::size_t batch = 0;
  std::size_t cells = 0;  // of all levels: the sum of their areas
  std::size_t heads = 0;
  std::size_t channels = 0;  // of one head
  std::size_t queries = 0;
  std::size_t levels = 0;
  std::size_t points = 0;  // per level

  // The number of sampling points, and so of attention weights.
  constexpr std::size_t samples() const { return batch * queries * heads * levels * points; }
};

// The order in memory of `value` (batch, cells, heads, channels) or of its gradient, in elements.
// LW-DETR, D-FINE, DEIM and EC hand value over as a permuted view, with `cells` between channels.
struct ValueStrides {
  std::ptrdiff_t batch = 0;
  std::ptrdiff_t cell = 0;
  std::ptrdiff_t head = 0;
  std::ptrdiff_t channel = 0;
};

constexpr ValueStrides dense_value_strides(const MsDeformAttnSizes& sizes) {
  const auto channels = static_cast<std::ptrdiff_t>(sizes.channels);
  const auto heads = static_cast<std::ptrdiff_t>(sizes.heads);
  const auto cells = static_cast<std::ptrdiff_t>(sizes.cells);
  return {
      .batch = cells * heads * channels, .cell = heads * channels, .head = channels, .channel = 1};
}

template <typename Scalar>
struct MsDeformAttn {
  MsDeformAttnSizes sizes = {};
  const Scalar* value = nullptr;
  ValueStrides value_strides = {};
  std::span<const std::int64_t> spatial_shapes = {};  // levels x (height, width)
  std::span<const Scalar> locations = {};  // dense (batch, queries, heads, levels, points, 2):
                                           // x and y, from 0 to 1 inside
  std::span<const Scalar> weights = {};    // dense (batch, queries, heads, levels, points)
};

// What backward writes, all of it.
template <typename Scalar>
struct MsDeformAttnGradients {
  Scalar* value = nullptr;  // in any order in which no two elements share a place
  ValueStrides value_strides = {};
  std::span<Scalar> locations = {};
  std::span<Scalar> weights = {};
};

}  // namespace lyk::slots
