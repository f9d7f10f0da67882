#include "parity/sets.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "client/machine.hpp"
#include "client/ms_deform_im2col.hpp"
#include "client/quantization.hpp"
#include "proto/launch_abi.hpp"
#include "proto/text.hpp"
#include "tests/parity/pinned_inputs.hpp"

namespace lyk::parity {
namespace {

TEST(Sets, ThereIsOneForEverySlotThatThereIsCodeFor) {
  std::size_t slots = 0;
  for (const std::string_view slot : client::launchable_slots()) {
    EXPECT_NE(find_set(slot), nullptr) << slot;
    ++slots;
  }
  for (const client::QuantizationSlot& slot : client::quantization_slots()) {
    EXPECT_NE(find_set(slot.name), nullptr) << slot.name;
    ++slots;
  }
  EXPECT_EQ(sets().size(), slots);
  EXPECT_EQ(find_set("nms"), nullptr);
}

void expect_whole(const Case& made) {
  EXPECT_FALSE(made.calls.empty()) << made.name;
  for (const Call& call : made.calls) {
    EXPECT_FALSE(call.expected.empty()) << made.name;
    for (const Expected& expected : call.expected) {
      ASSERT_LT(expected.tensor, call.tensors.size());
      ASSERT_TRUE(call.tensors[expected.tensor]);
      EXPECT_EQ(expected.values.size(), element_count(call.tensors[expected.tensor]->shape));
      // What is within a tolerance of something that is no number would be within it of nothing.
      for (const double value : expected.values)
        ASSERT_TRUE(std::isfinite(value) || !expected.gate.has_tolerance()) << made.name;
    }
  }
}

// Those for `cuda`, of which the others have a part.
TEST(Sets, EveryCaseIsWholeAndHasANameOfItsOwn) {
  for (const Set& set : sets()) {
    const testing::ScopedTrace trace{__FILE__, __LINE__, std::string{set.slot}};
    std::set<std::string> names;
    for (std::size_t index = 0; index < set.count(Implementation::cuda); ++index) {
      const Case made = set.make(index, Extent::small, Implementation::cuda);
      EXPECT_TRUE(names.insert(made.name).second) << made.name;
      expect_whole(made);
    }
  }
}

TEST(Sets, WhatGoesInIsTheSameEverywhere) {
  ASSERT_EQ(test::pinned_inputs.size(), sets().size());
  for (const test::PinnedInputs& pinned : test::pinned_inputs) {
    const Set& set = *find_set(pinned.slot);
    std::uint32_t crc = 0;
    for (std::size_t index = 0; index < set.count(Implementation::cuda); ++index)
      crc = test::crc_of_inputs(set.make(index, Extent::small, Implementation::cuda), crc);
    EXPECT_EQ(crc, pinned.small) << pinned.slot << ": 0x" << std::hex << crc;
  }
}

TEST(Sets, EveryKernelOfAttentionIsCompared) {
  const Set& set = *find_set("ms_deform_attn");
  std::set<std::size_t> chosen{client::deform_forward_kernel().index};
  for (std::size_t index = 0; index < set.count(Implementation::hub); ++index) {
    const Case made = set.make(index, Extent::small, Implementation::hub);
    const Tensor& value = *made.calls.front().tensors[LYK_MS_DEFORM_ATTN_VALUE];
    chosen.insert(client::deform_backward_kernel(value.shape[3]).index);
  }
  EXPECT_EQ(chosen.size(), find_launch_abi("ms_deform_im2col")->kernels.size());
}

// Of `cuda` the types of value decide, and each is run forward and backward in both ways.
TEST(Sets, EveryTypeOfAttentionIsComparedWithFloat32) {
  const Set& set = *find_set("ms_deform_attn");
  std::set<std::string> compared;
  for (std::size_t index = set.count(Implementation::hub); index < set.count(Implementation::cuda);
       ++index)
    for (const Call& call : set.make(index, Extent::small, Implementation::cuda).calls)
      for (const Expected& expected : call.expected)
        if (expected.as_of && call.tensors[LYK_MS_DEFORM_ATTN_VALUE]->strides.empty())
          compared.insert(
              str(name(type_of(call.tensors[LYK_MS_DEFORM_ATTN_VALUE]->dtype)), ' ', call.pass));
  EXPECT_EQ(compared,
            (std::set<std::string>{"float16 forward", "float16 backward",
                                   "float16 deterministic backward", "bfloat16 forward",
                                   "bfloat16 backward", "bfloat16 deterministic backward"}));
}

TEST(Sets, ACaseIsTheSameEveryTime) {
  const Set& set = *find_set("ms_deform_attn");
  const Case first = set.make(0, Extent::whole, Implementation::hub);
  const Case again = set.make(0, Extent::whole, Implementation::hub);
  ASSERT_EQ(first.calls.size(), again.calls.size());
  for (std::size_t i = 0; i < first.calls.size(); ++i)
    for (std::size_t t = 0; t < first.calls[i].tensors.size(); ++t)
      if (first.calls[i].tensors[t]) {
        EXPECT_EQ(first.calls[i].tensors[t]->bytes, again.calls[i].tensors[t]->bytes);
      }
}

// The gradient of a location jumps there, and either side is right.
void expect_no_sample_near_to_a_whole_pixel(const Case& made) {
  const Call& call = made.calls.back();
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
    EXPECT_GT(std::abs(pixel - std::round(pixel)), 0.015) << made.name << ' ' << i;
  }
}

TEST(Sets, NoSampleOfAttentionIsNearToAWholePixel) {
  const Set& set = *find_set("ms_deform_attn");
  expect_no_sample_near_to_a_whole_pixel(set.make(0, Extent::whole, Implementation::hub));
  // Of narrow types there are fewer numbers beside one that is.
  for (std::size_t index = set.count(Implementation::hub); index < set.count(Implementation::cuda);
       ++index)
    expect_no_sample_near_to_a_whole_pixel(set.make(index, Extent::whole, Implementation::cuda));
}

}  // namespace
}  // namespace lyk::parity
