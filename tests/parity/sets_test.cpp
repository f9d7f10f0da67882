#include "parity/sets.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "client/machine.hpp"
#include "client/ms_deform_im2col.hpp"
#include "proto/launch_abi.hpp"

namespace lyk::parity {
namespace {

TEST(Sets, ThereIsOneForEverySlotThatAPinCanServe) {
  for (const std::string_view slot : client::launchable_slots())
    EXPECT_NE(find_set(slot), nullptr) << slot;
  EXPECT_EQ(find_set("nms"), nullptr);
}

TEST(Sets, EveryCaseIsWholeAndHasANameOfItsOwn) {
  for (const Set& set : sets()) {
    std::set<std::string> names;
    for (std::size_t index = 0; index < set.cases; ++index) {
      const Case made = set.make(index, Extent::small);
      EXPECT_TRUE(names.insert(made.name).second) << made.name;
      for (const Call& call : made.calls) {
        EXPECT_FALSE(call.expected.empty()) << made.name;
        for (const Expected& expected : call.expected) {
          ASSERT_LT(expected.tensor, call.tensors.size());
          ASSERT_TRUE(call.tensors[expected.tensor]);
          EXPECT_EQ(expected.values.size(), element_count(call.tensors[expected.tensor]->shape));
          for (const double value : expected.values)
            ASSERT_TRUE(std::isfinite(value)) << made.name;
        }
      }
    }
  }
}

TEST(Sets, EveryKernelOfAttentionIsCompared) {
  const Set& set = *find_set("ms_deform_attn");
  std::set<std::size_t> chosen{client::deform_forward_kernel().index};
  for (std::size_t index = 0; index < set.cases; ++index) {
    const Case made = set.make(index, Extent::small);
    const Tensor& value = *made.calls.front().tensors[LYK_MS_DEFORM_ATTN_VALUE];
    chosen.insert(client::deform_backward_kernel(value.shape[3]).index);
  }
  EXPECT_EQ(chosen.size(), find_launch_abi("ms_deform_im2col")->kernels.size());
}

TEST(Sets, ACaseIsTheSameEveryTime) {
  const Set& set = *find_set("ms_deform_attn");
  const Case first = set.make(0, Extent::whole);
  const Case again = set.make(0, Extent::whole);
  ASSERT_EQ(first.calls.size(), again.calls.size());
  for (std::size_t i = 0; i < first.calls.size(); ++i)
    for (std::size_t t = 0; t < first.calls[i].tensors.size(); ++t)
      if (first.calls[i].tensors[t]) {
        EXPECT_EQ(first.calls[i].tensors[t]->bytes, again.calls[i].tensors[t]->bytes);
      }
}

// The gradient of a location jumps there, and either side is right.
TEST(Sets, NoSampleOfAttentionIsNearToAWholePixel) {
  const Set& set = *find_set("ms_deform_attn");
  const Case made = set.make(0, Extent::whole);
  const Call& call = made.calls.front();
  const auto& parameters =
      *static_cast<const lyk_ms_deform_attn_parameters*>(call.parameters.get());
  const Tensor& locations = *call.tensors[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS];
  const std::vector<double> drawn = numbers(locations.dtype, locations.bytes);
  const auto points = static_cast<std::size_t>(locations.shape[4]);
  const auto levels = static_cast<std::size_t>(locations.shape[3]);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::size_t level = i / 2 / points % levels;
    const std::int64_t size = parameters.host_spatial_shapes[2 * level + (i % 2 == 0 ? 1 : 0)];
    const double pixel = drawn[i] * static_cast<double>(size) - 0.5;
    EXPECT_GT(std::abs(pixel - std::round(pixel)), 0.015) << i;
  }
}

}  // namespace
}  // namespace lyk::parity
