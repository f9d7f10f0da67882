// The slots unpack_int_grouped and unpack_nvfp4: kernels/reference/unpack_int_grouped.hpp and
// unpack_nvfp4.hpp state the formulas. Four columns to a thread: what is written is eight to
// sixteen times what is read, so that only the stores need to be wide.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/nvfp4.cuh"
#include "kernels/cuda/quads.cuh"

namespace lyk::cuda {
namespace {

// The quads of rows of `columns`, by the whole grid: `operation(place, values)` makes those that
// exist, `place.size` of four.
template <typename Operation>
__device__ void fill_rows(float* output,
                          std::uint64_t rows,
                          std::uint64_t columns,
                          const Divisor& quads_per_row,
                          const Operation& operation) {
  const GroupedRows shape{.rows = rows, .columns = columns, .quads_per_row = quads_per_row};
  const Access access = access_of_rows(shape, output, output, output);
  const std::uint64_t quads = rows * quads_per_row.value;
  const std::uint64_t stride = threads_of_grid();
  for (std::uint64_t quad = thread_of_grid(); quad < quads; quad += stride) {
    const GroupedPlace place = place_of(quad, shape);
    Quad values{};
    operation(place, values);
    store_quad(output, values, place, access);
  }
}

}  // namespace

extern "C" __global__ void lyk_unpack_int_grouped_forward_f32(UnpackIntGrouped call) {
  const std::uint32_t mask = (1U << call.bits) - 1;
  const int zero_code = 1 << (call.bits - 1);
  const bool are_quads_in_groups = call.group_size.value % quad_size == 0;
  fill_rows(call.output, call.rows, call.columns, call.quads_per_row,
            [&](const GroupedPlace& place, Quad& values) {
              const std::uint8_t* payload = call.payload + place.row * call.row_bytes;
              const float* scales =
                  call.scale + static_cast<std::int64_t>(place.row) * call.scale_row_stride;
              float scale = 0;
#pragma unroll
              for (int i = 0; i < quad_size; ++i) {
                const std::uint64_t column = place.column + i;
                if (i >= place.size)
                  continue;
                if (i == 0 || !are_quads_in_groups) {
                  const auto group = static_cast<std::int64_t>(quotient(column, call.group_size));
                  scale = at_least(load(scales + group * call.scale_group_stride), smallest_scale);
                }
                const std::uint64_t bit = column * call.bits;
                const std::uint32_t byte = __ldg(payload + (bit >> 3));
                const int code = static_cast<int>((byte >> (bit & 7)) & mask) - zero_code;
                values.at[i] = __fmul_rn(__int2float_rn(code), scale);
              }
            });
}

extern "C" __global__ void lyk_unpack_nvfp4_forward_f32(UnpackNvfp4 call) {
  constexpr std::uint32_t block_quads = 4;
  constexpr std::uint64_t bytes_per_quad = 2;
  const float tensor_scale = nvfp4_tensor_scale(load(call.tensor_amax));
  fill_rows(call.output, call.rows, call.columns, call.quads_per_row,
            [&](const GroupedPlace& place, Quad& values) {
              const std::uint64_t quad = place.column / quad_size;
              const std::uint64_t block = place.row * call.blocks + quad / block_quads;
              const float block_scale = call.block_scale != nullptr
                                            ? load(call.block_scale + block)
                                            : e4m3_value(__ldg(call.block_scale_e4m3 + block));
              const float scale = nvfp4_effective_scale(block_scale, tensor_scale);
              const std::uint8_t* payload =
                  call.payload + (place.row * call.blocks * block_quads + quad) * bytes_per_quad;
              const std::uint32_t codes = __ldg(payload) | __ldg(payload + 1) << 8;
#pragma unroll
              for (int i = 0; i < quad_size; ++i)
                values.at[i] = __fmul_rn(e2m1_value(codes >> (4 * i) & 15), scale);
            });
}

}  // namespace lyk::cuda
