// What one GPU's misfortune means for the calls that come after it, and for the other GPUs.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/channel.hpp"
#include "proto/message.hpp"
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

// ---- a GPU without an image

// Has the cubin for 9.0, and nothing for any other.
void answer_by_arch(UniqueFd connection, const HubImage& image) {
  Channel channel{std::move(connection), {}};
  const std::string refusal = wire::encode_error({Code::no_image, "nothing fits"}, {});
  while (true) {
    auto frame = channel.read_frame();
    if (!frame || !*frame)
      return;
    const bool fits = (*frame)->text.find(R"("arch":"9.0")") != std::string::npos;
    const auto written = fits ? channel.write_frame(wire::encode_reply(image.reply), image.fd.get())
                              : channel.write_frame(refusal);
    if (!written)
      return;
  }
}

struct WorldOfSomeImages {
  HubImage image = HubImage::cubin();
  LaunchWorld world{{.variables = {}, .serve = [this](UniqueFd connection, int) {
                       answer_by_arch(std::move(connection), image);
                     }}};

  // "active: runs first": what lyk_active tells of the hub.
  std::string state() {
    const auto states = world.registry().states("ms_deform_attn");
    return str(states.back().is_active ? "active: " : "off: ", states.back().reason);
  }
  // The name that lyk_resolve tells, or why there is none.
  std::string first() {
    const auto name = world.registry().first("ms_deform_attn");
    return name ? *name : name.error().message;
  }
};

constexpr const char* none_on_0 = "not_eligible: ms_deform_attn: hub: device 0: ";

std::string expect_warning(const std::string& warning, const std::string& device) {
  const bool ends_well = warning.ends_with("nothing fits; callers keep their own way");
  return expect_prefix(warning, str("ms_deform_attn: hub is off on one GPU for the rest of this "
                                    "process: ",
                                    device, ": ")) +
         (ends_well ? "" : warning);
}

TEST(NoImage, ForOneGpuLeavesTheOthersOn) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_75,sm_90"}}), []() -> std::string {
        WorldOfSomeImages some;
        LaunchWorld& world = some.world;
        const SoftGpu without{0};
        GpuCall on_first{without, tiny, 1, 0};
        const SoftGpu with{1};
        GpuCall on_second{with, tiny, 1, 1};
        std::string wrong = expect_prefix(world.call(on_first.forward()), none_on_0);
        wrong += world.call(on_second.forward());
        wrong += expect_prefix(world.call(on_first.forward()), none_on_0);
        wrong += world.call(on_second.backward());
        wrong += expect_count(world.warnings(), 1);
        wrong += expect_warning(world.warnings().at(0), "device 0");
        wrong += expect_prefix(some.state(), "active: runs first, but not on device 0: ");
        wrong += expect(some.first(), "hub");
        if (world.connections() != 2)
          wrong += str(world.connections(), " connections");
        return wrong.empty() ? on_second.check_forward() + on_second.check_backward() : wrong;
      });
  EXPECT_EQ(said, "");
}

TEST(NoImage, ForTheOnlyGpuIsToldOfTheHubAsAWhole) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_75"}}), []() -> std::string {
        WorldOfSomeImages some;
        const SoftGpu gpu;
        GpuCall call{gpu, tiny, 1};
        std::string wrong = expect(some.state(), "active: runs first");  // nobody knows better
        wrong += expect_prefix(some.world.call(call.forward()), none_on_0);
        wrong +=
            expect_prefix(some.state(), "off: no GPU of this process has an image: device 0: ");
        wrong += expect(some.first(), "slot ms_deform_attn: nothing can run");
        lyk_implementation broken{};
        broken.name = "broken";
        broken.fn = [](void*, const lyk_arguments*) -> int { return LYK_INTERNAL; };
        if (!some.world.registry().add("ms_deform_attn", broken))
          wrong += "it is not registered; ";
        wrong += expect(some.first(), "broken");
        wrong += expect_prefix(some.world.call(call.forward()), "not_eligible: ");
        wrong += expect_count(some.world.warnings(), 2);
        return wrong + expect(some.world.warnings().at(1),
                              "ms_deform_attn: broken is off for the rest of this process: it "
                              "returned -20; callers keep their own way");
      });
  EXPECT_EQ(said, "");
}

TEST(NoImage, ForAnyGpuIsToldOfEachOfThem) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_75,sm_86"}}), []() -> std::string {
        WorldOfSomeImages some;
        std::string wrong;
        for (const int number : {0, 1}) {
          const SoftGpu gpu{number};
          GpuCall call{gpu, tiny, 1, number};
          wrong += expect_prefix(some.world.call(call.forward()), "not_eligible: ");
          wrong += expect_warning(some.world.warnings().back(), str("device ", number));
        }
        wrong += expect_count(some.world.warnings(), 2);
        const std::string state = some.state();
        wrong += expect_prefix(state, "off: no GPU of this process has an image: device 0: ");
        return state.find("; device 1: ") != std::string::npos ? wrong : wrong + state;
      });
  EXPECT_EQ(said, "");
}

TEST(NoImage, IsToldOnceHoweverManyThreadsMeetIt) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_DEVICES", "sm_75,sm_90"}}), []() -> std::string {
        WorldOfSomeImages some;
        std::vector<std::unique_ptr<GpuCall>> calls;
        calls.reserve(6);
        const SoftGpu without{0};
        for (int i = 0; i < 3; ++i)
          calls.push_back(std::make_unique<GpuCall>(without, tiny, 1, 0));
        const SoftGpu with{1};
        for (int i = 0; i < 3; ++i)
          calls.push_back(std::make_unique<GpuCall>(with, tiny, 1, 1));
        std::vector<std::string> texts(calls.size());
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < calls.size(); ++i)
          threads.emplace_back([&, i] {
            texts[i] = some.world.call(calls[i]->forward());
            (void)some.state();
          });
        for (std::thread& thread : threads)
          thread.join();
        std::string wrong = expect_count(some.world.warnings(), 1);
        for (std::size_t i = 0; i < texts.size(); ++i)
          wrong += i < 3 ? expect_prefix(texts[i], none_on_0) : texts[i];
        return wrong;
      });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
