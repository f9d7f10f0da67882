#include "cache/kernel_list.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace lyk::cache {
namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(KernelList, ComesBackAsItWasWritten) {
  const std::vector<std::vector<image::Kernel>> lists{
      {},
      {{"k", "k", {}}},
      {{"_Z1av", "a()", {{0, 8}}}, {"_Z1bPfi", "b(float*, int)", {{0, 8}, {8, 4}}}},
      {{"odd \n, : name", "", {{4294967295, 4294967295}}}},
  };
  for (const auto& kernels : lists) {
    const auto read = decode_kernels(bytes_of(encode_kernels(kernels)));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, kernels);
  }
}

TEST(KernelList, IsTheTextThatTheFormatStates) {
  const std::vector<image::Kernel> kernels{{"_Z1bPfi", "b(float*, int)", {{0, 8}, {8, 4}}}};
  EXPECT_EQ(encode_kernels(kernels), std::string_view("_Z1bPfi\0b(float*, int)\0"
                                                      "0:8,8:4\0",
                                                      31));
}

TEST(KernelList, RefusesWhatItDoesNotWrite) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view bad : {"k"sv, "k\0k"sv, "k\0k\0"sv,
                                     "k\0k\0"
                                     "0:8"sv,
                                     "k\0k\0"
                                     "8\0"sv,
                                     "k\0k\0"
                                     "0:\0"sv,
                                     "k\0k\0:8\0"sv,
                                     "k\0k\0"
                                     "0:8,\0"sv,
                                     "k\0k\0"
                                     "-1:8\0"sv,
                                     "k\0k\0"
                                     "0:4294967296\0"sv,
                                     "k\0k\0 0:8\0"sv}) {
    EXPECT_FALSE(decode_kernels(bytes_of(bad))) << bad;
  }
}

}  // namespace
}  // namespace lyk::cache
