#include "proto/launch_abi.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "proto/text.hpp"

namespace lyk {

namespace {

// Lays parameters out as the CUDA ABI does: each at the next multiple of its own size. `shape` has
// one letter for each parameter: 'i' an int, 'p' a pointer.
template <std::size_t count>
constexpr auto lay_out(std::string_view shape) {
  std::array<KernelParameter, count> out{};
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t bytes = shape[i] == 'p' ? 8 : 4;
    const std::uint32_t offset = (end + bytes - 1) / bytes * bytes;
    out[i] = {.offset = offset, .size = bytes};
    end = offset + bytes;
  }
  return out;
}

// The multi-scale deformable attention kernels of fundamentalvision/Deformable-DETR, which
// kernels-community/deformable-detr builds unchanged. Parameters in order:
//   forward   n, value, spatial_shapes, level_start_index, sampling_loc, attn_weight, batch_size,
//             spatial_size, num_heads, channels, num_levels, num_query, num_point, data_col
//   backward  n, grad_col, then as forward up to num_point, then grad_value, grad_sampling_loc,
//             grad_attn_weight
constexpr auto im2col = lay_out<14>("ipppppiiiiiiip");
constexpr auto col2im = lay_out<17>("ippppppiiiiiiippp");
static_assert(im2col.back() == KernelParameter{.offset = 80, .size = 8});
static_assert(col2im.back() == KernelParameter{.offset = 104, .size = 8});

// The float instantiations only: that is what the launcher calls. A forward that needs gradients is
// accepted only where every backward kernel is there too, since the channel count picks among them.
#define LYK_COL2IM(prefix, arguments) \
  { prefix "If" arguments "EviPKT_S2_PKlS4_S2_S2_iiiiiiiPS0_S5_S5_", col2im }
#define LYK_COL2IM_V1(block) \
  LYK_COL2IM("_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1", "Lj" #block "E")
#define LYK_COL2IM_V2(block) \
  LYK_COL2IM("_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2", "Lj" #block "E")
constexpr std::array<AbiKernel, 16> ms_deform_im2col{{
    {"_Z31ms_deformable_im2col_gpu_kernelIfEviPKT_PKlS4_S2_S2_iiiiiiiPS0_", im2col},
    LYK_COL2IM("_Z34ms_deformable_col2im_gpu_kernel_gm", ""),
    LYK_COL2IM("_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v1", ""),
    LYK_COL2IM("_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v2", ""),
    LYK_COL2IM("_Z58ms_deformable_col2im_gpu_kernel_shm_reduce_v2_multi_blocks", ""),
    LYK_COL2IM_V1(1),
    LYK_COL2IM_V1(2),
    LYK_COL2IM_V1(4),
    LYK_COL2IM_V1(8),
    LYK_COL2IM_V1(16),
    LYK_COL2IM_V1(32),
    LYK_COL2IM_V2(64),
    LYK_COL2IM_V2(128),
    LYK_COL2IM_V2(256),
    LYK_COL2IM_V2(512),
    LYK_COL2IM_V2(1024),
}};
#undef LYK_COL2IM
#undef LYK_COL2IM_V1
#undef LYK_COL2IM_V2

constexpr std::array<LaunchAbi, 1> abis{{
    {.name = "ms_deform_im2col", .kernels = ms_deform_im2col},
}};

}  // namespace

std::span<const LaunchAbi> launch_abis() {
  return abis;
}

const LaunchAbi* find_launch_abi(std::string_view name) {
  for (const LaunchAbi& abi : abis)
    if (abi.name == name)
      return &abi;
  return nullptr;
}

std::string launch_abis_text() {
  std::string all;
  for (const LaunchAbi& abi : abis)
    all += str(all.empty() ? "" : ", ", quoted(abi.name));
  return all;
}

std::string no_launcher_text(std::string_view name) {
  std::vector<std::string_view> known;
  known.reserve(abis.size());
  for (const LaunchAbi& abi : abis)
    known.push_back(abi.name);
  const std::string_view near = nearest(name, known);
  return str("this release has no launcher ", quoted(name),
             near.empty() ? str("; it has ", launch_abis_text())
                          : str("; did you mean ", quoted(near), "?"));
}

}  // namespace lyk
