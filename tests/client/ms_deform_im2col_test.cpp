#include "client/ms_deform_im2col.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "proto/launch_abi.hpp"

namespace lyk::client {
namespace {

std::string_view symbol(const DeformKernel& kernel) {
  return find_launch_abi("ms_deform_im2col")->kernels[kernel.index].symbol;
}

TEST(DeformKernel, OfTheForwardHasBlocksOf1024) {
  EXPECT_NE(symbol(deform_forward_kernel()).find("im2col_gpu_kernel"), std::string_view::npos);
  EXPECT_EQ(deform_forward_kernel().threads, 1024);
  EXPECT_EQ(deform_forward_kernel().shared_bytes, 0);
}

TEST(DeformKernel, OfTheBackwardFollowsTheChannels) {
  const struct {
    std::int64_t channels;
    std::string_view kernel;
    std::int64_t threads;
    std::int64_t shared_bytes;
  } rows[] = {
      {1, "shm_blocksize_aware_reduce_v1IfLj1E", 1, 0},
      {2, "shm_blocksize_aware_reduce_v1IfLj2E", 2, 0},
      {3, "shm_reduce_v1If", 3, 36},
      {4, "shm_blocksize_aware_reduce_v1IfLj4E", 4, 0},
      {8, "shm_blocksize_aware_reduce_v1IfLj8E", 8, 0},
      {16, "shm_blocksize_aware_reduce_v1IfLj16E", 16, 0},
      {32, "shm_blocksize_aware_reduce_v1IfLj32E", 32, 0},
      {33, "shm_reduce_v1If", 33, 396},
      {63, "shm_reduce_v1If", 63, 756},
      {64, "shm_blocksize_aware_reduce_v2IfLj64E", 64, 0},
      {65, "shm_reduce_v2If", 65, 780},
      {128, "shm_blocksize_aware_reduce_v2IfLj128E", 128, 0},
      {256, "shm_blocksize_aware_reduce_v2IfLj256E", 256, 0},
      {512, "shm_blocksize_aware_reduce_v2IfLj512E", 512, 0},
      {1000, "shm_reduce_v2If", 1000, 12000},
      {1023, "shm_reduce_v2If", 1023, 12276},
      {1024, "shm_blocksize_aware_reduce_v2IfLj1024E", 1024, 0},
      {1025, "col2im_gpu_kernel_gmIf", 1024, 0},
      {1100, "col2im_gpu_kernel_gmIf", 1024, 0},
      {2048, "shm_reduce_v2_multi_blocksIf", 1024, 12288},
      {3072, "shm_reduce_v2_multi_blocksIf", 1024, 12288},
      {3073, "col2im_gpu_kernel_gmIf", 1024, 0},
  };
  for (const auto& row : rows) {
    const DeformKernel kernel = deform_backward_kernel(row.channels);
    EXPECT_NE(symbol(kernel).find(row.kernel), std::string_view::npos)
        << row.channels << ": " << symbol(kernel);
    EXPECT_EQ(kernel.threads, row.threads) << row.channels;
    EXPECT_EQ(kernel.shared_bytes, row.shared_bytes) << row.channels;
    EXPECT_EQ(adds_to_all_gradients(row.channels), row.channels > 1024) << row.channels;
  }
}

TEST(DeformImages, PerLaunchAreAsManyAsKeepEveryOffsetBelow32Bits) {
  const struct {
    const char* what;
    DeformSizes sizes;
    std::int64_t threads;
    std::int64_t images;
  } rows[] = {
      {"a small batch goes at once", {2, 10, 8, 32, 1, 300, 4}, 1024, 2},
      {"154 images of three levels", {154, 2541, 8, 32, 3, 300, 4}, 1024, 154},
      {"values: 22.3 million an image", {192, 87040, 8, 32, 4, 300, 4}, 1024, 96},
      {"results: twice their number", {4, 1, 1, 1, 1, 536'870'656, 1}, 1024, 1},
      {"results: exactly what is reached", {1, 1, 1, 1, 1, 1'073'741'311, 1}, 1024, 1},
      {"results: one too many", {1, 1, 1, 1, 1, 1'073'741'312, 1}, 1024, 0},
      {"coordinates", {100, 1, 8, 1, 4, 10'000, 16}, 1024, 100},
      {"coordinates of many points", {1000, 1, 8, 1, 4, 10'000, 16}, 1024, 209},
      {"one image has too many values", {1, 8'388'608, 8, 32, 1, 1, 1}, 1024, 0},
      {"one image has too many coordinates", {1, 1, 1, 1, 1, 1, 1'073'741'824}, 1024, 0},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(images_per_launch(row.sizes, row.threads), row.images) << row.what;
  }
}

// No thread of any launch computes a number that 32 bits do not hold.
TEST(DeformImages, PerLaunchNeverOverflowTheLastStepOverTheGrid) {
  for (const std::int64_t channels : {1, 3, 32, 33, 96, 1024, 1100}) {
    const std::int64_t threads = deform_backward_kernel(channels).threads;
    for (const std::int64_t queries : {1, 7, 300, 99'999, 900'001}) {
      const DeformSizes sizes{1'000'000, 1, 8, channels, 1, queries, 1};
      const std::int64_t images = images_per_launch(sizes, threads);
      if (images == 0)
        continue;
      const std::int64_t elements = images * queries * 8 * channels;
      const std::int64_t grid = (elements + threads - 1) / threads * threads;
      EXPECT_LE(elements - 1 + grid, 2'147'483'647) << channels << " " << queries;
    }
  }
}

}  // namespace
}  // namespace lyk::client
