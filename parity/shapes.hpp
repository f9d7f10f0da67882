// The shapes that LibreYOLO's models have where they quantise: RF-DETR nano and small at 384, 512
// and 576 pixels, YOLO9 small at 640. Kernels are compared and measured on them. Thread rule: pure.
#pragma once

#include <cstddef>
#include <vector>

namespace lyk::parity {

struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::size_t elements() const { return rows * columns; }
};

inline std::vector<Matrix> linear_weights() {
  return {{384, 384}, {1536, 384}, {384, 1536}, {64, 256},
          {32, 256},  {256, 256},  {2048, 256}, {256, 2048}};
}

// Of one image. Attention looks at it in windows, or as a whole.
struct Activation {
  std::size_t windows = 1;
  std::size_t tokens = 0;
  std::size_t columns = 0;

  Matrix matrix() const { return {windows * tokens, columns}; }
};

inline std::vector<Activation> linear_activations() {
  std::vector<Activation> shapes;
  for (const std::size_t columns : {384U, 1536U}) {
    for (const std::size_t tokens : {145U, 257U, 325U})
      shapes.push_back({4, tokens, columns});
    for (const std::size_t tokens : {580U, 1028U, 1300U})
      shapes.push_back({1, tokens, columns});
  }
  for (const std::size_t cells : {576U, 1024U, 1296U})
    shapes.push_back({1, cells, 256});
  shapes.push_back({1, 300, 256});
  shapes.push_back({1, 300, 2048});
  return shapes;
}

}  // namespace lyk::parity
