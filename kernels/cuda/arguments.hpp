// What the kernels take: one struct per family, which is the only parameter of each of its kernels.
// Included by the device code and by whoever launches it, so that both have one layout.
//
// Pointers are device addresses. Tensors are of the element type that the name of a kernel ends in
// (f32, f16, bf16) where a struct says `void`, at any address that is a multiple of that type's
// size. Offsets and counts are 64 bits wide. Outputs overlap no input. Every kernel is right with
// any number of blocks of whole warps along x, of ms_deform_attn's up to 256 threads. Along y there
// is one block, since a second one would do everything, and add everything, once more; any number
// is right for lyk_fake_quant_int8_per_channel_amax_f32, which shares its rows out along y.
// launch.hpp and deform_launch.hpp say which grid and which block are good ones.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/divisor.hpp"

namespace lyk::cuda {

// Neighbouring elements that a thread of the quantization slots takes at a time: a quad.
inline constexpr int quad_size = 4;

// ---- fake_quant -------------------------------------------------------------------------------

struct Int8Affine {
  const void* x = nullptr;
  const void* grad_output = nullptr;  // backward only
  void* output = nullptr;             // or the gradient of x
  const float* lo = nullptr;          // one element each
  const float* hi = nullptr;
  std::uint64_t elements = 0;
};

// Element i belongs to channel (i / inner) % channels.
struct Int8PerChannel {
  const void* weight = nullptr;
  const void* grad_output = nullptr;    // backward only
  void* output = nullptr;               // or the gradient of weight
  const float* scale = nullptr;         // of each channel; null: it is made from `amax`
  const std::uint32_t* amax = nullptr;  // of each channel, the bits of a float
  std::uint64_t elements = 0;
  Divisor inner{};
  Divisor channels{};
};

struct Fp8 {
  const float* x = nullptr;
  float* output = nullptr;
  const float* scale = nullptr;  // of each channel
  std::uint64_t elements = 0;
  Divisor inner{};
  Divisor channels{};
};

// Rows of columns in groups that share a scale, a quad of elements to a thread. The last group of a
// row may be shorter; threads of its missing elements are idle.
struct GroupedRows {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  Divisor quads_per_row{};  // those of whole groups
};

struct IntGrouped {
  const float* weight = nullptr;
  float* output = nullptr;
  const float* scale = nullptr;  // null: from the greatest magnitude per group
  std::int64_t scale_row_stride = 0;
  std::int64_t scale_group_stride = 0;
  GroupedRows shape{};
  std::uint32_t group_size = 0;
  float highest_code = 0;  // 2^(bits - 1) - 1
};

// nvfp4 with groups of 16 and mxfp4 with groups of 32.
struct E2m1Blocks {
  const float* x = nullptr;
  const float* grad_output = nullptr;  // backward only
  float* output = nullptr;             // or the gradient of x
  const float* tensor_amax = nullptr;  // nvfp4 only: one element
  GroupedRows shape{};
};

// The greatest magnitude of each channel, added to what `amax` holds. As bits of a float: their
// order as whole numbers is that of the magnitudes, with NaN above all, so that it stays NaN.
struct Amax {
  const float* x = nullptr;
  std::uint32_t* amax = nullptr;  // of each channel; 0 before the launch
  std::uint64_t elements = 0;
  Divisor inner{};
  Divisor channels{};
};

// ---- unpack -----------------------------------------------------------------------------------

struct UnpackIntGrouped {
  const std::uint8_t* payload = nullptr;
  float* output = nullptr;
  const float* scale = nullptr;
  std::int64_t scale_row_stride = 0;
  std::int64_t scale_group_stride = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t row_bytes = 0;  // of the payload
  Divisor quads_per_row{};
  Divisor group_size{};
  std::uint32_t bits = 4;  // 2 or 4
  std::uint32_t padding = 0;
};

struct UnpackNvfp4 {
  const std::uint8_t* payload = nullptr;
  float* output = nullptr;
  const std::uint8_t* block_scale_e4m3 = nullptr;  // one of the two
  const float* block_scale = nullptr;
  const float* tensor_amax = nullptr;  // one element
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t blocks = 0;  // per row
  Divisor quads_per_row{};
};

// ---- ms_deform_attn ---------------------------------------------------------------------------

enum class ElementCode : std::uint32_t { f32, f16, bf16 };

// In elements, of (batch, cells, heads, channels).
struct DeformStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int32_t cell = 0;
  std::int32_t channel = 0;
};

// What the deterministic backward notes down: for each place that a sampling point can have between
// four cells (a "bin"), which points are there. deform_workspace in deform_launch.hpp says where in
// a workspace it lies; counts and bounds are zero before the first launch.
struct DeformBins {
  std::uint32_t* counts = nullptr;   // of points per bin; later where the next bin's points begin
  std::uint32_t* bounds = nullptr;   // bits of the greatest finite weight times gradient
  std::uint32_t* entries = nullptr;  // query * points + point, of the points of each bin
};

// kernels/reference/ms_deform_attn.hpp states the formulas. `value`, `output`, `grad_output` and
// `grad_value` are of the type that the kernel's name ends in. All but value and its gradient are
// dense.
struct MsDeformAttn {
  const void* value = nullptr;
  const std::int64_t* spatial_shapes = nullptr;     // levels x (height, width)
  const std::int64_t* level_start_index = nullptr;  // the first cell of each level
  const void* locations = nullptr;
  const void* weights = nullptr;
  void* output = nullptr;
  const void* grad_output = nullptr;
  void* grad_value =
      nullptr;  // of the atomic backward: fp32 for every type, zero before the launch
  void* grad_locations = nullptr;  // as locations
  void* grad_weights = nullptr;    // as weights
  DeformBins bins{};
  DeformStrides value_strides{};
  DeformStrides grad_value_strides{};
  Divisor heads{};
  Divisor queries{};
  Divisor cells{};
  Divisor chunks{};           // of a head's channels: what `lanes` threads take at once
  Divisor samples_per_row{};  // levels * points
  std::uint64_t batch = 0;
  std::uint32_t channels = 0;
  std::uint32_t levels = 0;
  std::uint32_t points = 0;
  std::uint32_t lanes = 0;  // that work on one (query, head): a power of two, 1 to 32
  ElementCode locations_type = ElementCode::f32;
  ElementCode weights_type = ElementCode::f32;
};

// What the atomic backward has summed up in fp32, to where it belongs.
struct DeformCast {
  const float* from = nullptr;  // dense (batch, cells, heads, channels)
  void* to = nullptr;
  DeformStrides strides{};
  std::uint64_t elements = 0;
  Divisor cells{};
  Divisor heads{};
  Divisor channels{};
};

static_assert(std::is_trivially_copyable_v<MsDeformAttn> &&
              std::is_standard_layout_v<MsDeformAttn>);

}  // namespace lyk::cuda
