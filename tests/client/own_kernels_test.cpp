// The kernels that are built and those that calls ask for are the same ones.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "client/cuda_ms_deform_attn.hpp"
#include "client/cuda_quantization.hpp"
#include "kernels/image/image.hpp"

namespace lyk::test {
namespace {

void add_kernels(const char* fatbin, std::set<std::string>& symbols) {
  std::ifstream stream{fatbin, std::ios::binary};
  const std::vector<char> chars{std::istreambuf_iterator<char>{stream}, {}};
  const auto images = image::read_images(std::as_bytes(std::span{chars})).value();
  ASSERT_FALSE(images.empty());
  for (const image::Kernel& kernel : images.front().kernels)
    symbols.insert(kernel.symbol);
}

TEST(CudaKernels, EachIsOneThatSomeCallRuns) {
  std::set<std::string> built;
  add_kernels(LYK_IMAGES "/quantization.fatbin", built);
  add_kernels(LYK_IMAGES "/deform.fatbin", built);
  const auto of_attention = client::cuda_ms_deform_attn_symbols();
  std::set<std::string> asked_for{of_attention.begin(), of_attention.end()};
  for (const client::QuantizationSlot& slot : client::quantization_slots())
    for (const std::string_view symbol : client::cuda_slot(slot.name).symbols)
      asked_for.emplace(symbol);
  EXPECT_EQ(built, asked_for);
}

}  // namespace
}  // namespace lyk::test
