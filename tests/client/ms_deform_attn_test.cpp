// Every argument that can be wrong, and the text that names it. Nothing is launched: the only
// implementation that could run counts the calls that reach it.
#include "client/ms_deform_attn.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "client/registry.hpp"
#include "tests/client/deform_call.hpp"

namespace lyk::client {
namespace {

using test::DeformCall;
using test::DeformShape;
using test::pretend_address;

int count_call(void* user, const lyk_arguments*) {
  ++*static_cast<int*>(user);
  return LYK_OK;
}

// A registry in which every consistent call of the slot ends in a counter.
class Counting {
public:
  Counting()
      : registry_(
            {.environment = {},
             .built_in = {.driver = "libnone_such.so", .fatbin = "/none", .names = {"hub"}}}) {
    const lyk_implementation counter{sizeof(counter), 0, "counter", count_call, nullptr, &calls_};
    EXPECT_TRUE(registry_.add(ms_deform_attn_name, counter));
  }

  // The text of the refusal; empty if the call reached the counter.
  std::string refusal(const lyk_arguments& arguments, Code code = Code::invalid_argument) {
    const int before = calls_;
    const auto done = registry_.call_ms_deform_attn(arguments);
    EXPECT_EQ(calls_, before + (done ? 1 : 0));
    if (done)
      return {};
    EXPECT_EQ(done.error().code, code);
    return done.error().message;
  }

private:
  int calls_ = 0;
  Registry registry_;
};

struct Row {
  std::uint32_t operation;
  void (*change)(DeformCall& call);
  const char* text;
};

void expect_refusals(const Row* rows, std::size_t count) {
  Counting counting;
  for (std::size_t i = 0; i < count; ++i) {
    DeformCall call;
    rows[i].change(call);
    EXPECT_EQ(counting.refusal(call.arguments(rows[i].operation)), rows[i].text);
  }
}

TEST(DeformArguments, AreTakenAsTheyAre) {
  Counting counting;
  DeformCall call;
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
  EXPECT_EQ(counting.refusal(call.arguments(LYK_BACKWARD)), "");
  call.value.strides = {120, 4, 60, 1};  // heads first: not dense, and no contradiction
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
  for (auto* tensor : call.all())
    tensor->tensor.device = {LYK_DEVICE_CPU, 0};
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
  call.value.tensor.dtype = {LYK_DTYPE_BFLOAT, 16, 1};  // mixed, as under autocast
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
  DeformCall managed;
  managed.value.tensor.device = {LYK_DEVICE_CUDA_MANAGED, 0};
  EXPECT_EQ(counting.refusal(managed.arguments(LYK_FORWARD)), "");
}

TEST(DeformArguments, MayBeSlicesOfOneBuffer) {
  Counting counting;
  DeformCall call;
  call.value.strides = call.grad_value.strides = {480, 16, 8, 1};
  call.grad_value.tensor.data = call.value.tensor.data;
  call.grad_value.tensor.byte_offset = 4 * sizeof(float);
  EXPECT_EQ(counting.refusal(call.arguments(LYK_BACKWARD)), "");
  call.grad_value.tensor.byte_offset = 0;
  EXPECT_EQ(counting.refusal(call.arguments(LYK_BACKWARD)), "grad_value: it overlaps value");
  DeformCall permuted;  // heads first, and without gaps all the same
  permuted.value.strides = {240, 4, 120, 1};
  permuted.grad_value.tensor.data = permuted.value.tensor.data;
  permuted.grad_value.tensor.byte_offset = 4 * sizeof(float);
  EXPECT_EQ(counting.refusal(permuted.arguments(LYK_BACKWARD)), "grad_value: it overlaps value");
}

TEST(DeformArguments, MayHaveAWorkspaceWhoseRestIsAnybodys) {
  Counting counting;
  DeformCall call;
  call.workspace = call.value.tensor.data;  // nothing of it is needed
  call.workspace_bytes = 256;
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
  call.has_level_starts = false;
  call.workspace = pretend_address((std::uintptr_t{1} << 40) - 256);  // it ends where value begins
  call.workspace_bytes = 1024;
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
}

TEST(DeformArguments, MayHaveAnyStrideWhereItSaysNothing) {
  Counting counting;
  DeformCall one{{.batch = 1}};
  one.value.strides = {-7, 8, 4, 1};
  EXPECT_EQ(counting.refusal(one.arguments(LYK_FORWARD)), "");
  DeformCall none{{.levels = {0, 5}}};
  none.value.strides = {-7, 3, std::numeric_limits<std::int64_t>::max(), -1};
  EXPECT_EQ(counting.refusal(none.arguments(LYK_FORWARD)), "");
}

TEST(DeformArguments, MayBeEmptyInEveryDirection) {
  Counting counting;
  const DeformShape shapes[] = {
      {.batch = 0},  {.heads = 0},       {.channels = 0}, {.queries = 0},
      {.points = 0}, {.levels = {0, 5}}, {.levels = {}},
  };
  for (const DeformShape& shape : shapes) {
    DeformCall call{shape};
    for (auto* tensor : call.all())
      if (tensor->elements() == 0)
        tensor->tensor.data = nullptr;
    EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD)), "");
    EXPECT_EQ(counting.refusal(call.arguments(LYK_BACKWARD)), "");
  }
}

TEST(DeformArguments, AreRefusedByNameIfATensorContradictsItself) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  static constexpr Row rows[] = {
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.shape = {2, 30, 8};
       },
       "value: 3 dimensions, not 4"},
      {LYK_FORWARD, [](DeformCall& c) { c.value.shape.clear(); }, "value: 0 dimensions, not 4"},
      {LYK_FORWARD, [](DeformCall& c) { c.value.shape[1] = -30; },
       "value: size -30 of dimension 1 is negative"},
      {LYK_FORWARD, [](DeformCall& c) { c.value.shape[0] = huge; },
       "value: more than 72057594037927936 elements"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.shape = {std::int64_t{1} << 40, 30, std::int64_t{1} << 40, 0};
       },
       "value: more than 72057594037927936 elements"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.tensor.dtype = {LYK_DTYPE_INT, 32, 1};
       },
       "value: dtype code 0 of 32 bits and 1 lanes is not a floating-point type"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.tensor.dtype = {LYK_DTYPE_FLOAT, 32, 4};
       },
       "value: dtype code 2 of 32 bits and 4 lanes is not a floating-point type"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.tensor.dtype = {LYK_DTYPE_FLOAT, 80, 1};
       },
       "value: dtype code 2 of 80 bits and 1 lanes is not a floating-point type"},
      {LYK_FORWARD, [](DeformCall& c) { c.spatial_shapes.tensor.dtype.bits = 32; },
       "spatial_shapes: dtype code 0 of 32 bits and 1 lanes is not int64"},
      {LYK_FORWARD, [](DeformCall& c) { c.level_start_index.tensor.dtype.code = LYK_DTYPE_UINT; },
       "level_start_index: dtype code 1 of 64 bits and 1 lanes is not int64"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.strides = {240, 8, 4, -1};
       },
       "value: stride -1 of dimension 3 is negative"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.value.strides = {huge, 8, 4, 1};
       },
       "value: stride 9223372036854775807 of dimension 0 reaches too far"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.spatial_shapes.strides = {1, 2};
       },
       "spatial_shapes: it is not dense"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.output.strides = {24, 0, 1};
       },
       "output: stride 0 of dimension 1 makes it overlap itself"},
      {LYK_BACKWARD,
       [](DeformCall& c) {
         c.grad_value.strides = {240, 1, 1, 1};
       },
       "grad_value: stride 1 of dimension 2 makes it overlap itself"},
      {LYK_BACKWARD,
       [](DeformCall& c) {
         c.grad_value.strides = {240, 8, 3, 1};
       },
       "grad_value: stride 3 of dimension 2 makes it overlap itself"},
      {LYK_BACKWARD,
       [](DeformCall& c) {
         c.grad_value.strides = {7, 8, 2, 1};
       },
       "grad_value: stride 2 of dimension 2 makes it overlap itself"},
      {LYK_FORWARD, [](DeformCall& c) { c.value.tensor.data = nullptr; },
       "value: its data is NULL"},
      {LYK_FORWARD,
       [](DeformCall& c) { c.value.tensor.data = pretend_address((std::uintptr_t{1} << 40) + 2); },
       "value: it does not begin at a multiple of 4 bytes"},
      {LYK_FORWARD, [](DeformCall& c) { c.sampling_locations.tensor.byte_offset = 3; },
       "sampling_locations: it does not begin at a multiple of 4 bytes"},
      {LYK_FORWARD, [](DeformCall& c) { c.spatial_shapes.tensor.byte_offset = 4; },
       "spatial_shapes: it does not begin at a multiple of 8 bytes"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.attention_weights.tensor.byte_offset = std::numeric_limits<std::uint64_t>::max() - 7;
       },
       "attention_weights: byte_offset 18446744073709551608 is beyond memory"},
  };
  expect_refusals(rows, std::size(rows));
}

TEST(DeformArguments, AreRefusedByNameIfTheyContradictEachOther) {
  static constexpr Row rows[] = {
      {LYK_FORWARD, [](DeformCall& c) { c.spatial_shapes.shape[1] = 3; },
       "spatial_shapes: size 3 of dimension 1, not 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.level_start_index.shape[0] = 3; },
       "level_start_index: size 3 of dimension 0, where spatial_shapes has 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.sampling_locations.shape[0] = 1; },
       "sampling_locations: size 1 of dimension 0, where value has 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.sampling_locations.shape[2] = 4; },
       "sampling_locations: size 4 of dimension 2, where value has 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.sampling_locations.shape[3] = 1; },
       "sampling_locations: size 1 of dimension 3, where spatial_shapes has 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.sampling_locations.shape[5] = 3; },
       "sampling_locations: size 3 of dimension 5, not 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.attention_weights.shape[4] = 4; },
       "attention_weights: size 4 of dimension 4, where sampling_locations has 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.output.shape[2] = 9; },
       "output: size 9 of dimension 2, where heads * channels of value has 8"},
      {LYK_BACKWARD, [](DeformCall& c) { c.grad_output.shape[1] = 2; },
       "grad_output: size 2 of dimension 1, where sampling_locations has 3"},
      {LYK_BACKWARD, [](DeformCall& c) { c.grad_value.shape[1] = 29; },
       "grad_value: size 29 of dimension 1, where value has 30"},
      {LYK_BACKWARD, [](DeformCall& c) { c.grad_attention_weights.shape[3] = 1; },
       "grad_attention_weights: size 1 of dimension 3, where spatial_shapes has 2"},
      {LYK_FORWARD, [](DeformCall& c) { c.attention_weights.tensor.device.device_id = 1; },
       "attention_weights: it is on cuda:1, and value on cuda:0"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.spatial_shapes.tensor.device = {LYK_DEVICE_CPU, 0};
       },
       "spatial_shapes: it is on cpu, and value on cuda:0"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.spatial_shapes.tensor.device = {LYK_DEVICE_CUDA_HOST, 0};
       },
       "spatial_shapes: it is on cuda_host, and value on cuda:0"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.output.tensor.device = {LYK_DEVICE_CUDA_MANAGED, 1};
       },
       "output: it is on cuda_managed:1, and value on cuda:0"},
      {LYK_FORWARD, [](DeformCall& c) { c.value.tensor.device = {}; },
       "value: its device_type is 0, which is no device"},
      {LYK_FORWARD, [](DeformCall& c) { c.output.tensor.data = c.value.tensor.data; },
       "output: it overlaps value"},
      {LYK_BACKWARD,
       [](DeformCall& c) { c.grad_value.tensor.data = c.grad_sampling_locations.tensor.data; },
       "grad_value: it overlaps grad_sampling_locations"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.host_shapes = {4, 6, 2, 2};
       },
       "host_spatial_shapes: areas of 28 cells, and value has 30"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.host_shapes = {4, 6, -2, 3};
       },
       "host_spatial_shapes: level 1 of -2 x 3"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.host_shapes = {std::int64_t{1} << 31, 1, 2, 3};
       },
       "host_spatial_shapes: level 0 of 2147483648 x 1"},
      {LYK_FORWARD, [](DeformCall& c) { c.has_level_starts = false; },
       "workspace: 0 bytes, and 16 are needed"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.has_level_starts = false;
         c.workspace = pretend_address(4096);
         c.workspace_bytes = 15;
       },
       "workspace: 15 bytes, and 16 are needed"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.workspace = pretend_address(4104);
         c.workspace_bytes = 256;
       },
       "workspace: it does not begin at a multiple of 256 bytes"},
      {LYK_FORWARD, [](DeformCall& c) { c.workspace_bytes = 256; }, "workspace: NULL"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.has_level_starts = false;
         c.workspace = c.output.tensor.data;
         c.workspace_bytes = 256;
       },
       "workspace: it overlaps output"},
      {LYK_FORWARD,
       [](DeformCall& c) {
         c.has_level_starts = false;
         c.workspace = pretend_address((std::uintptr_t{1} << 40) + 256);  // in value
         c.workspace_bytes = 256;
       },
       "workspace: it overlaps value"},
  };
  expect_refusals(rows, std::size(rows));
}

TEST(DeformArguments, HaveNoWorkspaceIfTheyContradictEachOther) {
  static constexpr Row rows[] = {
      {LYK_BACKWARD, [](DeformCall& c) { c.sampling_locations.shape[0] = 1; },
       "sampling_locations: size 1 of dimension 0, where value has 2"},
      {LYK_BACKWARD, [](DeformCall& c) { c.sampling_locations.shape[3] = 5; },
       "sampling_locations: size 5 of dimension 3, where spatial_shapes has 2"},
      {LYK_BACKWARD, [](DeformCall& c) { c.grad_value.shape[1] = 29; },
       "grad_value: size 29 of dimension 1, where value has 30"},
      {LYK_BACKWARD, [](DeformCall& c) { c.grad_value.shape = {1}; },
       "grad_value: 1 dimensions, not 4"},
      {LYK_BACKWARD,
       [](DeformCall& c) {
         c.grad_value.tensor.dtype = {LYK_DTYPE_INT, 64, 1};
       },
       "grad_value: dtype code 0 of 64 bits and 1 lanes is not a floating-point type"},
      {LYK_BACKWARD, [](DeformCall& c) { c.value.tensor.device = {}; },
       "value: its device_type is 0, which is no device"},
      {LYK_BACKWARD, [](DeformCall& c) { c.grad_value.tensor.device = {}; },
       "grad_value: its device_type is 0, which is no device"},
      {LYK_BACKWARD,
       [](DeformCall& c) {
         c.sampling_locations.tensor.device = {LYK_DEVICE_CPU, 0};
       },
       "sampling_locations: it is on cpu, and value on cuda:0"},
  };
  for (const Row& row : rows) {
    DeformCall call;
    row.change(call);
    const auto bytes = ms_deform_attn_workspace_bytes(call.call(), LYK_DETERMINISTIC);
    ASSERT_FALSE(bytes) << row.text;
    EXPECT_EQ(bytes.error().message, row.text);
  }
}

TEST(DeformArguments, AreRefusedByNameIfSomethingIsMissing) {
  Counting counting;
  DeformCall call;
  const auto rules = ms_deform_attn_rules(LYK_BACKWARD);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    lyk_arguments arguments = call.arguments(LYK_BACKWARD);
    std::vector<const lyk_tensor*> tensors(arguments.tensors, arguments.tensors + rules.size());
    tensors[i] = nullptr;
    arguments.tensors = tensors.data();
    const std::string expected = i == LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX
                                     ? "workspace: 0 bytes, and 16 are needed"
                                     : std::string{rules[i].name} + ": NULL";
    EXPECT_EQ(counting.refusal(arguments), expected);
  }
  lyk_arguments arguments = call.arguments(LYK_FORWARD);
  arguments.operation = 2;
  EXPECT_EQ(counting.refusal(arguments), "operation: 2 is neither LYK_FORWARD nor LYK_BACKWARD");
  arguments = call.arguments(LYK_FORWARD);
  arguments.tensor_count = 9;
  EXPECT_EQ(counting.refusal(arguments), "tensor_count: 9, not 6");
  arguments = call.arguments(LYK_FORWARD);
  arguments.tensors = nullptr;
  EXPECT_EQ(counting.refusal(arguments), "tensors: NULL");
  arguments = call.arguments(LYK_FORWARD);
  arguments.parameters = nullptr;
  EXPECT_EQ(counting.refusal(arguments), "parameters: NULL");
  const lyk_ms_deform_attn_parameters none{sizeof(none), 0, nullptr};
  arguments.parameters = &none;
  EXPECT_EQ(counting.refusal(arguments), "host_spatial_shapes: NULL");
  const lyk_ms_deform_attn_parameters wrong{4, 0, call.host_shapes.data()};
  arguments.parameters = &wrong;
  EXPECT_EQ(counting.refusal(arguments),
            "parameters: its size is 4, not its sizeof (16 in this release)");
  const lyk_ms_deform_attn_parameters reserved{sizeof(reserved), 9, call.host_shapes.data()};
  arguments.parameters = &reserved;
  EXPECT_EQ(counting.refusal(arguments), "parameters: reserved is 9, not zero");
  DeformCall no_shape;
  arguments = no_shape.arguments(LYK_FORWARD);
  no_shape.value.tensor.shape = nullptr;
  EXPECT_EQ(counting.refusal(arguments), "value: its shape is NULL");
}

// By a limit of the library, which is no mistake of the caller's.
TEST(DeformArguments, OfManyLevelsAreNotEligibleAndNotRead) {
  Counting counting;
  DeformShape shape;
  shape.levels.assign(2 * 1025, 0);
  shape.levels[0] = 5;
  shape.levels[1] = 6;
  DeformCall call{shape};
  EXPECT_EQ(counting.refusal(call.arguments(LYK_FORWARD), Code::not_eligible),
            "spatial_shapes: 1025 levels, and 1024 are the most");
}

TEST(DeformArguments, NeedAWorkspaceForTheLevelStartsAlone) {
  const lyk_tensor starts{};
  EXPECT_EQ(level_starts_bytes(4, nullptr), 32U);
  EXPECT_EQ(level_starts_bytes(4, &starts), 0U);
}

TEST(DeformWorkspace, FollowsFromTheShapeOfSpatialShapesAlone) {
  const struct {
    std::vector<std::int64_t> shape;
    const char* text;
  } rows[] = {
      {{3, 2}, ""},
      {{0, 2}, ""},
      {{1024, 2}, ""},
      {{3}, "spatial_shapes: 1 dimensions, not 2"},
      {{3, 7}, "spatial_shapes: size 7 of dimension 1, not 2"},
      {{-1, 2}, "spatial_shapes: -1 levels"},
      {{1025, 2}, "spatial_shapes: 1025 levels, and 1024 are the most"},
  };
  for (const auto& row : rows) {
    test::TestTensor shapes;
    shapes.shape = row.shape;
    const auto levels = ms_deform_attn_levels(shapes.get());
    EXPECT_EQ(levels ? std::string{} : levels.error().message, row.text);
    EXPECT_EQ(levels ? *levels : row.shape[0], row.shape[0]);
  }
  EXPECT_EQ(ms_deform_attn_levels(nullptr).error().message, "spatial_shapes: NULL");
}

// Of two levels, batch 2, 30 cells, 2 heads of 4 channels, 3 queries and 2 points.
TEST(DeformWorkspace, BeginsWithTheStartsAndIsRoundedWhereSomethingIsBehindThem) {
  constexpr lyk_dtype half{LYK_DTYPE_FLOAT, 16, 1};
  constexpr lyk_dtype single{LYK_DTYPE_FLOAT, 32, 1};
  constexpr std::uint64_t sums = 2048;            // 2 * 30 * 2 * 4 numbers of 4 bytes
  constexpr std::uint64_t bins = 2 * 1024 + 256;  // 16 * 2 * 2 * 32 bytes, and 4 * 48
  const struct {
    lyk_dtype dtype;
    std::uint32_t flags;
    std::uint64_t with_starts;
    std::uint64_t without;
  } rows[] = {{single, 0, 0, 16},
              {half, 0, sums, 256 + sums},
              {single, LYK_DETERMINISTIC, bins, 256 + bins},
              {half, LYK_DETERMINISTIC, bins, 256 + bins}};
  for (const auto& row : rows) {
    DeformCall call;
    call.value.tensor.dtype = call.grad_value.tensor.dtype = row.dtype;
    EXPECT_EQ(ms_deform_attn_workspace_bytes(call.call(), row.flags).value(), row.with_starts);
    call.has_level_starts = false;
    EXPECT_EQ(ms_deform_attn_workspace_bytes(call.call(), row.flags).value(), row.without);
  }
}

}  // namespace
}  // namespace lyk::client
