// The file that is installed beside the library.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "kernels/image/image.hpp"

namespace lyk::test {
namespace {

std::vector<image::Image> images_of_fatbin() {
  std::ifstream stream{LYK_FATBIN, std::ios::binary};
  const std::vector<char> chars{std::istreambuf_iterator<char>{stream}, {}};
  const auto contents = image::read_contents(std::as_bytes(std::span{chars})).value();
  EXPECT_TRUE(contents.skipped.empty());
  return contents.images;
}

TEST(CudaFatbin, HoldsEveryArchitecture) {
  std::map<image::Kind, std::set<int>> found;
  for (const image::Image& image : images_of_fatbin())
    found[image.kind].insert(image.arch.number());
  EXPECT_EQ(found[image::Kind::ptx], (std::set{75, 90}));
  EXPECT_EQ(found[image::Kind::cubin], (std::set{75, 80, 86, 89, 90, 100, 120}));
}

TEST(CudaFatbin, HoldsTheSameKernelsForEachWithOneParameter) {
  const auto images = images_of_fatbin();
  ASSERT_FALSE(images.empty());
  for (const image::Image& image : images) {
    EXPECT_EQ(image.kernels, images.front().kernels) << image.arch.sm();
    for (const image::Kernel& kernel : image.kernels) {
      EXPECT_TRUE(kernel.symbol.starts_with("lyk_")) << kernel.symbol;
      EXPECT_EQ(kernel.parameters.size(), 1U) << kernel.symbol;
    }
  }
}

}  // namespace
}  // namespace lyk::test
