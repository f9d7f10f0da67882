// The deterministic gradient of value. Atomic additions of floats round in whatever order they
// come; here every cell collects what the points around it add, and sums that up as whole numbers,
// which come out the same in every order.
//
//   count   (ms_deform_attn_backward.cu) how many points each bin has, and how much one can add
//   scan    where the points of each bin begin
//   list    writes down each point in its bin, in whatever order
//   gather  a cell has four bins around it: their points, their share, the sum, one store
//
// A term is rounded to fp32 as in the atomic backward, and then to a multiple of a unit that
// depends on the bins alone: 2^-44 times the least power of two above what any point around the
// cell can add to any channel, if that is finite. Sums of these are exact. What is 2^-21 of that
// power has all bits of fp32, what is smaller loses the last ones; terms that are not finite are no
// part of it.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/deform.cuh"
#include "kernels/cuda/reduce.cuh"

namespace lyk::cuda {
namespace {

// ---- scan -------------------------------------------------------------------------------------

// The sum of the values of this thread and those before it in the block, and of all of the block.
struct BlockScan {
  std::uint32_t up_to_here;
  std::uint32_t all;
};

// REQUIRES: the whole block calls, whole warps.
__device__ BlockScan scan_block(std::uint32_t value) {
  __shared__ std::uint32_t of_warps[warp_lanes];
  const unsigned lane = threadIdx.x % warp_lanes;
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned warps = blockDim.x / warp_lanes;
  std::uint32_t sum = value;
  for (unsigned distance = 1; distance < warp_lanes; distance *= 2) {
    const std::uint32_t before = __shfl_up_sync(0xFFFFFFFF, sum, distance);
    if (lane >= distance)
      sum += before;
  }
  if (lane == warp_lanes - 1)
    of_warps[warp] = sum;
  __syncthreads();
  std::uint32_t all = 0;
  std::uint32_t of_earlier = 0;
  for (unsigned i = 0; i < warps; ++i) {
    of_earlier += i < warp ? of_warps[i] : 0;
    all += of_warps[i];
  }
  __syncthreads();  // the next call writes again
  return {of_earlier + sum, all};
}

// A block to an image, head and level.
__device__ void scan(const MsDeformAttn& call) {
  const std::uint64_t segments = call.batch * call.heads.value * call.levels;
  for (std::uint64_t segment = blockIdx.x; segment < segments; segment += gridDim.x) {
    const std::uint64_t batch_head = segment / call.levels;
    const auto number = static_cast<std::uint32_t>(segment - batch_head * call.levels);
    const Level level = level_of(call, number);
    const bool has_cells = level.height > 0 && level.width > 0;
    const std::uint32_t bins = has_cells ? bin_in_level(level, level.height - 1, level.width) : 0;
    std::uint32_t* const counts = call.bins.counts + first_bin(call, batch_head, number, level);
    std::uint32_t before = 0;
    for (std::uint32_t first = 0; first < bins; first += blockDim.x) {
      const std::uint32_t bin = first + threadIdx.x;
      const std::uint32_t count = bin < bins ? counts[bin] : 0;
      const BlockScan sums = scan_block(count);
      if (bin < bins)
        counts[bin] = before + sums.up_to_here - count;
      before += sums.all;
    }
  }
}

// ---- list -------------------------------------------------------------------------------------

__device__ std::uint64_t first_entry(const MsDeformAttn& call,
                                     std::uint64_t batch_head,
                                     std::uint32_t level) {
  return (batch_head * call.levels + level) * call.queries.value * call.points;
}

// A thread to a point. What the scan has left in a bin's place moves on with each of its points,
// and is at last where the next bin begins.
__device__ void list(const MsDeformAttn& call) {
  const std::uint64_t samples =
      call.batch * call.queries.value * call.heads.value * call.samples_per_row.value;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t sample = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       sample < samples; sample += stride) {
    const std::uint64_t number = quotient(sample, call.samples_per_row);
    const auto of_row = static_cast<std::uint32_t>(sample - number * call.samples_per_row.value);
    const std::uint32_t level_number = of_row / call.points;
    const Level level = level_of(call, level_number);
    const Point point = point_of(call, level, sample);
    if (point.inside == 0)
      continue;
    const DeformRow row = row_of(call, number);
    const std::uint64_t batch_head = row.batch * call.heads.value + row.head;
    const std::uint64_t bin = first_bin(call, batch_head, level_number, level) +
                              bin_in_level(level, point.row, point.column);
    const std::uint32_t place = atomicAdd(call.bins.counts + bin, 1);
    call.bins.entries[first_entry(call, batch_head, level_number) + place] =
        static_cast<std::uint32_t>(row.query) * call.points + of_row % call.points;
  }
}

// ---- sums of whole numbers --------------------------------------------------------------------

// Terms below a bound as multiples of a unit: the upper and the lower 22 bits of one are each made
// by adding 1.5 * 2^23 to a float, which leaves a whole number in its mantissa.
struct FixedPoint {
  static constexpr int half_bits = 22;
  static constexpr float magic = 12582912.0F;

  float to_upper;  // a power of two: |term| * to_upper < 2^22
  float unit;
};

__device__ float power_of_two(int exponent) {
  constexpr int smallest_normal = -126;
  const int shift = exponent - smallest_normal;
  return __uint_as_float(shift >= 0 ? static_cast<std::uint32_t>(shift + 1) << float_mantissa_bits
                                    : 1U << (static_cast<int>(float_mantissa_bits) + shift));
}

// For `count` terms of which no finite one is greater than the float that has the bits `bound`.
// More than 2^18 of them take bits from the unit, since 63 bits must hold the sum.
__device__ FixedPoint fixed_point(std::uint32_t bound, std::uint32_t count) {
  constexpr int bias = 127;
  constexpr int smallest = -106;  // whose unit is the least float
  const auto many = static_cast<int>(count >> 18);
  const int exponent = static_cast<int>(bound >> float_mantissa_bits) - bias;
  const int above = max(exponent, smallest) + 1 + (32 - __clz(many));
  return {power_of_two(FixedPoint::half_bits - above),
          power_of_two(above - 2 * FixedPoint::half_bits)};
}

// The bits of both halves, with those of `magic` in them: sum_of takes them out.
__device__ std::uint64_t fixed_bits(float term, const FixedPoint& format) {
  constexpr float half = 1 << FixedPoint::half_bits;
  const float upper = __fmaf_rn(term, format.to_upper, FixedPoint::magic);
  const float rest = __fmaf_rn(term, format.to_upper, -__fsub_rn(upper, FixedPoint::magic));
  const float lower = __fmaf_rn(rest, half, FixedPoint::magic);
  return (std::uint64_t{__float_as_uint(upper)} << FixedPoint::half_bits) + __float_as_uint(lower);
}

__device__ float sum_of(std::uint64_t bits, std::uint32_t count, const FixedPoint& format) {
  constexpr std::uint64_t magic_bits = 0x4B400000;
  const std::uint64_t of_magic = (magic_bits << FixedPoint::half_bits) + magic_bits;
  return __fmul_rn(__ll2float_rn(static_cast<long long>(bits - count * of_magic)), format.unit);
}

// ---- gather -----------------------------------------------------------------------------------

// The points around a cell: those of four bins, one after another. Point n of them is entry
// offsets[i] + n of its level, in 32 bits, if bin i is the one whose end is the first beyond n.
struct Around {
  std::uint32_t offsets[4];
  std::uint32_t ends[4];
  std::uint32_t bound = 0;
  std::uint32_t level = 0;

  __device__ std::uint32_t count() const { return ends[3]; }
};

__device__ std::uint32_t level_of_cell(const MsDeformAttn& call, std::uint64_t cell) {
  std::uint32_t level = 0;
  while (level + 1 < call.levels &&
         cell >= static_cast<std::uint64_t>(__ldg(call.level_start_index + level + 1)))
    ++level;
  return level;
}

// Bin i holds the points of which the cell is cell i: it lies i / 2 rows and i % 2 columns after
// theirs.
__device__ Around points_around(const MsDeformAttn& call,
                                std::uint64_t batch_head,
                                std::uint64_t cell) {
  Around around;
  around.level = level_of_cell(call, cell);
  const Level level = level_of(call, around.level);
  const auto in_level = static_cast<int>(cell) - level.first_cell;
  const int row = in_level / level.width;
  const int column = in_level - row * level.width;
  const std::uint64_t bins = first_bin(call, batch_head, around.level, level);
  std::uint32_t before = 0;
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) {
    const std::uint32_t bin = bin_in_level(level, row - (tap >> 1), column - (tap & 1));
    const std::uint32_t begin = bin == 0 ? 0 : call.bins.counts[bins + bin - 1];
    around.offsets[tap] = begin - before;
    before += call.bins.counts[bins + bin] - begin;
    around.ends[tap] = before;
    around.bound = max(around.bound, call.bins.bounds[bins + bin]);
  }
  return around;
}

// Of a group of lanes, the first one has looked: for all others to do the same would read four bins
// as many times over. REQUIRES: the whole warp calls.
__device__ Around of_first_lane(Around around, std::uint32_t lanes) {
  const auto first = [lanes](std::uint32_t value) {
    return __shfl_sync(0xFFFFFFFF, value, 0, static_cast<int>(lanes));
  };
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) {
    around.offsets[tap] = first(around.offsets[tap]);
    around.ends[tap] = first(around.ends[tap]);
  }
  around.bound = first(around.bound);
  around.level = first(around.level);
  return around;
}

// One point, from the view of a cell.
struct alignas(16) Share {
  float tap_weight;
  float weight;
  std::uint64_t row;  // its (batch, query, head)
};

__device__ Share share_of(const MsDeformAttn& call,
                          const DeformRow& of_cell,
                          const Around& around,
                          std::uint32_t number) {
  int tap = 0;
  std::uint32_t offset = around.offsets[0];
#pragma unroll
  for (int i = 1; i < 4; ++i) {
    if (number >= around.ends[i - 1]) {
      tap = i;
      offset = around.offsets[i];
    }
  }
  const std::uint64_t batch_head = of_cell.batch * call.heads.value + of_cell.head;
  const std::uint32_t entry =
      call.bins.entries[first_entry(call, batch_head, around.level) + (offset + number)];
  const std::uint32_t query = entry / call.points;
  const std::uint64_t row =
      (of_cell.batch * call.queries.value + query) * call.heads.value + of_cell.head;
  const std::uint64_t sample =
      row * call.samples_per_row.value + around.level * call.points + (entry - query * call.points);
  const Point point = point_of(call, level_of(call, around.level), sample);
  const float along_y = tap >= 2 ? point.ly : __fsub_rn(1, point.ly);
  const float along_x = tap % 2 != 0 ? point.lx : __fsub_rn(1, point.lx);
  return {.tap_weight = __fmul_rn(along_y, along_x),
          .weight = load_as(call.weights_type, call.weights, sample),
          .row = row};
}

template <typename Element>
struct Sums {
  std::uint64_t fixed[lane_channels<Element>];
  // Infinite terms and NaN, whose sum knows no order. Where there are any, it is not zero, and is
  // the result: `fixed` means nothing then.
  float beyond[lane_channels<Element>];
};

template <typename Element>
__device__ void add_share(const Share& share,
                          const Channels<Element>& gradient,
                          const FixedPoint& format,
                          Sums<Element>& sums) {
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i) {
    const float term = __fmul_rn(share.tap_weight, __fmul_rn(gradient.at[i], share.weight));
    if (!isfinite(term))
      sums.beyond[i] += term;
    sums.fixed[i] += fixed_bits(term, format);
  }
}

// What a group of lanes works on: some channels of a head of a cell.
struct CellItem {
  DeformRow place;  // its query is the cell
  std::uint32_t chunk;
};

__device__ CellItem cell_item(const MsDeformAttn& call, std::uint64_t item) {
  const std::uint64_t head_row = quotient(item, call.chunks);
  const std::uint64_t cell_row = quotient(head_row, call.heads);
  const std::uint64_t batch = quotient(cell_row, call.cells);
  return {{batch, cell_row - batch * call.cells.value, head_row - cell_row * call.heads.value},
          static_cast<std::uint32_t>(item - head_row * call.chunks.value)};
}

template <typename Element>
__device__ void store_sums(const Sums<Element>& sums,
                           std::uint32_t count,
                           const FixedPoint& format,
                           Element* to,
                           std::int32_t stride,
                           const LaneChannels& lane) {
  Channels<Element> out;
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i)
    out.at[i] = sums.beyond[i] == 0 ? sum_of(sums.fixed[i], count, format) : sums.beyond[i];
  store_channels(to, stride, lane, out);
}

template <typename Element>
__device__ void gather(const MsDeformAttn& call) {
  __shared__ Share of_block[deform_threads];
  const auto* grad_output = static_cast<const Element*>(call.grad_output);
  auto* grad_value = static_cast<Element*>(call.grad_value);
  const DeformStrides& strides = call.grad_value_strides;
  const ChannelAccess access = access_of(call, grad_value, strides, grad_output);
  const std::uint32_t lane = threadIdx.x & (call.lanes - 1);
  const Share* const of_group = of_block + (threadIdx.x - lane);
  const std::uint64_t items = call.batch * call.cells.value * call.heads.value * call.chunks.value;
  for (Groups at = groups_of_grid(call.lanes); at.warp_has_item(items); at.item += at.stride) {
    const bool has_item = at.item < items;
    const auto [place, chunk] = cell_item(call, has_item ? at.item : 0);
    const LaneChannels mine = channels_of_lane<Element>(call, chunk, access);
    Around around{};
    if (has_item && lane == 0)
      around = points_around(call, place.batch * call.heads.value + place.head, place.query);
    around = of_first_lane(around, call.lanes);
    const FixedPoint format = fixed_point(around.bound, around.count());
    Sums<Element> sums{};
    for (std::uint32_t first = 0; __any_sync(0xFFFFFFFF, first < around.count());
         first += call.lanes) {
      __syncwarp();  // nobody reads the last ones any more
      if (first + lane < around.count())
        of_block[threadIdx.x] = share_of(call, place, around, first + lane);
      __syncwarp();
      for (std::uint32_t i = 0; i < call.lanes && first + i < around.count(); ++i)
        add_share(of_group[i],
                  load_channels(grad_output + of_group[i].row * call.channels, 1, mine), format,
                  sums);
    }
    if (has_item)
      store_sums(sums, around.count(), format,
                 grad_value + head_offset(strides, place.batch, place.head) +
                     static_cast<std::int64_t>(place.query) * strides.cell,
                 strides.channel, mine);
  }
}

}  // namespace

extern "C" __global__ void lyk_ms_deform_attn_backward_scan(MsDeformAttn call) {
  scan(call);
}

extern "C" __global__ void lyk_ms_deform_attn_backward_list(MsDeformAttn call) {
  list(call);
}

extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_gather_f32(MsDeformAttn call) {
  gather<float>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_gather_f16(MsDeformAttn call) {
  gather<Half>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_gather_bf16(MsDeformAttn call) {
  gather<Bfloat16>(call);
}

}  // namespace lyk::cuda
