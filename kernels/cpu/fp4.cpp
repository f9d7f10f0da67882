// The FP4 slots: NVFP4 in blocks of 16, MXFP4 in blocks of 32.
//
// Blocks are taken in tiles: first the greatest magnitudes of some blocks, then the scales of all
// of them side by side in vectors, then their elements, which are still in the first-level cache.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fake_quant_fp4.hpp"
#include "kernels/cpu/mxfp4_scale.hpp"
#include "kernels/cpu/row_blocks.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "proto/check.hpp"

// clang-format off: Highway's headers come in this order
#include "kernels/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fp4.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

inline constexpr std::size_t blocks_per_tile = 64;

struct Tile {
  HWY_ALIGN MagnitudeBits greatest[blocks_per_tile] = {};
  HWY_ALIGN float scales[blocks_per_tile] = {};
};

// ---- one block

// By division, which is correctly rounded: NVFP4.
struct Divided {
  Floats scale;

  HWY_INLINE explicit Divided(float of_block) : scale(all(of_block)) {}
  HWY_INLINE Floats operator()(Floats x) const {
    return hn::Mul(round_to_e2m1(hn::Div(x, scale)), scale);
  }
  HWY_INLINE Floats operator()(Floats /*x*/, Floats grad_output) const {
    return hn::Div(hn::Mul(grad_output, scale), scale);
  }
};

// By the inverse, which a power of two has exactly: MXFP4.
struct Inverted {
  Floats scale;
  Floats inverse;

  HWY_INLINE explicit Inverted(float of_block)
      : scale(all(of_block)), inverse(all(inverse_power(of_block))) {}
  HWY_INLINE Floats operator()(Floats x) const {
    return hn::Mul(round_to_e2m1(hn::Mul(x, inverse)), scale);
  }
  HWY_INLINE Floats operator()(Floats /*x*/, Floats grad_output) const {
    return hn::Mul(hn::Mul(grad_output, scale), inverse);
  }
};

template <class Operation>
HWY_INLINE void run_block(const Elements& elements,
                          std::size_t begin,
                          std::size_t count,
                          float scale) {
  const Operation operation{scale};
  const float* x = elements.x + begin;
  if (elements.grad_output == nullptr)
    transform(elements.to + begin, count, operation, x);
  else
    transform(elements.to + begin, count, operation, x, elements.grad_output + begin);
}

// ---- some blocks of a row

struct TileBlocks {
  std::size_t begin = 0;        // the first element
  std::size_t whole = 0;        // blocks
  std::size_t short_count = 0;  // elements of one more block, the last of the row; or none

  std::size_t blocks() const { return whole + (short_count > 0 ? 1 : 0); }
};

// `width` is known to the compiler, which then needs no loop for a block.
template <std::size_t width>
HWY_INLINE void find_greatest(const float* x, const TileBlocks& blocks, Tile& tile) {
  x += blocks.begin;
  for (std::size_t i = 0; i < blocks.whole; ++i)
    tile.greatest[i] = greatest_magnitude(x + i * width, width);
  if (blocks.short_count > 0)
    tile.greatest[blocks.whole] = greatest_magnitude(x + blocks.whole * width, blocks.short_count);
}

template <std::size_t width, class Operation>
HWY_INLINE void run_tile(const Elements& elements, const TileBlocks& blocks, const Tile& tile) {
  for (std::size_t i = 0; i < blocks.whole; ++i)
    run_block<Operation>(elements, blocks.begin + i * width, width, tile.scales[i]);
  if (blocks.short_count > 0)
    run_block<Operation>(elements, blocks.begin + blocks.whole * width, blocks.short_count,
                         tile.scales[blocks.whole]);
}

// Calls `run(blocks)` for tiles that cover the blocks first to last - 1.
template <std::size_t width, class Run>
HWY_INLINE void for_each_tile(std::size_t columns, BlockRange range, const Run& run) {
  const RowBlocks rows{{.columns = columns, .block = width}};
  while (range.first < range.last) {
    const RowBlock block = rows.at(range.first);
    const std::size_t taken =
        std::min({blocks_per_tile, rows.per_row() - block.in_row, range.last - range.first});
    const std::size_t left = columns - block.in_row * width;  // elements of the row
    TileBlocks blocks{.begin = block.begin, .whole = std::min(taken, left / width)};
    if (blocks.whole < taken)
      blocks.short_count = left - blocks.whole * width;
    run(blocks);
    range.first += taken;
  }
}

// ---- NVFP4

HWY_INLINE void make_scales(Tile& tile, std::size_t count, float tensor_scale) {
  const FloatTag d;
  const Floats of_tensor = all(tensor_scale);
  const Floats divisor = all(e2m1_max * tensor_scale);
  for (std::size_t i = 0; i < count; i += lanes) {
    const Floats greatest = hn::BitCast(d, hn::Load(BitsTag{}, tile.greatest + i));
    const Floats ratio =
        at_most(at_least(hn::Div(greatest, divisor), all(smallest_scale)), all(e4m3_max));
    const Floats scale = hn::Mul(round_to_e4m3(ratio), of_tensor);
    hn::Store(at_least(scale, all(smallest_scale)), d, tile.scales + i);
  }
}

void nvfp4(const Elements& elements, std::size_t columns, BlockRange range, float tensor_scale) {
  constexpr std::size_t width = slots::nvfp4_block;
  Tile tile;
  for_each_tile<width>(columns, range, [&](const TileBlocks& blocks) HWY_ATTR {
    find_greatest<width>(elements.x, blocks, tile);
    make_scales(tile, blocks.blocks(), tensor_scale);
    run_tile<width, Divided>(elements, blocks, tile);
  });
}

// ---- MXFP4

void mxfp4(const Elements& elements, std::size_t columns, BlockRange range) {
  constexpr std::size_t width = slots::mxfp4_block;
  Tile tile;
  for_each_tile<width>(columns, range, [&](const TileBlocks& blocks) HWY_ATTR {
    find_greatest<width>(elements.x, blocks, tile);
    for (std::size_t i = 0; i < blocks.blocks(); ++i)
      tile.scales[i] = mxfp4_scale(tile.greatest[i]);
    run_tile<width, Inverted>(elements, blocks, tile);
  });
}

MagnitudeBits greatest_of_tensor(const float* from, std::size_t count) {
  return greatest_magnitude(from, count);
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace lyk::cpu {
namespace {

constexpr auto nvfp4_variants = LYK_VARIANTS(nvfp4);
constexpr auto mxfp4_variants = LYK_VARIANTS(mxfp4);
constexpr auto greatest_variants = LYK_VARIANTS(greatest_of_tensor);

struct Rows {
  std::size_t count = 0;
  std::size_t columns = 0;
};

// Rows of whole blocks are one long row.
Rows joined(const Rows& rows, std::size_t width) {
  if (rows.columns % width != 0)
    return rows;
  return {.count = 1, .columns = rows.count * rows.columns};
}

void run_nvfp4(const Elements& elements,
               Rows rows,
               float tensor_scale,
               const Execution& execution) {
  rows = joined(rows, slots::nvfp4_block);
  const RowBlocks blocks{{.columns = rows.columns, .block = slots::nvfp4_block}};
  auto& variant = nvfp4_variants.at(execution.instructions);
  for_each_range(blocks.units(rows.count), execution.workers,
                 [&](std::size_t first, std::size_t last) {
                   variant(elements, rows.columns, {.first = first, .last = last}, tensor_scale);
                 });
}

// The order of the tasks does not matter to a maximum.
float greatest_of(std::span<const float> x, const Execution& execution) {
  auto& variant = greatest_variants.at(execution.instructions);
  std::atomic<MagnitudeBits> greatest{0};
  for_each_range({.count = x.size()}, execution.workers, [&](std::size_t first, std::size_t last) {
    const MagnitudeBits of_task = variant(x.data() + first, last - first);
    MagnitudeBits seen = greatest.load(std::memory_order_relaxed);
    while (of_task > seen &&
           !greatest.compare_exchange_weak(seen, of_task, std::memory_order_relaxed)) {
    }
  });
  return magnitude(greatest.load());
}

void run_nvfp4_weight(const slots::FakeQuantNvfp4Weight& call,
                      const Elements& elements,
                      const Execution& execution) {
  LYK_CHECK(call.weight.size() == call.rows * call.columns);
  LYK_CHECK(call.scalar_division == slots::ScalarDivision::ieee);
  const StandardArithmetic arithmetic;
  run_nvfp4(elements, {.count = call.rows, .columns = call.columns},
            nvfp4_tensor_scale(call.tensor_amax), execution);
}

void run_nvfp4_dynamic(const slots::FakeQuantNvfp4Dynamic& call,
                       const Elements& elements,
                       const Execution& execution) {
  LYK_CHECK(call.x.size() == call.rows * call.columns);
  LYK_CHECK(call.scalar_division == slots::ScalarDivision::ieee);
  const StandardArithmetic arithmetic;
  run_nvfp4(elements, {.count = call.rows, .columns = call.columns},
            nvfp4_tensor_scale(greatest_of(call.x, execution)), execution);
}

void run_mxfp4(const slots::FakeQuantMxfp4& call,
               const Elements& elements,
               const Execution& execution) {
  LYK_CHECK(call.x.size() == call.rows * call.columns);
  LYK_CHECK(call.log2 == slots::Log2Rule::rounded);
  const StandardArithmetic arithmetic;
  const Rows rows = joined({.count = call.rows, .columns = call.columns}, slots::mxfp4_block);
  const RowBlocks blocks{{.columns = rows.columns, .block = slots::mxfp4_block}};
  auto& variant = mxfp4_variants.at(execution.instructions);
  for_each_range(blocks.units(rows.count), execution.workers,
                 [&](std::size_t first, std::size_t last) {
                   variant(elements, rows.columns, {.first = first, .last = last});
                 });
}

Elements forward_of(std::span<const float> x, std::span<float> output) {
  LYK_CHECK(output.size() == x.size());
  return {.x = x.data(), .to = output.data(), .count = x.size()};
}

Elements backward_of(std::span<const float> x,
                     std::span<const float> grad_output,
                     std::span<float> grad_x) {
  LYK_CHECK(grad_output.size() == x.size());
  LYK_CHECK(grad_x.size() == x.size());
  return {.x = x.data(), .grad_output = grad_output.data(), .to = grad_x.data(), .count = x.size()};
}

}  // namespace

void fake_quant_nvfp4_weight(const slots::FakeQuantNvfp4Weight& call,
                             std::span<float> output,
                             const Execution& execution) {
  run_nvfp4_weight(call, forward_of(call.weight, output), execution);
}

void fake_quant_nvfp4_weight_backward(const slots::FakeQuantNvfp4Weight& call,
                                      std::span<const float> grad_output,
                                      std::span<float> grad_weight,
                                      const Execution& execution) {
  run_nvfp4_weight(call, backward_of(call.weight, grad_output, grad_weight), execution);
}

void fake_quant_nvfp4_dynamic(const slots::FakeQuantNvfp4Dynamic& call,
                              std::span<float> output,
                              const Execution& execution) {
  run_nvfp4_dynamic(call, forward_of(call.x, output), execution);
}

void fake_quant_nvfp4_dynamic_backward(const slots::FakeQuantNvfp4Dynamic& call,
                                       std::span<const float> grad_output,
                                       std::span<float> grad_x,
                                       const Execution& execution) {
  run_nvfp4_dynamic(call, backward_of(call.x, grad_output, grad_x), execution);
}

void fake_quant_mxfp4(const slots::FakeQuantMxfp4& call,
                      std::span<float> output,
                      const Execution& execution) {
  run_mxfp4(call, forward_of(call.x, output), execution);
}

void fake_quant_mxfp4_backward(const slots::FakeQuantMxfp4& call,
                               std::span<const float> grad_output,
                               std::span<float> grad_x,
                               const Execution& execution) {
  run_mxfp4(call, backward_of(call.x, grad_output, grad_x), execution);
}

}  // namespace lyk::cpu

#endif  // HWY_ONCE
