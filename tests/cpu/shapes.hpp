// The shapes that the kernels are tested on: those of LibreYOLO's models, and some that nobody has,
// for the edges.
#pragma once

#include <vector>

#include "parity/shapes.hpp"

namespace lyk::cpu::test {

using parity::linear_weights;
using parity::Matrix;

// Of one image. The last axis is `columns`, all others are `rows`.
inline std::vector<Matrix> linear_activations() {
  std::vector<Matrix> shapes;
  for (const parity::Activation& activation : parity::linear_activations())
    shapes.push_back(activation.matrix());
  return shapes;
}

// Those of which batches of eight are tested: the largest of each kind.
inline std::vector<Matrix> largest_activations() {
  return {{1300, 1536}, {1296, 256}, {300, 2048}};
}

// Rows that fill no block, group or vector.
inline std::vector<Matrix> odd_shapes() {
  std::vector<Matrix> shapes{{1, 1},   {7, 1},   {1, 300},   {3, 20},    {5, 40},   {5, 48},
                             {4, 100}, {2, 300}, {1, 70001}, {70001, 1}, {300, 257}};
  for (std::size_t columns = 2; columns < 70; ++columns)
    shapes.push_back({3, columns});
  return shapes;
}

}  // namespace lyk::cpu::test
