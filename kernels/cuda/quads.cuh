// Four neighbouring elements at a time, a quad: one load of 16 or 8 bytes. What does not lie at a
// multiple of that is read element by element. Kernels keep two quads under way per thread, which
// is what it takes to fill the memory pipe of the fastest devices.
// Thread rule: each thread by itself, but that map and map_groups are called by the whole grid, the
// latter in whole warps.
#pragma once

#include <cstdint>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/element.cuh"

namespace lyk::cuda {

constexpr int quads_in_flight = 2;

// One element or a quad, as fp32.
template <int size>
struct Pack {
  float at[size];
};
using Quad = Pack<quad_size>;

template <int size>
__device__ constexpr int size_of(const Pack<size>&) {
  return size;
}

template <int size>
__device__ Pack<size> load_pack(const float* from) {
  if constexpr (size == 1) {
    return {load(from)};
  } else {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    return {four.x, four.y, four.z, four.w};
  }
}

template <int size, typename Element>
__device__ Pack<size> load_pack(const Element* from) {
  if constexpr (size == 1) {
    return {load(from)};
  } else {
    const uint2 four = __ldg(reinterpret_cast<const uint2*>(from));
    const auto element = [](std::uint32_t bits) {
      return to_float(Element{static_cast<std::uint16_t>(bits)});
    };
    return {element(four.x), element(four.x >> 16), element(four.y), element(four.y >> 16)};
  }
}

template <typename Element>
__device__ void store_pack(Element* to, const Pack<1>& pack) {
  *to = from_float<Element>(pack.at[0]);
}

__device__ inline void store_pack(float* to, const Quad& quad) {
  *reinterpret_cast<float4*>(to) = {quad.at[0], quad.at[1], quad.at[2], quad.at[3]};
}

template <typename Element>
__device__ void store_pack(Element* to, const Quad& quad) {
  const auto bits = [&quad](int i) { return std::uint32_t{from_float<Element>(quad.at[i]).bits}; };
  *reinterpret_cast<uint2*>(to) = {bits(0) | bits(1) << 16, bits(2) | bits(3) << 16};
}

template <int size>
__device__ std::uint32_t greatest_magnitude(const Pack<size>& pack) {
  std::uint32_t greatest = 0;
#pragma unroll
  for (int i = 0; i < size; ++i)
    greatest = max(greatest, magnitude_bits(pack.at[i]));
  return greatest;
}

template <typename Element>
__device__ std::uint32_t elements_past_quad(const Element* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer) / sizeof(Element) %
                                    quad_size);
}

__device__ inline std::uint64_t thread_of_grid() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__device__ inline std::uint64_t threads_of_grid() {
  return std::uint64_t{gridDim.x} * blockDim.x;
}

// ---- a run of elements ------------------------------------------------------------------------

// Elements one after another: quads, and the elements before and after them.
struct Run {
  std::uint64_t head = 0;  // elements before the first quad
  std::uint64_t quads = 0;
  std::uint64_t singles = 0;  // elements in no quad

  __device__ std::uint64_t begin_of_quad(std::uint64_t quad) const {
    return head + quad * quad_size;
  }
  __device__ std::uint64_t index_of_single(std::uint64_t single) const {
    return single < head ? single : single + quads * quad_size;
  }
};

// There are quads if all that is read and written lies alike. `second` may be `input` again.
template <typename Element>
__device__ Run
run_of(std::uint64_t elements, const Element* input, const Element* second, const Element* output) {
  const std::uint32_t past = elements_past_quad(output);
  if (elements_past_quad(input) != past || elements_past_quad(second) != past)
    return {.singles = elements};
  const std::uint64_t head = min(elements, std::uint64_t{(quad_size - past) % quad_size});
  const std::uint64_t quads = (elements - head) / quad_size;
  return {.head = head, .quads = quads, .singles = elements - quads * quad_size};
}

// For all of a run, by the whole grid: `operation(values, result, index of the first)` finds the
// input in both packs and leaves the output in `result`.
template <typename Element, typename Operation>
__device__ void map(const Element* __restrict__ input,
                    Element* __restrict__ output,
                    const Run& run,
                    const Operation& operation) {
  const std::uint64_t stride = threads_of_grid();
  for (std::uint64_t first = thread_of_grid(); first < run.quads;
       first += quads_in_flight * stride) {
    Quad values[quads_in_flight];
#pragma unroll
    for (int k = 0; k < quads_in_flight; ++k)
      if (first + k * stride < run.quads)
        values[k] = load_pack<quad_size>(input + run.begin_of_quad(first + k * stride));
#pragma unroll
    for (int k = 0; k < quads_in_flight; ++k) {
      if (first + k * stride >= run.quads)
        continue;
      const std::uint64_t begin = run.begin_of_quad(first + k * stride);
      Quad result = values[k];
      operation(values[k], result, begin);
      store_pack(output + begin, result);
    }
  }
  for (std::uint64_t single = thread_of_grid(); single < run.singles; single += stride) {
    const std::uint64_t index = run.index_of_single(single);
    const auto value = load_pack<1>(input + index);
    Pack<1> result = value;
    operation(value, result, index);
    store_pack(output + index, result);
  }
}

// The same with a second input, which `result` holds at first: a gradient, say.
template <typename Element, typename Operation>
__device__ void map(const Element* __restrict__ input,
                    const Element* __restrict__ second,
                    Element* __restrict__ output,
                    const Run& run,
                    const Operation& operation) {
  const std::uint64_t stride = threads_of_grid();
  for (std::uint64_t quad = thread_of_grid(); quad < run.quads; quad += stride) {
    const std::uint64_t begin = run.begin_of_quad(quad);
    Quad result = load_pack<quad_size>(second + begin);
    operation(load_pack<quad_size>(input + begin), result, begin);
    store_pack(output + begin, result);
  }
  for (std::uint64_t single = thread_of_grid(); single < run.singles; single += stride) {
    const std::uint64_t index = run.index_of_single(single);
    auto result = load_pack<1>(second + index);
    operation(load_pack<1>(input + index), result, index);
    store_pack(output + index, result);
  }
}

// ---- groups of a row --------------------------------------------------------------------------

// Where a quad of grouped rows lies. One beyond the last one, or of the missing end of a group, has
// no elements; the last one of a row may have fewer than four.
struct GroupedPlace {
  std::uint64_t begin = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  int size = 0;
};

enum class Access : std::uint8_t { by_quad, by_element };

__device__ inline GroupedPlace place_of(std::uint64_t quad, const GroupedRows& shape) {
  const std::uint64_t row = shape.rows == 1 ? 0 : quotient(quad, shape.quads_per_row);
  const std::uint64_t column = (quad - row * shape.quads_per_row.value) * quad_size;
  GroupedPlace place{.begin = row * shape.columns + column, .row = row, .column = column};
  if (row < shape.rows && column < shape.columns)
    place.size = static_cast<int>(min(shape.columns - column, std::uint64_t{quad_size}));
  return place;
}

// Elements that do not exist read as zero, which is what LibreYOLO pads with.
__device__ inline Quad load_quad(const float* from, const GroupedPlace& place, Access access) {
  Quad out{};
  if (access == Access::by_quad) {
    if (place.size != 0)
      out = load_pack<quad_size>(from + place.begin);
    return out;
  }
#pragma unroll
  for (int i = 0; i < quad_size; ++i)
    if (i < place.size)
      out.at[i] = load(from + place.begin + i);
  return out;
}

__device__ inline void store_quad(float* to,
                                  const Quad& quad,
                                  const GroupedPlace& place,
                                  Access access) {
  if (access == Access::by_quad) {
    if (place.size != 0)
      store_pack(to + place.begin, quad);
    return;
  }
#pragma unroll
  for (int i = 0; i < quad_size; ++i)
    if (i < place.size)
      to[place.begin + i] = quad.at[i];
}

// By quad, each has four elements or none.
__device__ inline Access access_of_rows(const GroupedRows& shape,
                                        const float* input,
                                        const float* second,
                                        const float* output) {
  const bool rows_alike = shape.columns % quad_size == 0;
  const std::uint32_t past =
      elements_past_quad(input) | elements_past_quad(second) | elements_past_quad(output);
  return rows_alike && past == 0 ? Access::by_quad : Access::by_element;
}

// For all quads of grouped rows, by the whole grid: `operation(values, result, place)` as in map.
// Whole warps call it, idle lanes included, so that it may shuffle. `second` may be null: then
// `result` holds the input at first.
template <typename Operation>
__device__ void map_groups(const GroupedRows& shape,
                           const float* __restrict__ input,
                           const float* __restrict__ second,
                           float* __restrict__ output,
                           const Operation& operation) {
  const Access access = access_of_rows(shape, input, second == nullptr ? input : second, output);
  const std::uint64_t quads = shape.rows * shape.quads_per_row.value;
  const std::uint64_t stride = threads_of_grid();
  const unsigned lane = threadIdx.x % warpSize;
  for (std::uint64_t quad = thread_of_grid(); quad - lane < quads;
       quad += quads_in_flight * stride) {
    GroupedPlace places[quads_in_flight];
    Quad values[quads_in_flight];
    Quad results[quads_in_flight];
#pragma unroll
    for (int k = 0; k < quads_in_flight; ++k) {
      places[k] = place_of(quad + k * stride, shape);
      values[k] = load_quad(input, places[k], access);
      results[k] = second == nullptr ? values[k] : load_quad(second, places[k], access);
    }
#pragma unroll
    for (int k = 0; k < quads_in_flight; ++k) {
      operation(values[k], results[k], places[k]);
      store_quad(output, results[k], places[k], access);
    }
  }
}

}  // namespace lyk::cuda
