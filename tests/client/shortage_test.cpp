// A process that is out of descriptors or memory: the call is not taken, and nothing else changes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>

#include "client/activation.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"

namespace lyk::test {
namespace {

// Leaves room for so many descriptors more, for as long as it lives.
class FewDescriptors {
public:
  explicit FewDescriptors(rlim_t more) {
    const int lowest = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (lowest < 0 || ::getrlimit(RLIMIT_NOFILE, &before_) != 0)
      throw std::runtime_error{"descriptors cannot be counted"};
    (void)::close(lowest);
    const rlimit few{static_cast<rlim_t>(lowest) + more, before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0)
      throw std::runtime_error{"descriptors cannot be limited"};
  }
  ~FewDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  FewDescriptors(FewDescriptors&&) = delete;
  FewDescriptors& operator=(FewDescriptors&&) = delete;

private:
  rlimit before_{};
};

TEST(Shortage, OfDescriptorsHurtsOnlyTheCallThatMeetsIt) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    std::string wrong;
    {
      const FewDescriptors none{0};
      wrong += expect_prefix(scene.world.call(scene.call.forward()),
                             "not_eligible: ms_deform_attn: hub: make a socket: Too many open");
    }
    wrong += scene.world.call(scene.call.forward());
    wrong += expect_count(scene.world.warnings(), 0);
    return wrong.empty() ? scene.call.check_forward() : wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(Shortage, OfDescriptorsIsNotTakenForAMachineWithoutADriver) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    LaunchWorld world;
    DeformCall first;
    std::string wrong;
    {
      const FewDescriptors none{0};
      wrong += expect_prefix(world.call(first.arguments(LYK_FORWARD)),
                             "not_eligible: ms_deform_attn: hub: open the driver: ");
    }
    const SoftGpu gpu;
    GpuCall call{gpu, tiny, 1};
    wrong += world.call(call.forward());
    return wrong + expect_count(world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

TEST(Shortage, OfDescriptorsKeepsAServiceFromBeingStartedThisOnce) {
  for (const rlim_t more : {0U, 1U, 2U, 3U}) {
    const std::string said = in_child({}, [&]() -> std::string {
      const FewDescriptors few{more};
      const auto started = client::activate("/bin/true", {});
      return started                                      ? "it was started"
             : started.error().code != Code::not_eligible ? started.error().message
                                                          : "";
    });
    EXPECT_EQ(said, "") << more;
  }
}

// What it was to load with is not there this once, and the next implementation is.
TEST(Shortage, OfMemoryHurtsOnlyTheCallOfTheHubThatMeetsIt) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    HubImage image = HubImage::cubin();
    bool is_short = true;
    client::Registry registry{
        {.environment = {},
         .built_in = {.driver = LYK_SOFTCUDA,
                      .fatbin = LYK_IMAGES "/deform.fatbin",
                      .images = [&](const Device&) -> Result<client::ResolvedImage> {
                        if (is_short)
                          throw std::bad_alloc{};
                        return client::ResolvedImage{image.reply, std::move(image.fd)};
                      },
                      .names = {"hub", "cuda"}}}};
    int warnings = 0;
    registry.set_message_callback([](void* user, const char*) { ++*static_cast<int*>(user); },
                                  &warnings);
    GpuCall call{gpu, tiny, 1};
    if (!registry.call_ms_deform_attn(call.forward()))
      return "cuda did not take it";
    std::string wrong = call.check_forward();
    if (!registry.reload({{"LIBREYOLO_KERNELS=hub"}}))
      return "the environment is refused";
    const auto refused = registry.call_ms_deform_attn(call.forward());
    if (refused || refused.error().message.find("hub: no memory") == std::string::npos)
      wrong += "it does not say what is short; ";
    is_short = false;
    wrong += registry.call_ms_deform_attn(call.forward()) ? "" : "it stays so; ";
    return warnings == 0 ? wrong : wrong + "there are warnings";
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
