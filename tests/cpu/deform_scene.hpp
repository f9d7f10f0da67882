// Calls of ms_deform_attn for tests: the shapes, the numbers, and what comes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/ms_deform_attn.hpp"
#include "kernels/reference/ms_deform_attn.hpp"
#include "tests/cpu/values.hpp"

namespace lyk::cpu::test {

using slots::MsDeformAttn;
using slots::MsDeformAttnGradients;
using slots::MsDeformAttnSizes;
using slots::ValueStrides;

template <typename Real>
struct DeformGradients {
  std::vector<Real> value;
  std::vector<Real> locations;
  std::vector<Real> weights;
};

template <typename Real>
std::vector<Real> as(const Floats& numbers) {
  return {numbers.begin(), numbers.end()};
}

struct DeformScene {
  MsDeformAttnSizes sizes;
  std::vector<std::int64_t> shapes;  // (height, width) of each level
  ValueStrides strides;
  Floats value;
  Floats locations;
  Floats weights;
  Floats grad_output;

  // `sizes` without cells and levels, which follow from `shapes`.
  DeformScene(const MsDeformAttnSizes& given, std::vector<std::int64_t> level_shapes)
      : sizes(given), shapes(std::move(level_shapes)) {
    sizes.levels = shapes.size() / 2;
    for (std::size_t l = 0; l < sizes.levels; ++l)
      sizes.cells += static_cast<std::size_t>(shapes[2 * l] * shapes[2 * l + 1]);
    strides = slots::dense_value_strides(sizes);
    const std::size_t outputs = sizes.batch * sizes.queries * sizes.heads * sizes.channels;
    value = values(sizes.batch * sizes.cells * sizes.heads * sizes.channels, 51, 2);
    locations = values(2 * sizes.samples(), 52, 0.8F);  // some are outside
    for (float& location : locations)
      location += 0.5F;
    weights = values(sizes.samples(), 53);
    grad_output = values(outputs, 54);
  }

  // LW-DETR's order in memory: (batch, heads, channels, cells).
  DeformScene permuted() const {
    DeformScene other = *this;
    const auto cells = static_cast<std::ptrdiff_t>(sizes.cells);
    const auto channels = static_cast<std::ptrdiff_t>(sizes.channels);
    other.strides = {.batch = static_cast<std::ptrdiff_t>(sizes.heads) * channels * cells,
                     .cell = 1,
                     .head = channels * cells,
                     .channel = cells};
    for_each_value(
        [&](std::size_t index, std::ptrdiff_t place) {
          other.value[static_cast<std::size_t>(place)] = value[index];
        },
        other.strides);
    return other;
  }

  // Calls `visit(index, place)` for all values: the number of one in dense order, and its place.
  template <typename Visit>
  void for_each_value(const Visit& visit, const ValueStrides& places) const {
    std::size_t index = 0;
    for (std::size_t b = 0; b < sizes.batch; ++b)
      for (std::size_t cell = 0; cell < sizes.cells; ++cell)
        for (std::size_t h = 0; h < sizes.heads; ++h)
          for (std::size_t c = 0; c < sizes.channels; ++c)
            visit(index++, static_cast<std::ptrdiff_t>(b) * places.batch +
                               static_cast<std::ptrdiff_t>(cell) * places.cell +
                               static_cast<std::ptrdiff_t>(h) * places.head +
                               static_cast<std::ptrdiff_t>(c) * places.channel);
  }

  MsDeformAttn<float> call() const {
    return {.sizes = sizes,
            .value = value.data(),
            .value_strides = strides,
            .spatial_shapes = shapes,
            .locations = locations,
            .weights = weights};
  }

  Floats ours(const Execution& execution, Accumulation accumulation = Accumulation::fp32) const {
    Floats output(grad_output.size(), nan);
    ms_deform_attn(call(), output, execution, accumulation);
    return output;
  }

  DeformGradients<float> ours_backward(const Execution& execution,
                                       Accumulation accumulation = Accumulation::fp32) const {
    DeformGradients<float> gradients{Floats(value.size(), nan), Floats(locations.size(), nan),
                                     Floats(weights.size(), nan)};
    ms_deform_attn_backward(call(), grad_output,
                            {.value = gradients.value.data(),
                             .value_strides = strides,
                             .locations = gradients.locations,
                             .weights = gradients.weights},
                            execution, accumulation);
    return gradients;
  }

  template <typename Real>
  std::vector<Real> oracle() const {
    const std::vector<Real> real_value = as<Real>(value);
    const std::vector<Real> real_locations = as<Real>(locations);
    const std::vector<Real> real_weights = as<Real>(weights);
    std::vector<Real> output(grad_output.size());
    reference::ms_deform_attn(MsDeformAttn<Real>{.sizes = sizes,
                                                 .value = real_value.data(),
                                                 .value_strides = strides,
                                                 .spatial_shapes = shapes,
                                                 .locations = real_locations,
                                                 .weights = real_weights},
                              output);
    return output;
  }

  template <typename Real>
  DeformGradients<Real> oracle_backward() const {
    const std::vector<Real> real_value = as<Real>(value);
    const std::vector<Real> real_locations = as<Real>(locations);
    const std::vector<Real> real_weights = as<Real>(weights);
    DeformGradients<Real> gradients{std::vector<Real>(value.size()),
                                    std::vector<Real>(locations.size()),
                                    std::vector<Real>(weights.size())};
    reference::ms_deform_attn_backward(MsDeformAttn<Real>{.sizes = sizes,
                                                          .value = real_value.data(),
                                                          .value_strides = strides,
                                                          .spatial_shapes = shapes,
                                                          .locations = real_locations,
                                                          .weights = real_weights},
                                       as<Real>(grad_output),
                                       MsDeformAttnGradients<Real>{.value = gradients.value.data(),
                                                                   .value_strides = strides,
                                                                   .locations = gradients.locations,
                                                                   .weights = gradients.weights});
    return gradients;
  }
};

template <typename Real>
Floats rounded(const std::vector<Real>& numbers) {
  Floats made(numbers.size());
  std::ranges::transform(numbers, made.begin(), [](Real x) { return static_cast<float>(x); });
  return made;
}

// The shapes of models, of the Hub kernel's benchmark and of its tests.
inline std::vector<DeformScene> model_scenes() {
  return {{{.batch = 2, .heads = 2, .channels = 4, .queries = 3, .points = 2}, {4, 6, 2, 3}},
          {{.batch = 1, .heads = 2, .channels = 2, .queries = 2, .points = 2}, {6, 4, 3, 2}},
          {{.batch = 1, .heads = 16, .channels = 16, .queries = 300, .points = 2}, {24, 24}},
          {{.batch = 1, .heads = 8, .channels = 32, .queries = 300, .points = 4},
           {64, 64, 32, 32, 16, 16, 8, 8}}};
}

// Channels for every width of a vector, and for none.
inline std::vector<DeformScene> channel_scenes() {
  std::vector<DeformScene> scenes;
  for (const std::size_t channels :
       {1U, 2U, 3U, 5U, 8U, 17U, 30U, 32U, 47U, 64U, 71U, 128U, 1025U, 2048U, 3096U})
    scenes.push_back(
        {{.batch = 1, .heads = 2, .channels = channels, .queries = 5, .points = 2}, {6, 4, 3, 2}});
  return scenes;
}

// Sizes of 0 to 3, in all combinations.
inline std::vector<std::int64_t> many_levels() {
  std::vector<std::int64_t> shapes;
  for (std::int64_t level = 0; level < 300; ++level)
    shapes.insert(shapes.end(), {level % 4, level / 4 % 4});
  return shapes;
}

// One query has more samples than are done at a time, of few levels or of more levels than are done
// at a time; a level has a single cell or row; points are on the edges, on centres, far away and
// not finite.
inline std::vector<DeformScene> edge_scenes() {
  std::vector<DeformScene> scenes{
      {{.batch = 1, .heads = 1, .channels = 20, .queries = 3, .points = 150}, {5, 5, 9, 9, 2, 3}},
      {{.batch = 2, .heads = 1, .channels = 3, .queries = 2, .points = 300}, {7, 8}},
      {{.batch = 1, .heads = 2, .channels = 5, .queries = 2, .points = 2}, many_levels()},
      {{.batch = 1, .heads = 3, .channels = 16, .queries = 40, .points = 3}, {1, 1, 1, 9, 9, 1}}};
  DeformScene special{{.batch = 1, .heads = 2, .channels = 19, .queries = 100, .points = 4},
                      {8, 16, 4, 2}};
  const std::array<float, 16> places{0,     1,     0.5F,     0.0625F,    -0.0625F, 1.0625F,
                                     0.25F, -0.5F, 1.5F,     0.9999999F, 1e-7F,    1e30F,
                                     -1e9F, nan,   infinity, -infinity};
  Generator generator{55};
  for (float& location : special.locations)
    location = places[generator.next() % places.size()];
  scenes.push_back(special);
  return scenes;
}

}  // namespace lyk::cpu::test
