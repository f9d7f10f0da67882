// The quantization slots on host tensors: what is computed, what is refused and in which words, and
// what the environment leaves of their implementations.
#include "client/quantization.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/c_interface.hpp"
#include "client/registry.hpp"
#include "proto/text.hpp"
#include "tests/client/empty_calls.hpp"
#include "tests/client/quantization_call.hpp"
#include "tests/client/scaled_call.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

client::Registry::Options with(std::vector<std::string> variables = {}) {
  return {.environment = {std::move(variables)},
          .built_in = {.driver = "libnone_such.so", .fatbin = "/none"}};
}

std::string run(client::Registry& registry, QuantizationCall& call) {
  const auto done = registry.call(call.slot, call.arguments());
  return done ? std::string{} : str(info(done.error().code).name, ": ", done.error().message);
}

std::string run(QuantizationCall& call) {
  client::Registry registry{with()};
  return run(registry, call);
}

// ---- results

class QuantizationSlots : public testing::TestWithParam<std::string_view> {};

TEST_P(QuantizationSlots, GiveTheBitsOfTheOracleOfAProcessorWhoeverRuns) {
  for (const char* name : {"cpu", "reference"}) {
    client::Registry registry{with({str("LIBREYOLO_KERNELS=", name)})};
    EXPECT_STREQ(registry.first(GetParam()).value(), name);
    for (const auto& [rows, columns] : {std::pair{3, 80}, std::pair{1, 1}, std::pair{5, 256}}) {
      QuantizationCall forward{GetParam()};
      fill(forward, {rows, columns});
      EXPECT_EQ(run(registry, forward), "");
      expect_same(forward.last().floats(), of_oracle(forward, OracleOf::cpu));
      if (GetParam().starts_with("unpack"))
        continue;
      QuantizationCall backward{GetParam()};
      fill_backward(backward, {rows, columns});
      EXPECT_EQ(run(registry, backward), "");
      expect_same(backward.last().floats(), of_oracle(backward, OracleOf::cpu));
    }
  }
}

TEST_P(QuantizationSlots, HaveThreeImplementationsAndNeedNoWorkspaceOnTheHost) {
  client::Registry registry{with()};
  std::string names;
  for (const auto& state : registry.states(GetParam()))
    names += str(state.name, state.is_active ? " " : "- ");
  EXPECT_EQ(names, "cuda cpu reference ");
  QuantizationCall call{GetParam()};
  fill(call);
  const auto& slot = *client::find_quantization_slot(GetParam());
  EXPECT_EQ(client::quantization_workspace_bytes(slot, call.arguments()).value(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All,
                         QuantizationSlots,
                         testing::ValuesIn(quantization_slot_names),
                         [](const auto& slot) { return std::string{slot.param}; });

// ---- layouts

// Weight (2, 3, 2, 2) in channels_last, with a channel axis of 1, against the same row-major.
TEST(Quantization, KeepsTheOrderOfADenseTensor) {
  const Shape shape{2, 3, 2, 2};
  QuantizationCall plain{"fake_quant_int8_per_channel"};
  QuantizationCall last{"fake_quant_int8_per_channel"};
  Floats values;
  for (int i = 0; i < 24; ++i)
    values.push_back(0.37F * static_cast<float>(i * i % 17) - 2);
  Floats moved(24);
  const auto place = [](int i) {
    return (i / 12) * 12 + (i / 4 % 3) + (i / 2 % 2) * 6 + (i % 2) * 3;
  };
  for (int i = 0; i < 24; ++i)
    moved[static_cast<std::size_t>(place(i))] = values[static_cast<std::size_t>(i)];
  for (QuantizationCall* call : {&plain, &last}) {
    call->channel.channel_axis = 1;
    call->parameters = &call->channel;
    call->add(shape, call == &last ? moved : values);
    call->add_none();
    call->add_output(shape);
    if (call == &last)
      call->tensor(0).strides = call->last().strides = {12, 1, 6, 3};
    EXPECT_EQ(run(*call), "");
  }
  const Floats expected = plain.last().floats();
  const Floats actual = last.last().floats();
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(actual[static_cast<std::size_t>(place(i))], expected[static_cast<std::size_t>(i)]);
}

// ---- scales

Floats fp8(const Shape& scale_shape, const Floats& scale, const Shape& scale_strides = {}) {
  QuantizationCall call{"fake_quant_fp8"};
  call.add({2, 3}, {1, -2, 3, 40, 5.5F, 0.06F});
  call.add(scale_shape, scale).strides = scale_strides;
  call.add_output({2, 3});
  EXPECT_EQ(run(call), "");
  return call.last().floats();
}

TEST(Quantization, BroadcastsTheScaleOfFp8AsPyTorchDoes) {
  const Floats whole = fp8({1}, {0.01F});
  expect_same(fp8({}, {0.01F}), whole);
  expect_same(fp8({1, 1, 1}, {0.01F}), whole);
  expect_same(fp8({2, 1}, {0.01F, 0.01F}), whole);
  expect_same(fp8({2, 1}, {0.01F}, {0, 0}), whole);  // expanded
  expect_same(fp8({3}, {0.01F, 0.01F, 0.01F}), whole);
  const Floats rows = fp8({2, 1}, {0.01F, 0.3F});
  EXPECT_EQ(rows[0], whole[0]);
  EXPECT_NE(rows[4], whole[4]);
}

TEST(Quantization, FindsTheScaleOfEachElement) {
  for (const char* name : {"cpu", "reference"}) {
    client::Registry registry{with({str("LIBREYOLO_KERNELS=", name)})};
    for (const ScaleForm& form : scale_forms())
      for (const std::uint32_t operation : operations_of(form)) {
        SCOPED_TRACE(str(name, ": ", form.name()));
        QuantizationCall call{form.slot};
        fill_scaled(call, form, operation);
        EXPECT_EQ(run(registry, call), "");
        expect_same(call.last().floats(), of_oracle_by_element(call, form, OracleOf::cpu));
      }
  }
}

// ---- bad input

struct BadInput {
  std::string_view slot;
  std::function<void(QuantizationCall&)> change;
  const char* says;
};

void give_scale(QuantizationCall& call, const Shape& shape) {
  call.put(1, shape, Floats(8, 0.5F));
}

lyk_dtype half() {
  return {LYK_DTYPE_FLOAT, 16, 1};
}

// What LibreYOLO raises for.
std::vector<BadInput> raised_in_quantizing() {
  return {
      {"fake_quant_int8_per_channel", [](auto& c) { c.channel.channel_axis = -1; },
       "parameters: channel_axis -1 is not 0 to 1"},
      {"fake_quant_int8_per_channel", [](auto& c) { c.channel.channel_axis = 2; },
       "parameters: channel_axis 2 is not 0 to 1"},
      {"fake_quant_int8_per_channel", [](auto& c) { c.parameters = nullptr; }, "parameters: NULL"},
      {"fake_quant_int8_per_channel", [](auto& c) { c.tensor(0).shape = c.last().shape = {}; },
       "weight: 0 dimensions, at least 1"},
      {"fake_quant_int8_affine", [](auto& c) { c.tensor(1).shape = {2}; }, "lo: 2 elements, not 1"},
      {"fake_quant_fp8", [](auto& c) { c.tensor(1).shape = {7}; },
       "scale: size 7 of dimension 0 does not broadcast to x, which has 80"},
      {"fake_quant_int_grouped", [](auto& c) { c.tensor(0).shape = c.last().shape = {240}; },
       "weight: 1 dimensions, not 2"},
      {"fake_quant_int_grouped", [](auto& c) { c.grouping.group_size = 0; },
       "parameters: group_size is 0"},
      // One group of a row, and one row, to which a size of 0 broadcasts.
      {"fake_quant_int_grouped",
       [](auto& c) {
         c.grouping.group_size = 80;
         give_scale(c, {3, 0});
       },
       "scale: it has no elements"},
      {"fake_quant_int_grouped",
       [](auto& c) {
         c.tensor(0).shape = c.last().shape = {1, 80};
         give_scale(c, {0, 1});
       },
       "scale: it has no elements"},
      {"fake_quant_nvfp4_weight", [](auto& c) { c.tensor(1).shape = {3}; },
       "tensor_amax: 3 elements, not 1"},
      {"fake_quant_mxfp4_weight", [](auto& c) { c.tensor(0).shape = c.last().shape = {}; },
       "x: 0 dimensions, at least 1"},
      {"fake_quant_mxfp4_dynamic",
       [](auto& c) {
         c.last().shape = {3, 79};
       },
       "output: size 79 of dimension 1, where x has 80"},
  };
}

// What no slot could do anything with.
std::vector<BadInput> raised_whatever_the_slot() {
  return {
      {"fake_quant_fp8", [](auto& c) { c.last().tensor.data = c.tensor(0).tensor.data; },
       "output: it overlaps x"},
      {"fake_quant_fp8",
       [](auto& c) {
         c.tensor(1).tensor.device = {LYK_DEVICE_CUDA, 0};
       },
       "scale: it is on cuda:0, and x on cpu"},
      {"fake_quant_fp8",
       [](auto& c) {
         c.tensor(1).tensor.device = {LYK_DEVICE_CUDA_MANAGED, 1};
       },
       "scale: it is on cuda_managed:1, and x on cpu"},
      {"fake_quant_fp8",
       [](auto& c) {
         c.last().tensor.device = {10, 0};  // ROCm
       },
       "output: it is on device_type 10:0, and x on cpu"},
      {"fake_quant_fp8", [](auto& c) { c.tensor(0).tensor.device = {}; },
       "x: its device_type is 0, which is no device"},
      {"fake_quant_fp8", [](auto& c) { c.operation = 5; },
       "operation: 5 is neither LYK_FORWARD nor LYK_BACKWARD"},
      {"fake_quant_fp8", [](auto& c) { c.add_output({1}); }, "tensor_count: 4, not 3"},
  };
}

std::vector<BadInput> raised_in_unpacking() {
  return {
      {"unpack_int_grouped", [](auto& c) { c.grouping.bits = 3; },
       "parameters: bits is 3, not 2 or 4"},
      {"unpack_int_grouped", [](auto& c) { c.grouping.group_size = 36; },
       "payload: a row holds 96 codes, which is no multiple of 36, the group_size"},
      {"unpack_int_grouped",
       [](auto& c) {
         c.tensor(1).shape = {3, 2};
       },
       "scale: size 2 of dimension 1 does not broadcast to 3 x 3"},
      {"unpack_int_grouped",
       [](auto& c) {
         c.last().shape = {3, 97};
       },
       "output: 97 columns, and a row of payload holds 96"},
      {"unpack_nvfp4",
       [](auto& c) {
         c.tensor(1).shape = {3, 4};
       },
       "block_scale: 4 columns, and a row of payload has 5 blocks"},
      {"unpack_nvfp4", [](auto& c) { c.tensor(0).tensor.dtype = half(); },
       "payload: dtype code 2 of 16 bits and 1 lanes is not uint8"},
  };
}

void expect_refused(const std::vector<BadInput>& rows) {
  for (const BadInput& row : rows) {
    QuantizationCall call{row.slot};
    fill(call);
    row.change(call);
    EXPECT_EQ(run(call), str("invalid_argument: ", row.says)) << row.slot;
  }
}

TEST(Quantization, RefusesByNameWhatLibreYoloRaisesForInQuantizing) {
  expect_refused(raised_in_quantizing());
  expect_refused(raised_whatever_the_slot());
}

TEST(Quantization, RefusesByNameWhatLibreYoloRaisesForInUnpacking) {
  expect_refused(raised_in_unpacking());
}

// What it computes, and we do not.
TEST(Quantization, LeavesToTheCallerWhatItDoesNotTake) {
  const std::vector<BadInput> rows{
      {"fake_quant_int8_affine", [](auto& c) { c.tensor(0).tensor.dtype = half(); },
       "x is not float32"},
      {"fake_quant_fp8", [](auto& c) { c.tensor(1).tensor.dtype = half(); },
       "scale is not float32"},
      {"fake_quant_fp8",
       [](auto& c) {
         c.tensor(1).shape = {3, 80};
       },
       "scale has several axes"},
      {"fake_quant_fp8",
       [](auto& c) {
         c.tensor(1).shape = {2, 1, 1};
       },
       "scale has more elements than x along one axis"},
      {"fake_quant_fp8",
       [](auto& c) {
         c.last().strides = {1, 3};
       },
       "output does not lie as x"},
      {"fake_quant_int_grouped", [](auto& c) { c.grouping.bits = 9; }, "bits is 9, not 2 to 8"},
      {"fake_quant_mxfp4_dynamic",
       [](auto& c) {
         c.tensor(0).strides = {1, 3};
       },
       "x is not dense and row-major"},
      {"fake_quant_int8_affine",
       [](auto& c) {
         c.tensor(0).strides = c.last().strides = {81, 1};
       },
       "x has gaps"},
      // For which LibreYOLO returns an empty tensor, whatever was asked for.
      {"unpack_int_grouped",
       [](auto& c) {
         c.grouping.group_size = 96;
         c.tensor(1).shape = {3, 0};
       },
       "scale has no elements"},
      {"unpack_int_grouped",
       [](auto& c) {
         c.grouping.group_size = 96;
         c.tensor(1).shape = {3, 0};
         c.tensor(1).tensor.data = nullptr;
       },
       "scale has no elements"},
  };
  for (const BadInput& row : rows) {
    QuantizationCall call{row.slot};
    fill(call);
    row.change(call);
    EXPECT_EQ(run(call), str("not_eligible: ", row.slot, ": cuda: the tensors are not on a GPU; ",
                             "cpu: ", row.says, "; reference: ", row.says));
  }
}

TEST(Quantization, HasDoneOrRefusesWhatIsEmptyAsLibreYoloDoes) {
  for (const char* name : {"cpu", "reference"}) {
    client::Registry registry{with({str("LIBREYOLO_KERNELS=", name)})};
    for (const EmptyCall& empty : empty_calls())
      for (const std::uint32_t operation : operations_of(empty)) {
        QuantizationCall call{empty.slot};
        fill_empty(call, empty, operation);
        EXPECT_EQ(run(registry, call), expected_of(empty)) << name << ": " << empty.name();
      }
  }
}

TEST(Quantization, TellsTheWorkspaceBeforeThereIsMemory) {
  QuantizationCall call{"fake_quant_int8_per_channel"};
  fill(call);
  call.channel.channel_axis = 1;
  for (const std::size_t place : {0U, 2U}) {
    call.tensor(place).tensor.device = {LYK_DEVICE_CUDA, 0};
    call.tensor(place).tensor.data = nullptr;
  }
  const auto& slot = *client::find_quantization_slot(call.slot);
  EXPECT_EQ(client::quantization_workspace_bytes(slot, call.arguments()).value(), 80U * 4);
  EXPECT_EQ(run(call), "invalid_argument: weight: its data is NULL");
}

// torch calls it kDLCUDAHost, and other frameworks kDLCPU.
TEST(Quantization, TakesPinnedHostMemoryBesidePageable) {
  for (const char* name : {"cpu", "reference"}) {
    client::Registry registry{with({str("LIBREYOLO_KERNELS=", name)})};
    QuantizationCall call{"fake_quant_fp8"};
    fill(call);
    call.tensor(0).tensor.device = {LYK_DEVICE_CUDA_HOST, 1};
    EXPECT_EQ(run(registry, call), "") << name;
    call.tensor(0).tensor.device = {LYK_DEVICE_CPU, 0};
    call.last().tensor.device = {LYK_DEVICE_CUDA_HOST, 0};
    EXPECT_EQ(run(registry, call), "") << name;
  }
}

int done(void* calls, const lyk_arguments*) {
  ++*static_cast<int*>(calls);
  return LYK_OK;
}

TEST(Quantization, IsLeftToOthersWhereFloat64IsAskedFor) {
  client::Registry registry{with()};
  QuantizationCall call{"fake_quant_fp8"};
  fill(call);
  call.flags = LYK_FP64_SUMS;
  EXPECT_EQ(run(registry, call),
            "not_eligible: fake_quant_fp8: cuda: it computes in float32; cpu: it computes in "
            "float32; reference: it computes in float32");
  const auto& slot = *client::find_quantization_slot(call.slot);
  EXPECT_EQ(client::quantization_workspace_bytes(slot, call.arguments()).value(), 0U);
  int calls = 0;
  const lyk_implementation mine{sizeof(mine), 0, "mine", done, nullptr, &calls};
  ASSERT_TRUE(registry.add(call.slot, mine));
  EXPECT_EQ(run(registry, call), "");
  EXPECT_EQ(calls, 1);
}

int says_why_and_asks_for_a_workspace(void*, const lyk_arguments*) {
  client::note("there is no kernel for it");
  QuantizationCall other{"fake_quant_int8_per_channel"};
  other.add({3, 4}, Floats(12)).strides = {8, 1};  // gaps
  other.add_none();
  other.add_output({3, 4});
  for (const std::size_t place : {0U, 2U})
    other.tensor(place).tensor.device = {LYK_DEVICE_CUDA, 0};
  other.parameters = &other.channel;
  const auto& slot = *client::find_quantization_slot(other.slot);
  EXPECT_EQ(client::quantization_workspace_bytes(slot, other.arguments()).value(), 0U);
  return LYK_NOT_ELIGIBLE;
}

TEST(Quantization, LeavesWhatAnImplementationHasSaidWhenItAsksForTheSizeOfAWorkspace) {
  client::Registry registry{with()};
  QuantizationCall call{"fake_quant_fp8"};
  fill(call);
  call.flags = LYK_FP64_SUMS;
  const lyk_implementation mine{sizeof(mine), 0,      "mine", says_why_and_asks_for_a_workspace,
                                nullptr,      nullptr};
  ASSERT_TRUE(registry.add(call.slot, mine));
  EXPECT_TRUE(
      run(registry, call)
          .starts_with("not_eligible: fake_quant_fp8: mine: there is no kernel for it; cuda: "))
      << run(registry, call);
}

// The size depends on where the tensors will be.
TEST(Quantization, TellsNoWorkspaceOfTensorsThatAreNowhere) {
  QuantizationCall call{"fake_quant_nvfp4_dynamic"};
  fill(call);
  for (const std::size_t place : {0U, 1U})
    call.tensor(place).tensor.device = {};
  const auto& slot = *client::find_quantization_slot(call.slot);
  const auto bytes = client::quantization_workspace_bytes(slot, call.arguments());
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message, "x: its device_type is 0, which is no device");
}

TEST(Quantization, HasNoBackwardOfUnpacking) {
  QuantizationCall call{"unpack_nvfp4"};
  fill(call);
  call.flags = LYK_NEEDS_GRADIENT;
  EXPECT_EQ(run(call),
            "not_eligible: unpack_nvfp4: cuda: it has no backward; cpu: it has no "
            "backward; reference: it has no backward");
  call.operation = LYK_BACKWARD;
  EXPECT_EQ(run(call), "not_eligible: unpack_nvfp4 has no backward");
}

// ---- the environment

TEST(Quantization, RunsWhatTheEnvironmentLeaves) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"LIBREYOLO_KERNELS=off", "reference"},
      {"LIBREYOLO_KERNELS=lyk", "cuda"},
      {"LIBREYOLO_KERNELS=cpu", "cpu"},
      {"LIBREYOLO_KERNELS=triton", "reference"},
      {"LIBREYOLO_QUANT_KERNELS=reference", "reference"},
      {"LIBREYOLO_HUB_KERNELS=0", "cuda"},
      {"LIBREYOLO_KERNELS_DETERMINISTIC=1", "cuda"},
      {"LIBREYOLO_KERNELS_DISABLE=fake_quant_fp8:cuda", "cpu"},
      {"LIBREYOLO_KERNELS_DISABLE=fake_quant_fp8:cuda,fake_quant_fp8:cpu", "reference"},
      {"LIBREYOLO_KERNELS_DISABLE=fake_quant_fp8", "slot fake_quant_fp8: nothing can run"},
  };
  for (const auto& [variable, expected] : rows) {
    client::Registry registry{with({variable})};
    const auto first = registry.first("fake_quant_fp8");
    EXPECT_EQ(first ? *first : first.error().message, std::string{expected}) << variable;
  }
}

}  // namespace
}  // namespace lyk::test
