// The compiled kernels, launched through the registry on the stand-in driver, compared with plain
// loops; and what the launch does and does not do around them.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tests/client/in_child.hpp"
#include "tests/client/launch_world.hpp"

namespace lyk::test {
namespace {

std::string forward_and_backward(const DeformShape& shape) {
  const SoftGpu gpu;
  LaunchWorld world;
  GpuCall call{gpu, shape, 1};
  std::string wrong = world.call(call.forward());
  wrong += world.call(call.backward());
  for (const std::string& warning : world.warnings())
    wrong += warning;
  return wrong.empty() ? call.check_forward() + call.check_backward() : wrong;
}

// One for each kernel of the ABI, and then some.
class LaunchChannels : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(
    Launch,
    LaunchChannels,
    ::testing::Values(1, 2, 4, 8, 16, 32, 33, 48, 64, 96, 128, 256, 512, 1024, 1100, 2048));

TEST_P(LaunchChannels, GiveWhatAPlainLoopGives) {
  const int channels = GetParam();
  DeformShape shape{.batch = 1, .heads = 1, .channels = channels, .queries = 2, .points = 2};
  if (channels < 100)
    shape = {.batch = 2, .heads = 2, .channels = channels, .queries = 3, .points = 2};
  EXPECT_EQ(in_child(softcuda_variables(), [&] { return forward_and_backward(shape); }), "");
}

// Device 0 is current, and the tensors are on the other one (transformers 31399).
TEST(Launch, UsesTheTensorsDeviceAndPutsBackWhatWasCurrent) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_90,sm_90"}}), []() -> std::string {
        const SoftGpu second{1};
        LaunchWorld world;
        GpuCall call{second, {}, 2, 1};
        const SoftGpu first{0};
        for (lyk_cu_context before : {first.context, second.context, lyk_cu_context{nullptr}}) {
          SoftGpu::must(first.host.ctx_set_current(before), "cuCtxSetCurrent");
          if (std::string wrong = world.call(call.forward()); !wrong.empty())
            return wrong;
          if (second.current() != before)
            return "another context is current afterwards";
        }
        SoftGpu::must(second.host.ctx_set_current(second.context), "cuCtxSetCurrent");
        return call.check_forward();
      });
  EXPECT_EQ(said, "");
}

// Mask2Former 134: value all ones, every location at the far corner, so that each point reaches a
// quarter of its weight.
TEST(Launch, GivesAQuarterAtTheCornerOfOnes) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    LaunchWorld world;
    GpuCall call{gpu,
                 {.batch = 1,
                  .heads = 8,
                  .channels = 32,
                  .queries = 3,
                  .points = 4,
                  .levels = {128, 128, 64, 64, 32, 32, 16, 16}},
                 3};
    const auto fill = [&](const TestTensor& tensor, float value) {
      const std::vector<float> values(static_cast<std::size_t>(tensor.elements()), value);
      SoftGpu::must(gpu.host.memcpy_to_device(reinterpret_cast<std::uintptr_t>(tensor.tensor.data),
                                              values.data(), values.size() * sizeof(float)),
                    "cuMemcpyHtoD");
    };
    fill(call.description().value, 1);
    fill(call.description().sampling_locations, 1);
    fill(call.description().attention_weights, 0.0625);
    if (std::string wrong = world.call(call.forward()); !wrong.empty())
      return wrong;
    for (const float value : call.download(call.description().output))
      if (value != 0.25F)
        return "an output is " + std::to_string(value);
    return {};
  });
  EXPECT_EQ(said, "");
}

TEST(Launch, WritesTheLevelStartsItselfWhereTheCallerHasNone) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    LaunchWorld world;
    GpuCall call{gpu, {.levels = {4, 6, 2, 3, 1, 5}}, 4};
    call.description().has_level_starts = false;
    call.description().workspace = pretend_address(gpu.allocate(256));
    call.description().workspace_bytes = 256;
    std::string wrong = world.call(call.forward());
    wrong += world.call(call.backward());
    return wrong.empty() ? call.check_forward() + call.check_backward() : wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(Launch, OfNothingLeavesZeros) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    LaunchWorld world;
    const DeformShape shapes[] = {{.batch = 0},   {.heads = 0},  {.channels = 0},
                                  {.queries = 0}, {.points = 0}, {.levels = {0, 5}},
                                  {.levels = {}}};
    for (const DeformShape& shape : shapes) {
      GpuCall call{gpu, shape, 5};
      std::string wrong = world.call(call.forward());
      wrong += world.call(call.backward());
      if (wrong.empty())
        wrong = call.check_forward() + call.check_backward();
      if (!wrong.empty())
        return wrong;
    }
    return world.connections() == 0 ? "" : "an image was asked for";
  });
  EXPECT_EQ(said, "");
}

TEST(Launch, LeavesToOthersWhatItDoesNotTake) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    LaunchWorld world;
    const struct {
      void (*change)(DeformCall& call);
      const char* text;
    } rows[] = {
        {[](DeformCall& c) {
           c.value.strides = {120, 4, 60, 1};
         },
         "value is not dense and row-major"},
        {[](DeformCall& c) { c.value.tensor.dtype.bits = 16; }, "value is not float32"},
        {[](DeformCall& c) {
           c.attention_weights.tensor.dtype = {LYK_DTYPE_BFLOAT, 16, 1};
         },
         "attention_weights is not float32"},
        {[](DeformCall& c) {
           for (TestTensor* tensor : c.all())
             tensor->tensor.device = {LYK_DEVICE_CPU, 0};
         },
         "value is not on a GPU"},
        {[](DeformCall& c) { c.flags = LYK_DETERMINISTIC | LYK_NEEDS_GRADIENT; },
         "its backward is not deterministic"},
    };
    for (const auto& row : rows) {
      GpuCall call{gpu, {}, 6};
      row.change(call.description());
      const std::string expected = str("not_eligible: ms_deform_attn: hub: ", row.text);
      if (const std::string wrong = world.call(call.forward()); wrong != expected)
        return wrong;
    }
    return world.warnings().empty() && world.connections() == 0 ? "" : "it was tried all the same";
  });
  EXPECT_EQ(said, "");
}

TEST(Launch, RefusesAGpuOrAStreamThatDoesNotBelong) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_90,sm_90"}}), []() -> std::string {
        const SoftGpu second{1};
        lyk_cu_stream elsewhere = second.stream();
        const SoftGpu first{0};
        LaunchWorld world;
        GpuCall call{first, {}, 7};
        call.description().stream = elsewhere;
        const std::string said_of_stream = world.call(call.forward());
        if (!said_of_stream.starts_with("invalid_argument: stream: "))
          return said_of_stream;
        for (const int number : {2, -1}) {
          GpuCall other{first, {}, 7, number};
          const std::string said_of_gpu = world.call(other.forward());
          if (said_of_gpu !=
              str("invalid_argument: value: device ", number, ": this process has 2"))
            return said_of_gpu;
        }
        return {};
      });
  EXPECT_EQ(said, "");
}

TEST(Launch, TakesOnlyAPrimaryContextThatIsActive) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_90,sm_90"}}), []() -> std::string {
        const SoftGpu first{0};
        LaunchWorld world;
        GpuCall call{first, {}, 8, 1};
        const std::string text = world.call(call.forward());
        if (text !=
            "not_eligible: ms_deform_attn: hub: the primary context of device 1 is not "
            "active")
          return text;
        int active = 0;
        unsigned flags = 0;
        SoftGpu::must(first.cu.primary_ctx_get_state(1, &flags, &active), "state");
        return active == 0 ? "" : "it was made active";
      });
  EXPECT_EQ(said, "");
}

TEST(Launch, RunsPtxWhereThatIsTheImage) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    const HubImage image = HubImage::ptx();
    LaunchOptions options;
    options.serve = [&](UniqueFd connection, int) {
      answer_resolves(std::move(connection), image.reply, image.fd.get());
    };
    LaunchWorld world{std::move(options)};
    GpuCall call{gpu, {}, 9};
    const std::string wrong = world.call(call.forward());
    return wrong.empty() ? call.check_forward() : wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(Launch, GivesTheSameBitsInForwardWhateverTheOrderOfBlocks) {
  std::string first;
  for (const char* seed : {"1", "2", "3"}) {
    const std::string said =
        in_child(softcuda_variables({{"SOFTCUDA_SEED", seed}}), []() -> std::string {
          const SoftGpu gpu;
          LaunchWorld world;
          GpuCall call{gpu, {.channels = 48}, 10};
          call.description().flags = LYK_DETERMINISTIC;
          if (const std::string wrong = world.call(call.forward()); !wrong.empty())
            return wrong;
          const auto values = call.download(call.description().output);
          return sha256(std::as_bytes(std::span{values})).hex();
        });
    EXPECT_EQ(said.size(), 64U) << said;
    if (first.empty())
      first = said;
    EXPECT_EQ(said, first);
  }
}

// The same from the caller's flag and from the environment: neither is a failure of the hub.
TEST(Launch, IsDeterministicOnlyWhereThePinSaysSo) {
  const std::string unmarked =
      "not_eligible: ms_deform_attn: hub: the pin does not mark its forward deterministic";
  const std::string said = in_child(softcuda_variables(), [&]() -> std::string {
    const SoftGpu gpu;
    for (const bool is_marked : {true, false}) {
      HubImage image = HubImage::cubin();
      if (!is_marked)
        image.reply.deterministic.clear();
      LaunchWorld world{{.variables = {}, .serve = [&](UniqueFd connection, int) {
                           answer_resolves(std::move(connection), image.reply, image.fd.get());
                         }}};
      GpuCall call{gpu, {}, 11};
      const std::string expected = is_marked ? "" : unmarked;
      call.description().flags = LYK_DETERMINISTIC;
      if (const std::string text = world.call(call.forward()); text != expected)
        return str("asked by the call: ", text);
      call.description().flags = 0;
      if (const std::string text = world.call(call.forward()); !text.empty())
        return str("not asked: ", text);
      if (!world.registry().reload(world.environment({"LIBREYOLO_KERNELS_DETERMINISTIC=1"})))
        return "the environment is refused";
      if (const std::string text = world.call(call.forward()); text != expected)
        return str("asked by the environment: ", text);
      if (!world.warnings().empty() || world.connections() != 1)
        return "it is taken for a failure";
    }
    return {};
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
