// Contexts that end under a module and come again, and those that are not the primary one.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/device_code.hpp"
#include "client/driver.hpp"
#include "client/hub.hpp"
#include "proto/launch_abi.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"

namespace lyk::test {
namespace {

enum class End { reset, release };

void end_and_begin_again(const SoftGpu& gpu, End end) {
  if (end == End::reset)
    SoftGpu::must(gpu.host.primary_ctx_reset(0), "cuDevicePrimaryCtxReset");
  SoftGpu::must(gpu.cu.primary_ctx_release(0), "cuDevicePrimaryCtxRelease");
  lyk_cu_context context = nullptr;
  SoftGpu::must(gpu.cu.primary_ctx_retain(&context, 0), "cuDevicePrimaryCtxRetain");
  SoftGpu::must(gpu.host.ctx_set_current(context), "cuCtxSetCurrent");
}

TEST(Contexts, ThatEndedTakeTheirModulesWithThem) {
  for (const End end : {End::reset, End::release}) {
    const std::string said = in_child(softcuda_variables(), [&]() -> std::string {
      Scene scene;
      std::string wrong = scene.world.call(scene.call.forward());
      end_and_begin_again(scene.gpu, end);
      GpuCall again{scene.gpu, tiny, 2};
      wrong += scene.world.call(again.forward());
      wrong += scene.world.call(again.backward());
      wrong += expect_count(scene.world.warnings(), 0);
      return wrong.empty() ? again.check_forward() + again.check_backward() : wrong;
    });
    EXPECT_EQ(said, "");
  }
}

// A hub of a driver that cannot tell a context from the one before it.
struct OldHub {
  OldHub() : driver(client::open_driver(LYK_SOFTCUDA)) {
    driver->cu.ctx_get_id = nullptr;
    hub.set_settings(settings_for(folder / "socket"));
  }

  // The handle of the module, or null and why.
  std::pair<lyk_cu_module, std::string> module() {
    const auto entered = code.enter(*driver, 0, nullptr);
    if (!entered)
      return {nullptr, entered.error().message};
    const auto loaded = code.module(*driver, 0, nullptr);
    return loaded ? std::pair{(*loaded)->handle, std::string{}}
                  : std::pair{lyk_cu_module{nullptr}, loaded.error().message};
  }

  TempDir folder;
  HubImage image = HubImage::cubin();
  FakeService service{folder / "socket", [this](UniqueFd connection, int) {
                        answer_resolves(std::move(connection), image.reply, image.fd.get());
                      }};
  Result<client::Driver> driver;
  client::DriverHolder holder{LYK_SOFTCUDA};
  client::Hub hub{*SlotName::parse("ms_deform_attn"), *find_launch_abi("ms_deform_im2col")};
  client::DeviceCode code{
      holder,
      [this](const client::Driver& of, std::int32_t number) { return hub.load(of, number); },
      [](const Error&) {}};
};

TEST(Contexts, OfADriverThatCannotTellThemApartOutliveTheirLastUser) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    OldHub old;
    const auto [first, why] = old.module();
    if (first == nullptr)
      return why;
    end_and_begin_again(gpu, End::release);
    const auto [second, why_not] = old.module();
    lyk_cu_function function = nullptr;
    if (second != first)
      return "it was loaded again: " + why_not;
    return gpu.cu.module_get_function(&function, first, "none") == LYK_CU_NOT_FOUND
               ? ""
               : "the module is gone";
  });
  EXPECT_EQ(said, "");
}

TEST(Contexts, OfADriverThatCannotTellThemApartAreSeenWhileTheyAreNotThere) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    OldHub old;
    const auto [first, why] = old.module();
    SoftGpu::must(gpu.host.primary_ctx_reset(0), "cuDevicePrimaryCtxReset");
    std::string wrong =
        expect(old.module().second, "the primary context of device 0 is not active");
    lyk_cu_context context = nullptr;
    SoftGpu::must(gpu.cu.primary_ctx_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    const auto [second, why_not] = old.module();
    return second != nullptr && second != first ? wrong : wrong + "the old module: " + why_not;
  });
  EXPECT_EQ(said, "");
}

TEST(Contexts, OfADriverThatCannotTellThemApartAreLostUntilTheyAreNotThere) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    OldHub old;
    const auto entered = old.code.enter(*old.driver, 0, nullptr);
    const auto module = old.code.module(*old.driver, 0, nullptr);
    if (!entered || !module)
      return "there is no module";
    (void)old.code.lost(0, **module, Error{Code::cuda, "a fault"});
    const auto before = old.code.check_not_lost(*old.driver, 0);
    std::string wrong = before ? "it is not lost"
                               : expect(before.error().message,
                                        "the context was lost while the kernel first ran: a fault");
    SoftGpu::must(gpu.host.primary_ctx_reset(0), "cuDevicePrimaryCtxReset");
    wrong += old.code.check_not_lost(*old.driver, 0) ? "" : "it is lost though it has ended; ";
    lyk_cu_context context = nullptr;
    SoftGpu::must(gpu.cu.primary_ctx_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    return wrong + (old.code.check_not_lost(*old.driver, 0) ? "" : "its successor is lost; ");
  });
  EXPECT_EQ(said, "");
}

TEST(Contexts, AreLookedForAgainWhereTheKnownOneIsGone) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuCtxPushCurrent:1:201"}}), []() -> std::string {
        Scene scene;
        SoftGpu::must(scene.gpu.host.ctx_set_current(nullptr), "cuCtxSetCurrent");
        const std::string wrong = scene.world.call(scene.call.forward());
        SoftGpu::must(scene.gpu.host.ctx_set_current(scene.gpu.context), "cuCtxSetCurrent");
        return wrong.empty() ? scene.call.check_forward() : wrong;
      });
  EXPECT_EQ(said, "");
}

TEST(Contexts, ThatComeAgainElsewhereAreFoundFromAnyStream) {
  for (const bool is_default : {true, false}) {
    const std::string said =
        in_child(softcuda_variables({{"SOFTCUDA_MOVE_PRIMARY", "1"}}), [&]() -> std::string {
          Scene scene;
          std::string wrong = scene.world.call(scene.call.forward());
          end_and_begin_again(scene.gpu, End::reset);
          GpuCall again{scene.gpu, tiny, 2};
          if (!is_default)
            again.description().stream = scene.gpu.stream();
          wrong += scene.world.call(again.forward());
          wrong += scene.world.call(again.backward());
          wrong += expect_count(scene.world.warnings(), 0);
          return wrong.empty() ? again.check_forward() + again.check_backward() : wrong;
        });
    EXPECT_EQ(said, "");
  }
}

TEST(Contexts, OfADriverThatCannotTellThemApartAreToldByAnotherHandle) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_MOVE_PRIMARY", "1"}}), []() -> std::string {
        const SoftGpu gpu;
        OldHub old;
        const auto [first, why] = old.module();
        end_and_begin_again(gpu, End::reset);
        const auto [second, why_not] = old.module();
        return second != nullptr && second != first ? why : "the old module: " + why_not;
      });
  EXPECT_EQ(said, "");
}

TEST(Contexts, OfTheCallersOwnKeepTheirDefaultStreams) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    std::string wrong;
    lyk_cu_stream stream = scene.gpu.stream();
    lyk_cu_context own = nullptr;
    SoftGpu::must(scene.gpu.host.ctx_create(&own, 0, 0), "cuCtxCreate");
    for (const std::uintptr_t number : {0U, 1U, 2U}) {
      scene.call.description().stream = pretend_address(number);
      wrong += expect(scene.world.call(scene.call.forward()),
                      "not_eligible: ms_deform_attn: hub: another context of the tensors' device "
                      "is current, and the default stream is its");
    }
    scene.call.description().stream = stream;
    wrong += scene.world.call(scene.call.forward());
    return wrong + expect_count(scene.world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
