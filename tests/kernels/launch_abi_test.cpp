#include "proto/launch_abi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/image/demangle.hpp"

namespace lyk {
namespace {

TEST(LaunchAbi, IsFoundByNameAndNothingElseIs) {
  for (const LaunchAbi& abi : launch_abis())
    EXPECT_EQ(find_launch_abi(abi.name), &abi);
  EXPECT_EQ(find_launch_abi("ms_deform_im2co"), nullptr);
  EXPECT_EQ(find_launch_abi(""), nullptr);
}

TEST(LaunchAbi, DeformableAttentionNeedsTheForwardAndEveryBackwardForFloat) {
  const LaunchAbi* abi = find_launch_abi("ms_deform_im2col");
  ASSERT_NE(abi, nullptr);
  ASSERT_EQ(abi->kernels.size(), 16U);
  std::set<std::string> names;
  for (const AbiKernel& kernel : abi->kernels) {
    const std::string name = image::Demangler{}.name(kernel.symbol);
    names.insert(name.substr(0, name.find('(')));
  }
  std::set<std::string> expected{
      "void ms_deformable_im2col_gpu_kernel<float>",
      "void ms_deformable_col2im_gpu_kernel_gm<float>",
      "void ms_deformable_col2im_gpu_kernel_shm_reduce_v1<float>",
      "void ms_deformable_col2im_gpu_kernel_shm_reduce_v2<float>",
      "void ms_deformable_col2im_gpu_kernel_shm_reduce_v2_multi_blocks<float>"};
  for (const std::string channels : {"1", "2", "4", "8", "16", "32"})
    expected.insert("void ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<float, " +
                    channels + "u>");
  for (const std::string channels : {"64", "128", "256", "512", "1024"})
    expected.insert("void ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2<float, " +
                    channels + "u>");
  EXPECT_EQ(names, expected);
}

TEST(LaunchAbi, LayoutsAreThoseOfTheDeclarations) {
  const LaunchAbi* abi = find_launch_abi("ms_deform_im2col");
  ASSERT_NE(abi, nullptr);
  using Layout = std::vector<KernelParameter>;
  const Layout forward{{0, 4},  {8, 8},  {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 4},
                       {52, 4}, {56, 4}, {60, 4}, {64, 4}, {68, 4}, {72, 4}, {80, 8}};
  const Layout backward{{0, 4},  {8, 8},  {16, 8}, {24, 8}, {32, 8}, {40, 8},
                        {48, 8}, {56, 4}, {60, 4}, {64, 4}, {68, 4}, {72, 4},
                        {76, 4}, {80, 4}, {88, 8}, {96, 8}, {104, 8}};
  for (const AbiKernel& kernel : abi->kernels) {
    const bool is_forward = kernel.symbol.find("im2col_gpu") != std::string_view::npos;
    EXPECT_TRUE(std::ranges::equal(kernel.parameters, is_forward ? forward : backward))
        << kernel.symbol;
  }
}

}  // namespace
}  // namespace lyk
