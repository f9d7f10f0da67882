// Codes are spread over the lanes from a word: every lane, or every pair of lanes where the word is
// longer than one, gets the word and shifts down the bits that are its own.
#include "kernels/cpu/unpack.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/row_blocks.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "proto/check.hpp"

// clang-format off: Highway's headers come in this order
#include "kernels/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/unpack.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

static_assert(std::endian::native == std::endian::little, "a word is read as four bytes in order");

// Codes of `bits` bits.
template <unsigned bits>
struct Codes {
  static constexpr std::size_t per_byte = 8 / bits;
  static constexpr std::uint32_t mask = (1U << bits) - 1;

  static HWY_INLINE std::int32_t one(const std::uint8_t* row, std::size_t column) {
    const unsigned shift = static_cast<unsigned>(column % per_byte) * bits;
    return static_cast<std::int32_t>(unsigned{row[column / per_byte]} >> shift & mask);
  }

#if HWY_TARGET != HWY_SCALAR
  // One code per lane, the first from the lowest bits.
  static HWY_INLINE Bits vector(const std::uint8_t* bytes) {
    if constexpr (lanes >= 8 && lanes * bits <= 32)
      return of_one_word(bytes);
    else
      return of_pairs(bytes);
  }

private:
  static HWY_INLINE Bits of_one_word(const std::uint8_t* bytes) {
    const hn::RebindToUnsigned<BitsTag> words;
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, lanes / per_byte);
    const auto shifts = hn::Mul(hn::Iota(words, 0), hn::Set(words, std::uint32_t{bits}));
    const auto codes = hn::And(hn::Set(words, word) >> shifts, hn::Set(words, mask));
    return hn::BitCast(BitsTag{}, codes);
  }

  static HWY_INLINE Bits of_pairs(const std::uint8_t* bytes) {
    const hn::RepartitionToWide<BitsTag> pairs;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, lanes / per_byte);
    const hn::RebindToUnsigned<decltype(pairs)> words;
    const auto shifts = hn::Mul(hn::Iota(words, 0), hn::Set(words, std::uint64_t{bits} * 2));
    // A pair of lanes has a pair of codes at its lowest bits; the second one goes to its lane.
    const auto even = hn::Set(words, word) >> shifts;
    const auto odd = hn::ShiftLeft<32 - bits>(even);
    const BitsTag di;
    const Bits both = hn::OddEven(hn::BitCast(di, odd), hn::BitCast(di, even));
    return hn::And(both, hn::Set(di, static_cast<std::int32_t>(mask)));
  }
#endif
};

// ---- grouped integers

// Columns of a row that share a scale.
template <unsigned bits>
struct Group {
  using Format = Codes<bits>;
  static constexpr std::int32_t zero_code = 1 << (bits - 1);

  const std::uint8_t* row = nullptr;
  float scale = 0;
  float* output = nullptr;  // of the row

  HWY_INLINE void one(std::size_t column) const {
    output[column] = static_cast<float>(Format::one(row, column) - zero_code) * scale;
  }
#if HWY_TARGET != HWY_SCALAR
  // Where a vector holds what every code stands for, a code is looked up.
  static constexpr bool has_table = lanes >= 8 && lanes > Format::mask;
  HWY_INLINE Floats values(Bits codes) const {
    const Bits centred = hn::Sub(codes, hn::Set(BitsTag{}, zero_code));
    return hn::Mul(hn::ConvertTo(FloatTag{}, centred), all(scale));
  }
#endif
  HWY_INLINE void columns(std::size_t column, std::size_t count) const {
    const std::size_t end = column + count;
#if HWY_TARGET != HWY_SCALAR
    const FloatTag d;
    for (; column < end && column % Format::per_byte != 0; ++column)
      one(column);
    const Floats all_values = values(hn::Iota(BitsTag{}, 0));
    for (; column + lanes <= end; column += lanes) {
      const Bits codes = Format::vector(row + column / Format::per_byte);
      if constexpr (has_table)
        hn::StoreU(hn::TableLookupLanes(all_values, hn::IndicesFromVec(d, codes)), d,
                   output + column);
      else
        hn::StoreU(values(codes), d, output + column);
    }
#endif
    for (; column < end; ++column)
      one(column);
  }
};

template <unsigned bits>
HWY_INLINE void unpack_groups(
    const slots::UnpackIntGrouped& call,
    BlockRange range,
    float* output) {  // NOLINT(readability-non-const-parameter): written to as Group::output
  const RowBlocks groups{{.columns = call.columns, .block = call.group_size}};
  RowBlock group = groups.at(range.first);
  for (std::size_t left = range.last - range.first; left > 0; --left) {
    const float scale = at_least(call.scale.at(group.row, group.in_row), smallest_scale);
    const Group<bits> of_row{.row = call.payload.data() + group.row * call.row_bytes,
                             .scale = scale,
                             .output = output + group.row * call.columns};
    of_row.columns(group.in_row * call.group_size, group.count);
    group = groups.after(group);
  }
}

void int_grouped(const slots::UnpackIntGrouped& call, BlockRange range, float* output) {
  if (call.bits == 4)
    unpack_groups<4>(call, range, output);
  else
    unpack_groups<2>(call, range, output);
}

// ---- NVFP4

inline constexpr float levels[16] = {0,     0.5F,  1,     1.5F,  2,     3,     4,     6,
                                     -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE Floats e2m1_values(Bits codes) {
  const FloatTag d;
  const BitsTag di;
  if constexpr (lanes == 16)
    return hn::TableLookupLanes(hn::LoadU(d, levels), hn::IndicesFromVec(d, codes));
  // Up to level 3 a magnitude is half its index; above, the three bits are the last of the exponent
  // and the first of the mantissa.
  const Bits index = hn::And(codes, hn::Set(di, 7));
  const Floats halves = hn::Mul(hn::ConvertTo(d, index), all(0.5F));
  const Bits bits = hn::Add(hn::ShiftLeft<22>(index), hn::Set(di, 126 << 23));
  const auto is_large = hn::RebindMask(d, hn::Gt(index, hn::Set(di, 3)));
  const Floats magnitudes = hn::IfThenElse(is_large, hn::BitCast(d, bits), halves);
  const Bits sign = hn::ShiftLeft<28>(hn::And(codes, hn::Set(di, 8)));
  return hn::Or(magnitudes, hn::BitCast(d, sign));
}
#endif

// The 16 codes of a block.
HWY_INLINE void unpack_block(const std::uint8_t* bytes, float scale, float* output) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < slots::nvfp4_block; ++i)
    output[i] = levels[Codes<4>::one(bytes, i)] * scale;
#else
  for (std::size_t i = 0; i < slots::nvfp4_block; i += lanes) {
    const Floats values = e2m1_values(Codes<4>::vector(bytes + i / 2));
    hn::StoreU(hn::Mul(values, all(scale)), FloatTag{}, output + i);
  }
#endif
}

// Codes of four bits of exponent and three of mantissa, both of which fp32 has at its own place:
// 2^120 times less, for the bias. NaN has all seven bits.
HWY_INLINE Floats e4m3_values(Bits codes) {
  const FloatTag d;
  const BitsTag di;
  constexpr std::int32_t nan = 0x7F;
  const Bits magnitude = hn::And(codes, hn::Set(di, 0x7F));
  const Floats values = hn::Mul(hn::BitCast(d, hn::ShiftLeft<20>(magnitude)), all(0x1p120F));
  const auto is_nan = hn::RebindMask(d, hn::Eq(magnitude, hn::Set(di, nan)));
  const Floats unsigned_values =
      hn::IfThenElse(is_nan, all(std::numeric_limits<float>::quiet_NaN()), values);
  const Bits sign = hn::ShiftLeft<24>(hn::And(codes, hn::Set(di, 0x80)));
  return hn::Or(unsigned_values, hn::BitCast(d, sign));
}

// Blocks of a row, numbered as in the payload, which may hold more of them than are asked for.
struct StoredBlocks {
  std::size_t first = 0;
  std::size_t count = 0;
};

// REQUIRES: at most as many blocks as there are lanes.
HWY_INLINE Floats load_block_scales(const slots::UnpackNvfp4& call, const StoredBlocks& blocks) {
  if (!call.block_scale.empty())
    return blocks.count == lanes ? hn::LoadU(FloatTag{}, call.block_scale.data() + blocks.first)
                                 : load_rest(call.block_scale.data() + blocks.first, blocks.count);
  const hn::Rebind<std::uint8_t, FloatTag> d8;
  std::uint8_t codes[lanes] = {};
  std::memcpy(codes, call.block_scale_e4m3.data() + blocks.first, blocks.count);
  return e4m3_values(hn::PromoteTo(BitsTag{}, hn::LoadU(d8, codes)));
}

inline constexpr std::size_t blocks_per_tile = 64;

// REQUIRES: at most a tile of blocks.
HWY_INLINE void unpack_tile(const slots::UnpackNvfp4& call,
                            const StoredBlocks& blocks,
                            float tensor_scale,
                            float* output) {
  HWY_ALIGN float scales[blocks_per_tile];
  for (std::size_t i = 0; i < blocks.count; i += lanes) {
    const Floats given = load_block_scales(
        call, {.first = blocks.first + i, .count = std::min(lanes, blocks.count - i)});
    const Floats scale = hn::Mul(given, all(tensor_scale));
    hn::Store(at_least(scale, all(smallest_scale)), FloatTag{}, scales + i);
  }
  const std::uint8_t* bytes = call.payload.data() + blocks.first * (slots::nvfp4_block / 2);
  for (std::size_t i = 0; i < blocks.count; ++i)
    unpack_block(bytes + i * (slots::nvfp4_block / 2), scales[i], output + i * slots::nvfp4_block);
}

void nvfp4_blocks(const slots::UnpackNvfp4& call, BlockRange range, float* output) {
  const RowBlocks blocks{{.columns = call.columns, .block = slots::nvfp4_block}};
  const float tensor_scale = nvfp4_tensor_scale(call.tensor_amax);
  while (range.first < range.last) {
    const RowBlock block = blocks.at(range.first);
    const std::size_t stored = block.row * call.blocks + block.in_row;
    if (block.count < slots::nvfp4_block) {
      float whole[slots::nvfp4_block];
      unpack_tile(call, {.first = stored, .count = 1}, tensor_scale, whole);
      std::copy_n(whole, block.count, output + block.begin);
      ++range.first;
      continue;
    }
    const std::size_t whole_in_row =
        (call.columns - block.in_row * slots::nvfp4_block) / slots::nvfp4_block;
    const std::size_t count = std::min({blocks_per_tile, whole_in_row, range.last - range.first});
    unpack_tile(call, {.first = stored, .count = count}, tensor_scale, output + block.begin);
    range.first += count;
  }
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace lyk::cpu {
namespace {

constexpr auto int_grouped_variants = LYK_VARIANTS(int_grouped);
constexpr auto nvfp4_variants = LYK_VARIANTS(nvfp4_blocks);

}  // namespace

void unpack_int_grouped(const slots::UnpackIntGrouped& call,
                        std::span<float> output,
                        const Execution& execution) {
  LYK_CHECK((call.bits == 2 || call.bits == 4) && call.group_size > 0);
  LYK_CHECK(call.payload.size() == call.rows * call.row_bytes);
  LYK_CHECK(call.columns <= call.row_bytes * (8 / call.bits));
  LYK_CHECK(output.size() == call.rows * call.columns);
  const StandardArithmetic arithmetic;
  auto& variant = int_grouped_variants.at(execution.instructions);
  const RowBlocks groups{{.columns = call.columns, .block = call.group_size}};
  for_each_range(groups.units(call.rows), execution.workers,
                 [&](std::size_t first, std::size_t last) {
                   variant(call, {.first = first, .last = last}, output.data());
                 });
}

void unpack_nvfp4(const slots::UnpackNvfp4& call,
                  std::span<float> output,
                  const Execution& execution) {
  LYK_CHECK(call.payload.size() == call.rows * call.blocks * slots::nvfp4_block / 2);
  LYK_CHECK(call.scalar_division == slots::ScalarDivision::ieee);
  LYK_CHECK(call.block_scale.size() + call.block_scale_e4m3.size() == call.rows * call.blocks);
  LYK_CHECK(call.columns <= call.blocks * slots::nvfp4_block);
  LYK_CHECK(output.size() == call.rows * call.columns);
  const StandardArithmetic arithmetic;
  auto& variant = nvfp4_variants.at(execution.instructions);
  const RowBlocks blocks{{.columns = call.columns, .block = slots::nvfp4_block}};
  for_each_range(blocks.units(call.rows), execution.workers,
                 [&](std::size_t first, std::size_t last) {
                   variant(call, {.first = first, .last = last}, output.data());
                 });
}

}  // namespace lyk::cpu

#endif  // HWY_ONCE
