// Multi-scale deformable attention: what one thread computes for one channel of one (batch, query,
// head).
//
// The products and sums are those of the published kernels as ptxas contracts them, written out
// with explicit fused operations, so that every compiler and every architecture gives the same
// bits. Pure device functions of their arguments; the only shared effect is the atomic addition to
// grad_value.
#pragma once

#include <cstdint>

namespace deform_attn {

__device__ inline float fused(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
__device__ inline double fused(double a, double b, double c) {
  return __fma_rn(a, b, c);
}
__device__ inline float product(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ inline double product(double a, double b) {
  return __dmul_rn(a, b);
}

// The sizes that all entry points take, in their order.
struct Sizes {
  int batch, spatial, heads, channels, levels, queries, points;
};

// Which of all values one thread works on: index = ((batch * queries + query) * heads + head) *
// channels + channel.
struct Place {
  int channel, head, batch;
  int sample;  // (batch, query, head) as one number: the row of locations and weights

  __device__ Place(int index, const Sizes& sizes)
      : channel(index % sizes.channels),
        head((index / sizes.channels) % sizes.heads),
        batch(index / sizes.channels / sizes.heads / sizes.queries),
        sample(index / sizes.channels) {}
};

// One level of the value tensor, seen by one (batch, head, channel). Offsets are 32-bit, as in the
// published kernels: whoever launches them keeps below that.
struct Level {
  int height, width;
  int offset;       // of cell (0, 0)
  int row, column;  // strides

  __device__ Level(const Place& place,
                   const Sizes& sizes,
                   const int64_t* shapes,
                   const int64_t* starts,
                   int level)
      : height(static_cast<int>(shapes[2 * level])),
        width(static_cast<int>(shapes[2 * level + 1])) {
    column = sizes.heads * sizes.channels;
    row = column * width;
    offset = (place.batch * sizes.spatial + static_cast<int>(starts[level])) * column +
             place.head * sizes.channels + place.channel;
  }

  __device__ int at(int y, int x) const { return offset + y * row + x * column; }
};

// A sampling position inside a level: the cell above and left of it, and how far it lies from its
// four corners.
template <typename T>
struct Position {
  T y, x;
  int top, left;
  T ly, lx, hy, hx;

  __device__ Position(T location_x, T location_y, const Level& level)
      : y(fused(location_y, static_cast<T>(level.height), static_cast<T>(-0.5))),
        x(fused(location_x, static_cast<T>(level.width), static_cast<T>(-0.5))),
        top(static_cast<int>(floor(y))),
        left(static_cast<int>(floor(x))),
        ly(y - static_cast<T>(top)),
        lx(x - static_cast<T>(left)),
        hy(static_cast<T>(1) - ly),
        hx(static_cast<T>(1) - lx) {}

  // False for a position outside, and for one that is not a number.
  __device__ bool touches(const Level& level) const {
    return y > static_cast<T>(-1) && x > static_cast<T>(-1) && y < static_cast<T>(level.height) &&
           x < static_cast<T>(level.width);
  }
};

// The four corners: which exist, their values and weights. Order: top left, top right, bottom left,
// bottom right.
template <typename T>
struct Corners {
  bool exists[4];
  int offset[4];
  T value[4];
  T weight[4];

  __device__ Corners(const T* values, const Position<T>& at, const Level& level) {
    const bool top = at.top >= 0, left = at.left >= 0;
    const bool bottom = at.top + 1 <= level.height - 1, right = at.left + 1 <= level.width - 1;
    exists[0] = top && left;
    exists[1] = top && right;
    exists[2] = bottom && left;
    exists[3] = bottom && right;
    weight[0] = product(at.hy, at.hx);
    weight[1] = product(at.hy, at.lx);
    weight[2] = product(at.ly, at.hx);
#ifdef HUB_KERNEL_FAULT_CORNER  // what a test of the tests has to find
    weight[3] = product(at.ly, at.hx);
#else
    weight[3] = product(at.ly, at.lx);
#endif
#pragma unroll
    for (int corner = 0; corner < 4; ++corner) {
      offset[corner] = level.at(at.top + corner / 2, at.left + corner % 2);
      value[corner] = exists[corner] ? values[offset[corner]] : static_cast<T>(0);
    }
  }

  // The interpolated value. The second corner is rounded alone, the others are fused onto it.
  __device__ T blended() const {
    T sum = product(weight[1], value[1]);
    sum = fused(weight[0], value[0], sum);
    sum = fused(weight[2], value[2], sum);
    return fused(weight[3], value[3], sum);
  }
};

template <typename T>
struct Inputs {
  const T* value;
  const int64_t* shapes;
  const int64_t* starts;
  const T* locations;
  const T* weights;
};

template <typename T>
__device__ T forward_value(const Inputs<T>& in, const Sizes& sizes, int index) {
  const Place place(index, sizes);
  int sample = place.sample * sizes.levels * sizes.points;
  T sum = 0;
  for (int l = 0; l < sizes.levels; ++l) {
    const Level level(place, sizes, in.shapes, in.starts, l);
    for (int p = 0; p < sizes.points; ++p, ++sample) {
      const Position<T> at(in.locations[2 * sample], in.locations[2 * sample + 1], level);
      if (!at.touches(level))
        continue;
      sum = fused(in.weights[sample], Corners<T>(in.value, at, level).blended(), sum);
    }
  }
  return sum;
}

// What one channel adds to the gradients of one sampling point.
template <typename T>
struct Contribution {
  T location_x, location_y, weight;
};

// The contribution of one channel to one point; its gradient of the value goes straight to memory.
template <typename T>
__device__ Contribution<T> backward_point(
    const Inputs<T>& in, const Level& level, int sample, T gradient, T* grad_value) {
  const Position<T> at(in.locations[2 * sample], in.locations[2 * sample + 1], level);
  if (!at.touches(level))
    return {0, 0, 0};
  const Corners<T> corners(in.value, at, level);
  const T scaled = product(gradient, in.weights[sample]);
  const T along_y[4] = {-at.hx, -at.lx, at.hx, at.lx};
  const T along_x[4] = {-at.hy, at.hy, -at.ly, at.ly};
  T slope_y = 0, slope_x = 0;
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    if (!corners.exists[corner])
      continue;
    slope_y = fused(along_y[corner], corners.value[corner], slope_y);
    slope_x = fused(along_x[corner], corners.value[corner], slope_x);
    atomicAdd(grad_value + corners.offset[corner], product(corners.weight[corner], scaled));
  }
  return {product(product(static_cast<T>(level.width), slope_x), scaled),
          product(product(static_cast<T>(level.height), slope_y), scaled),
          product(gradient, corners.blended())};
}

}  // namespace deform_attn
