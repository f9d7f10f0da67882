// What the quantization slots take, one struct per slot: the common ground of every implementation
// that works on host memory, of the tests and of the registry. Here is no arithmetic: what a slot
// computes is stated at its oracle in kernels/reference.
//
// Elements are fp32. Nothing is owned: spans and pointers are borrowed for the call, outputs are
// handed over beside the struct and overlap no input. Sizes may be zero; then there is nothing to
// do. Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lyk::slots {

// How a tensor is divided by a constant of the formula (127, 255, 2688, 7). PyTorch does it
// differently by device, and the results differ in the last bit for up to 72 % of all values.
// Divisions of a tensor by a tensor are correctly rounded everywhere and have no mode.
enum class ScalarDivision : std::uint8_t {
  ieee,        // x / c, correctly rounded: PyTorch on a CPU
  reciprocal,  // x * fl32(1 / c): PyTorch on CUDA
};

// What floor(log2(x)) means for the few floats just below a power of two.
enum class Log2Rule : std::uint8_t {
  rounded,  // floor of the correctly rounded fp32 logarithm, which may already be the next integer:
            // PyTorch on a CPU, and CUDA 13.0's log2f
  exponent,  // floor of the exact logarithm, which is the exponent field: LibreYOLO's Triton
             // kernels
};

// The code of an element whose quotient is too large for a 64-bit integer, or is infinite. NaN has
// the lowest code under both rules, and no rule matters to gradients: those are masked.
enum class CodeOverflow : std::uint8_t {
  lowest,    // -128 whatever the sign, as x86 converts: PyTorch on an x86 CPU
  saturate,  // 127 above, -128 below: PyTorch on CUDA
};

// The zero point of a range that has none: it is NaN before it becomes a 32-bit integer. That is so
// for a range from minus infinity, and for one of NaN, whose results are NaN either way.
enum class NanAsInteger : std::uint8_t {
  lowest,  // -2^31, as x86 converts: PyTorch on an x86 CPU
  zero,    // PyTorch on CUDA
};

// A dense tensor in the order of its memory, seen along one axis: `outer` x `channels` x `inner`
// elements, where element i belongs to channel (i / inner) % channels. A row-major (N, C, H, W) has
// {N, C, H * W} along axis 1, the same tensor in channels_last {N * H * W, C, 1}; any dense order
// of axes has such a form. One channel is the whole tensor: {1, 1, elements}.
struct ChannelAxis {
  std::size_t outer = 1;
  std::size_t channels = 1;
  std::size_t inner = 0;

  constexpr std::size_t elements() const { return outer * channels * inner; }
  constexpr std::size_t channel_of(std::size_t element) const { return element / inner % channels; }
};

// The elements of an only channel lie one after another, wherever its axis stands.
constexpr ChannelAxis joined(const ChannelAxis& axis) {
  return axis.channels == 1 ? ChannelAxis{.inner = axis.elements()} : axis;
}

// One scale per group of a row: that of row r and group g is data[r * row_stride + g *
// group_stride]. A stride of zero broadcasts. `data` null: there is none.
struct GroupScale {
  const float* data = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t group_stride = 0;

  constexpr float at(std::size_t row, std::size_t group) const {
    return data[static_cast<std::ptrdiff_t>(row) * row_stride +
                static_cast<std::ptrdiff_t>(group) * group_stride];
  }
};

// How many groups `count` elements make, of which the last one may not be full.
constexpr std::size_t groups_in(std::size_t count, std::size_t group_size) {
  return count / group_size + (count % group_size == 0 ? 0 : 1);
}

inline constexpr std::size_t nvfp4_block = 16;  // elements that share one scale
inline constexpr std::size_t mxfp4_block = 32;

// ---- fake_quant -------------------------------------------------------------------------------

struct FakeQuantInt8PerChannel {
  std::span<const float> weight = {};  // axis.elements()
  ChannelAxis axis = {};
  std::span<const float> scale = {};  // axis.channels; empty: from the greatest magnitude of each
  ScalarDivision scalar_division = ScalarDivision::ieee;
  CodeOverflow overflow = CodeOverflow::lowest;
};

struct FakeQuantInt8Affine {
  std::span<const float> x = {};
  float lo = 0;  // the calibrated range of x
  float hi = 0;
  ScalarDivision scalar_division = ScalarDivision::ieee;
  NanAsInteger nan_as_integer = NanAsInteger::lowest;
};

struct FakeQuantFp8 {
  std::span<const float> x = {};  // axis.elements()
  ChannelAxis axis = {};
  std::span<const float> scale = {};  // axis.channels
};

struct FakeQuantIntGrouped {
  std::span<const float> weight = {};  // rows * columns, row-major
  std::size_t rows = 0;
  std::size_t columns = 0;
  unsigned bits = 4;             // 2 to 8
  std::size_t group_size = 128;  // of columns; the last group of a row may be shorter
  GroupScale scale = {};         // data null: from the greatest magnitude per group
  ScalarDivision scalar_division = ScalarDivision::ieee;
};

// Both nvfp4 slots see a tensor (..., columns) as rows of `columns`, in blocks of 16; the last
// block of a row may be shorter.
struct FakeQuantNvfp4Weight {
  std::span<const float> weight = {};  // rows * columns, row-major
  std::size_t rows = 0;
  std::size_t columns = 0;
  float tensor_amax = 0;  // the greatest magnitude of the tensor when it was first quantised
  ScalarDivision scalar_division = ScalarDivision::ieee;
};

struct FakeQuantNvfp4Dynamic {
  std::span<const float> x = {};  // rows * columns, row-major
  std::size_t rows = 0;
  std::size_t columns = 0;
  ScalarDivision scalar_division = ScalarDivision::ieee;
};

// fake_quant_mxfp4_weight and fake_quant_mxfp4_dynamic, which are the same computation. Rows as
// above, in blocks of 32.
struct FakeQuantMxfp4 {
  std::span<const float> x = {};  // rows * columns, row-major
  std::size_t rows = 0;
  std::size_t columns = 0;
  Log2Rule log2 = Log2Rule::rounded;
};

// ---- unpack -----------------------------------------------------------------------------------

// The output of both is rows * columns, row-major; what the payload holds beyond `columns` is
// padding.
struct UnpackIntGrouped {
  std::span<const std::uint8_t> payload = {};  // rows * row_bytes; codes from the lowest bits up
  std::size_t rows = 0;
  std::size_t row_bytes = 0;  // row_bytes * 8 / bits is a multiple of group_size
  std::size_t columns = 0;    // at most row_bytes * 8 / bits
  unsigned bits = 4;          // 2 or 4
  std::size_t group_size = 128;
  GroupScale scale = {};
};

struct UnpackNvfp4 {
  // rows * blocks * 8; the low half of a byte comes first.
  std::span<const std::uint8_t> payload = {};
  std::size_t rows = 0;
  std::size_t blocks = 0;   // of 16 codes, per row
  std::size_t columns = 0;  // at most blocks * 16
  // rows * blocks scales, in one of two forms; the other is empty.
  std::span<const std::uint8_t> block_scale_e4m3 = {};
  std::span<const float> block_scale = {};
  float tensor_amax = 0;
  ScalarDivision scalar_division = ScalarDivision::ieee;
};

}  // namespace lyk::slots
