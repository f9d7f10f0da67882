// The shapes that LibreYOLO's models have where they quantise: RF-DETR nano and small at 384, 512
// and 576 pixels, YOLO9 small at 640; and some that nobody has, for the edges.
#pragma once

#include <cstddef>
#include <vector>

namespace lyk::cpu::test {

struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::size_t elements() const { return rows * columns; }
};

inline std::vector<Matrix> linear_weights() {
  return {{384, 384}, {1536, 384}, {384, 1536}, {64, 256},
          {32, 256},  {256, 256},  {2048, 256}, {256, 2048}};
}

// Of one image. The last axis is `columns`, all others are `rows`.
inline std::vector<Matrix> linear_activations() {
  std::vector<Matrix> shapes;
  for (const std::size_t columns : {384U, 1536U}) {
    for (const std::size_t window : {145U, 257U, 325U})
      shapes.push_back({4 * window, columns});
    for (const std::size_t tokens : {580U, 1028U, 1300U})
      shapes.push_back({tokens, columns});
  }
  for (const std::size_t cells : {576U, 1024U, 1296U})
    shapes.push_back({cells, 256});
  shapes.push_back({300, 256});
  shapes.push_back({300, 2048});
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
