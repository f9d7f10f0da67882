// What one GPU's misfortune means for the calls that come after it, and for the other GPUs.
#include <gtest/gtest.h>

#include <string>

#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"

namespace lyk::test {
namespace {

// ---- a lost context

constexpr const char* lost =
    "cuda: the context was lost while the kernel first ran: run the kernel: "
    "CUDA_ERROR_ILLEGAL_ADDRESS (700)";

void begin_anew(const SoftGpu& gpu) {
  lyk_cu_context context = nullptr;
  SoftGpu::must(gpu.cu.primary_ctx_retain(&context, 0), "cuDevicePrimaryCtxRetain");
  SoftGpu::must(gpu.host.ctx_set_current(context), "cuCtxSetCurrent");
}

TEST(LostContexts, StayLostForEveryLaterCallWithOneWarning) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:async"}}), []() -> std::string {
        Scene scene;
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()),
                                          "cuda: run the kernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
        wrong += expect_prefix(scene.world.call(scene.call.forward()), lost);
        wrong += expect_prefix(scene.world.call(scene.call.backward()), lost);
        return wrong + expect_count(scene.world.warnings(), 1);
      });
  EXPECT_EQ(said, "");
}

TEST(LostContexts, EndAndLeaveTheHubOff) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:async"}}), []() -> std::string {
        Scene scene;
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()), "cuda: ");
        wrong += expect_prefix(scene.world.call(scene.call.forward()), lost);
        SoftGpu::must(scene.gpu.host.primary_ctx_reset(0), "cuDevicePrimaryCtxReset");
        begin_anew(scene.gpu);
        GpuCall again{scene.gpu, tiny, 2};
        wrong += expect_prefix(scene.world.call(again.forward()),
                               "not_eligible: ms_deform_attn: hub: off for the rest of this "
                               "process: the context was lost");
        return wrong + expect_count(scene.world.warnings(), 1);
      });
  EXPECT_EQ(said, "");
}

TEST(LostContexts, AreThoseOfOneGpu) {
  const std::string said = in_child(
      softcuda_variables(
          {{"SOFTCUDA_DEVICES", "sm_90,sm_90"}, {"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:async"}}),
      []() -> std::string {
        const SoftGpu second{1};
        GpuCall other{second, tiny, 1, 1};
        Scene scene;
        DeformCall of_the_host{tiny};
        for (TestTensor* tensor : of_the_host.all())
          tensor->tensor.device = {LYK_DEVICE_CPU, 0};
        const std::string goes_on = "not_eligible: ms_deform_attn: hub: off for the rest of this ";
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()), "cuda: ");
        wrong += expect_prefix(scene.world.call(other.forward()), goes_on);
        wrong += expect_prefix(scene.world.call(of_the_host.arguments(LYK_FORWARD)), goes_on);
        wrong += expect_prefix(scene.world.call(scene.call.forward()), lost);
        return wrong + expect_count(scene.world.warnings(), 1);
      });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
