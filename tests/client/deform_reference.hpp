// Multi-scale deformable attention and its gradients as plain loops in double precision: what the
// kernels are compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/client/deform_call.hpp"

namespace lyk::test {

struct DeformInputs {
  std::vector<float> value, locations, weights, grad_output;
};
struct DeformGradients {
  std::vector<double> value, locations, weights;
};

class DeformReference {
public:
  DeformReference(const DeformShape& shape, const DeformInputs& inputs) : s_(shape), in_(inputs) {}

  std::vector<double> forward() const {
    std::vector<double> out(count(s_.batch * s_.queries * s_.heads * s_.channels));
    for_each_sample([&](const Sample& at) {
      for (std::int64_t c = 0; c < s_.channels; ++c) {
        double sum = 0;
        for (const Corner& corner : at.corners)
          if (corner.cell >= 0)
            sum += corner.weight * in_.value[value_index(at, corner, c)];
        out[output_index(at, c)] += at.weight * sum;
      }
    });
    return out;
  }

  DeformGradients backward() const {
    DeformGradients out{std::vector<double>(in_.value.size()),
                        std::vector<double>(in_.locations.size()),
                        std::vector<double>(in_.weights.size())};
    for_each_sample([&](const Sample& at) {
      for (std::int64_t c = 0; c < s_.channels; ++c) {
        const double g = in_.grad_output[output_index(at, c)];
        for (const Corner& corner : at.corners) {
          if (corner.cell < 0)
            continue;
          const std::size_t v = value_index(at, corner, c);
          out.value[v] += corner.weight * g * at.weight;
          out.weights[at.point] += corner.weight * g * in_.value[v];
          out.locations[2 * at.point] += at.width * corner.slope_x * in_.value[v] * g * at.weight;
          out.locations[2 * at.point + 1] +=
              at.height * corner.slope_y * in_.value[v] * g * at.weight;
        }
      }
    });
    return out;
  }

private:
  struct Corner {
    std::int64_t cell;  // of all levels; -1: outside
    double weight, slope_x, slope_y;
  };
  struct Sample {
    std::int64_t image, query, head;
    std::size_t point;
    double height, width, weight;
    Corner corners[4];
  };

  static std::size_t count(std::int64_t number) { return static_cast<std::size_t>(number); }
  std::size_t value_index(const Sample& at, const Corner& corner, std::int64_t c) const {
    return count(((at.image * s_.cells() + corner.cell) * s_.heads + at.head) * s_.channels + c);
  }
  std::size_t output_index(const Sample& at, std::int64_t c) const {
    return count(((at.image * s_.queries + at.query) * s_.heads + at.head) * s_.channels + c);
  }

  void place(Sample& at, std::int64_t first_cell, std::int64_t height, std::int64_t width) const {
    const double y = in_.locations[2 * at.point + 1] * static_cast<double>(height) - 0.5;
    const double x = in_.locations[2 * at.point] * static_cast<double>(width) - 0.5;
    const double top = std::floor(y);
    const double left = std::floor(x);
    for (int corner = 0; corner < 4; ++corner) {
      const int below = corner / 2;
      const double cy = top + below;
      const double cx = left + corner % 2;
      const bool is_inside =
          cy >= 0 && cx >= 0 && cy < static_cast<double>(height) && cx < static_cast<double>(width);
      const double wy = 1 - std::abs(y - cy);
      const double wx = 1 - std::abs(x - cx);
      at.corners[corner] = {
          is_inside
              ? first_cell + static_cast<std::int64_t>(cy) * width + static_cast<std::int64_t>(cx)
              : -1,
          wy * wx, (corner % 2 == 0 ? -1 : 1) * wy, (corner / 2 == 0 ? -1 : 1) * wx};
    }
  }

  template <typename Visit>
  void for_each_sample(const Visit& visit) const {
    std::size_t point = 0;
    for (std::int64_t row = 0; row < s_.batch * s_.queries * s_.heads; ++row) {
      std::int64_t first_cell = 0;
      for (std::size_t l = 0; l + 1 < s_.levels.size(); l += 2) {
        for (std::int64_t p = 0; p < s_.points; ++p, ++point) {
          Sample at{row / s_.heads / s_.queries,
                    row / s_.heads % s_.queries,
                    row % s_.heads,
                    point,
                    static_cast<double>(s_.levels[l]),
                    static_cast<double>(s_.levels[l + 1]),
                    in_.weights[point],
                    {}};
          place(at, first_cell, s_.levels[l], s_.levels[l + 1]);
          visit(at);
        }
        first_cell += s_.levels[l] * s_.levels[l + 1];
      }
    }
  }

  const DeformShape& s_;
  const DeformInputs& in_;
};

}  // namespace lyk::test
