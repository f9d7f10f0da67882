// `cuda` for ms_deform_attn: a permuted value, both backwards, and the workspace that they need.
#include "client/cuda_ms_deform_attn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/ms_deform_attn.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"

namespace lyk::test {
namespace {

const DeformShape two_levels{
    .batch = 2, .heads = 2, .channels = 4, .queries = 3, .points = 2, .levels = {4, 3, 2, 2}};

Variables variables() {
  return {{"SOFTCUDA_DEVICES", "sm_90"}};
}

LaunchOptions options(std::vector<std::string> environment = {}) {
  return {.variables = std::move(environment),
          .serve = [](UniqueFd, int) {},
          .names = {"cuda", "cpu"},
          .fatbin = LYK_IMAGES "/deform.fatbin"};
}

// What is wrong with a call or its results; empty: nothing.
std::string done(LaunchWorld& world, GpuCall& call, std::uint32_t operation) {
  const bool is_forward = operation == LYK_FORWARD;
  const std::string said = world.call(is_forward ? call.forward() : call.backward());
  if (!said.empty())
    return said;
  return is_forward ? call.check_forward() : call.check_backward();
}

struct CudaDeformScene {
  explicit CudaDeformScene(std::vector<std::string> environment = {})
      : world(options(std::move(environment))), call(gpu, two_levels, 1) {}

  // A workspace of that many bytes.
  void give(std::uint64_t bytes) {
    call.description().workspace = pretend_address(gpu.allocate(bytes));
    call.description().workspace_bytes = bytes;
  }

  SoftGpu gpu;
  LaunchWorld world;
  GpuCall call;
};

TEST(CudaMsDeformAttn, RunsForwardAndBackward) {
  const std::string said = in_child(variables(), []() -> std::string {
    CudaDeformScene scene;
    std::string wrong = done(scene.world, scene.call, LYK_FORWARD);
    wrong += done(scene.world, scene.call, LYK_BACKWARD);
    return wrong + expect_count(scene.world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

TEST(CudaMsDeformAttn, RunsADeterministicBackwardWhereItIsAskedFor) {
  for (const bool by_environment : {false, true}) {
    const std::string said = in_child(variables(), [&]() -> std::string {
      CudaDeformScene scene{by_environment
                                ? std::vector<std::string>{"LIBREYOLO_KERNELS_DETERMINISTIC=1"}
                                : std::vector<std::string>{}};
      DeformCall& description = scene.call.description();
      if (!by_environment)
        description.flags = LYK_DETERMINISTIC;
      description.has_level_starts = false;
      scene.give(256);
      std::string wrong = done(scene.world, scene.call, LYK_FORWARD);
      wrong += expect_prefix(scene.world.call(scene.call.backward()),
                             "not_eligible: ms_deform_attn: cuda: workspace of 256 bytes, and ");
      const lyk_ms_deform_attn_call asked = description.call();
      const auto needed = client::ms_deform_attn_workspace_bytes(
          asked, description.flags | scene.world.registry().environment_flags());
      if (!needed)
        return needed.error().message;
      scene.give(*needed);
      wrong += done(scene.world, scene.call, LYK_BACKWARD);
      return wrong + expect_count(scene.world.warnings(), 0);
    });
    EXPECT_EQ(said, "");
  }
}

// As autocast gives them, with locations and weights that stay fp32.
TEST(CudaMsDeformAttn, NeedsAWorkspaceForTheSumsOfSixteenBits) {
  const std::string said = in_child(variables(), []() -> std::string {
    CudaDeformScene scene;
    DeformCall& description = scene.call.description();
    std::string wrong;
    for (const lyk_dtype dtype :
         {lyk_dtype{LYK_DTYPE_FLOAT, 16, 1}, lyk_dtype{LYK_DTYPE_BFLOAT, 16, 1}}) {
      for (TestTensor* tensor : {&description.value, &description.output, &description.grad_output,
                                 &description.grad_value})
        tensor->tensor.dtype = dtype;
      wrong += scene.world.call(scene.call.forward());
      const auto needed =
          client::ms_deform_attn_workspace_bytes(description.call(), description.flags);
      // 4 bytes for each of 2 * 16 * 2 * 4 elements.
      if (!needed || *needed != 1024)
        wrong += "another size; ";
      scene.give(1024);
      wrong += scene.world.call(scene.call.backward());
    }
    description.attention_weights.tensor.dtype = {LYK_DTYPE_FLOAT, 64, 1};
    wrong += expect_prefix(scene.world.call(scene.call.forward()),
                           "not_eligible: ms_deform_attn: cuda: attention_weights is neither "
                           "float32 nor float16 nor bfloat16");
    return wrong + expect_count(scene.world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// As LW-DETR hands it over: (batch, heads, channels, cells) seen as (batch, cells, heads,
// channels).
TEST(CudaMsDeformAttn, TakesAPermutedValue) {
  const std::string said = in_child(variables(), []() -> std::string {
    CudaDeformScene scene;
    DeformCall& description = scene.call.description();
    std::string wrong = scene.world.call(scene.call.forward());
    const std::vector<float> expected = scene.call.download(description.output);
    const std::vector<float> dense = scene.call.download(description.value);
    const auto [b, s, h, c] = std::tuple{2U, 16U, 2U, 4U};
    std::vector<float> permuted(dense.size());
    for (std::size_t i = 0; i < dense.size(); ++i) {
      const std::size_t channel = i % c;
      const std::size_t head = i / c % h;
      const std::size_t cell = i / c / h % s;
      permuted[(i / c / h / s) * h * c * s + head * c * s + channel * s + cell] = dense[i];
    }
    (void)b;
    description.value.tensor.data = pretend_address(scene.gpu.upload(permuted));
    description.value.strides = description.grad_value.strides = {128, 1, 64, 16};
    wrong += scene.world.call(scene.call.forward());
    if (scene.call.download(description.output) != expected)
      wrong += "another output; ";
    wrong += scene.world.call(scene.call.backward());
    description.grad_value.strides = {256, 1, 64, 16};
    wrong += expect_prefix(scene.world.call(scene.call.backward()),
                           "not_eligible: ms_deform_attn: cuda: grad_value has gaps");
    return wrong + expect_count(scene.world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// The limits that lyk_ms_deform_attn.h names. No memory is looked at.
TEST(CudaMsDeformAttn, LeavesAloneWhatIsBeyondItsLimits) {
  LaunchWorld world{{.variables = {}, .serve = [](UniqueFd, int) {}, .names = {"cuda"}}};
  constexpr std::int64_t beyond = std::int64_t{1} << 31;
  const std::string sizes = "S + L is beyond 2^30, or H * C, L * P or Q * P beyond 31 bits";
  const std::string strides = "value has strides beyond 31 bits";
  const struct {
    DeformShape shape;
    std::vector<std::int64_t> strides;
    std::string text;
  } rows[] = {
      {{.batch = 1, .heads = 1, .channels = 1, .levels = {1 << 15, 1 << 15}}, {}, sizes},
      {{.batch = 1, .heads = 2, .channels = beyond / 2, .levels = {1, 1}}, {}, sizes},
      {{.batch = 1, .heads = 1, .queries = 1, .points = beyond / 2}, {}, sizes},
      {{.batch = 1, .heads = 1, .queries = beyond / 2, .levels = {1, 1}}, {}, sizes},
      {{.levels = {1, 2}}, {2 * beyond, beyond, 4, 1}, strides},
      {{.levels = {1, 2}}, {8 * beyond, 4, 8, beyond}, strides},
  };
  for (const auto& row : rows) {
    DeformCall call{row.shape};
    call.value.strides = row.strides;
    EXPECT_EQ(world.call(call.arguments(LYK_FORWARD)),
              "not_eligible: ms_deform_attn: cuda: " + row.text);
  }
}

TEST(CudaMsDeformAttn, WritesZerosWhereThereIsNothingToAddUp) {
  const std::string said = in_child(variables(), []() -> std::string {
    const SoftGpu gpu;
    LaunchWorld world{options()};
    DeformShape shape = two_levels;
    shape.points = 0;
    GpuCall call{gpu, shape, 1};
    std::string wrong = done(world, call, LYK_FORWARD);
    wrong += done(world, call, LYK_BACKWARD);
    return wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(CudaMsDeformAttn, RunsInTheSameCallWhereTheHubFails) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    LaunchWorld world{{.variables = {},
                       .serve = [](UniqueFd, int) {},  // hangs up
                       .names = {"hub", "cuda", "cpu"},
                       .fatbin = LYK_IMAGES "/deform.fatbin"}};
    GpuCall call{gpu, two_levels, 1};
    std::string wrong = done(world, call, LYK_FORWARD);
    const auto warnings = world.warnings();
    wrong += expect_count(warnings, 1);
    if (warnings.empty() || !warnings[0].ends_with("; cuda runs instead"))
      wrong += "it does not say what runs; ";
    return wrong;
  });
  EXPECT_EQ(said, "");
}

// ---- on the host

// A call with its tensors in host memory.
class HostCall {
public:
  HostCall(const DeformShape& shape, DeformInputs inputs)
      : inputs_(std::move(inputs)), reference_(shape, inputs_), call_(shape) {
    put(call_.value, inputs_.value);
    put(call_.sampling_locations, inputs_.locations);
    put(call_.attention_weights, inputs_.weights);
    put(call_.grad_output, inputs_.grad_output);
    put(call_.output, output_ = spoiled(call_.output));
    put(call_.grad_value, grad_value_ = spoiled(call_.grad_value));
    put(call_.grad_sampling_locations, grad_locations_ = spoiled(call_.grad_sampling_locations));
    put(call_.grad_attention_weights, grad_weights_ = spoiled(call_.grad_attention_weights));
    starts_ = {0, 12};
    call_.spatial_shapes.tensor.data = call_.host_shapes.data();
    call_.level_start_index.tensor.data = starts_.data();
    for (TestTensor* tensor : call_.all())
      tensor->tensor.device = {LYK_DEVICE_CPU, 0};
  }

  DeformCall& description() { return call_; }
  const std::vector<float>& output() const { return output_; }

  // What is wrong with the results; empty: nothing.
  std::string check_forward() const { return compare(output_, reference_.forward()); }
  std::string check_backward() const {
    const DeformGradients expected = reference_.backward();
    return compare(grad_value_, expected.value) + compare(grad_locations_, expected.locations) +
           compare(grad_weights_, expected.weights);
  }

private:
  static std::vector<float> spoiled(const TestTensor& tensor) {
    return std::vector<float>(static_cast<std::size_t>(tensor.elements()), -7.5F);
  }
  static void put(TestTensor& tensor, std::vector<float>& values) {
    tensor.tensor.data = values.data();
  }
  static std::string compare(const std::vector<float>& actual,
                             const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!(std::abs(actual[i] - expected[i]) <= 1e-4 * (1 + std::abs(expected[i]))))
        return str("element ", i, " is ", std::to_string(actual[i]), ", expected ",
                   std::to_string(expected[i]), "; ");
    return {};
  }

  DeformInputs inputs_;
  DeformReference reference_;
  DeformCall call_;
  std::vector<float> output_, grad_value_, grad_locations_, grad_weights_;
  std::vector<std::int64_t> starts_;
};

TEST(HostMsDeformAttn, RunsByTheProcessors) {
  LaunchWorld world{{.variables = {"LIBREYOLO_KERNELS=cpu"},
                     .serve = [](UniqueFd, int) {},
                     .names = {"hub", "cuda", "cpu"}}};
  HostCall call{two_levels, random_inputs(two_levels, 1)};
  EXPECT_EQ(world.call(call.description().arguments(LYK_FORWARD)), "");
  EXPECT_EQ(call.check_forward(), "");
  EXPECT_EQ(world.call(call.description().arguments(LYK_BACKWARD)), "");
  EXPECT_EQ(call.check_backward(), "");
  call.description().value.tensor.dtype = {LYK_DTYPE_FLOAT, 16, 1};
  EXPECT_EQ(world.call(call.description().arguments(LYK_FORWARD)),
            "not_eligible: ms_deform_attn: hub: LIBREYOLO_KERNELS=cpu; cuda: "
            "LIBREYOLO_KERNELS=cpu; cpu: value is not float32");
}

// Each point is on a pixel, and the first and the last value cancel: between them, float32 loses 1.
TEST(HostMsDeformAttn, SumsInDoubleWhereThatIsAskedFor) {
  LaunchWorld world{
      {.variables = {}, .serve = [](UniqueFd, int) {}, .names = {"hub", "cuda", "cpu"}}};
  const DeformShape row{
      .batch = 1, .heads = 1, .channels = 1, .queries = 1, .points = 3, .levels = {1, 4}};
  HostCall call{row,
                {.value = {1e9F, 1, -1e9F, 0},
                 .locations = {0.125F, 0.5F, 0.375F, 0.5F, 0.625F, 0.5F},
                 .weights = {1, 1, 1},
                 .grad_output = {1}}};
  EXPECT_EQ(world.call(call.description().arguments(LYK_FORWARD)), "");
  EXPECT_EQ(call.output(), std::vector{0.0F});
  call.description().flags = LYK_FP64_SUMS | LYK_NEEDS_GRADIENT;
  EXPECT_EQ(world.call(call.description().arguments(LYK_FORWARD)), "");
  EXPECT_EQ(call.output(), std::vector{1.0F});
  EXPECT_EQ(world.call(call.description().arguments(LYK_BACKWARD)), "");
  EXPECT_EQ(call.check_backward(), "");
}

TEST(HostMsDeformAttn, IsLeftAloneBySumsInFloat32WhereDoubleIsAskedFor) {
  LaunchWorld world{{.variables = {}, .serve = [](UniqueFd, int) {}, .names = {"hub", "cuda"}}};
  HostCall call{two_levels, random_inputs(two_levels, 1)};
  call.description().flags = LYK_FP64_SUMS;
  EXPECT_EQ(
      world.call(call.description().arguments(LYK_FORWARD)),
      "not_eligible: ms_deform_attn: hub: it computes in float32; cuda: it computes in float32");
}

TEST(HostMsDeformAttn, RefusesLevelsThatContradictThoseOfTheHost) {
  LaunchWorld world{{.variables = {}, .serve = [](UniqueFd, int) {}, .names = {"cpu"}}};
  HostCall call{two_levels, random_inputs(two_levels, 1)};
  std::vector<std::int64_t> other = two_levels.levels;
  std::swap(other[0], other[1]);
  call.description().spatial_shapes.tensor.data = other.data();
  EXPECT_EQ(
      world.call(call.description().arguments(LYK_FORWARD)),
      "invalid_argument: spatial_shapes: level 0 of 3 x 4, and host_spatial_shapes has 4 x 3");
  call.description().spatial_shapes.tensor.data = call.description().host_shapes.data();
  std::vector<std::int64_t> starts{0, 13};
  call.description().level_start_index.tensor.data = starts.data();
  EXPECT_EQ(
      world.call(call.description().arguments(LYK_BACKWARD)),
      "invalid_argument: level_start_index: level 1 begins at 13, and the areas before it sum "
      "up to 12");
}

TEST(HostMsDeformAttn, WritesZerosWhereThereIsNothingToAddUp) {
  LaunchWorld world{{.variables = {}, .serve = [](UniqueFd, int) {}, .names = {"cpu"}}};
  DeformShape shape = two_levels;
  shape.points = 0;
  HostCall call{shape, random_inputs(shape, 1)};
  EXPECT_EQ(world.call(call.description().arguments(LYK_FORWARD)), "");
  EXPECT_EQ(call.check_forward(), "");
  EXPECT_EQ(world.call(call.description().arguments(LYK_BACKWARD)), "");
  EXPECT_EQ(call.check_backward(), "");
}

}  // namespace
}  // namespace lyk::test
