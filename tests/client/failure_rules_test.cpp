// One test for each rule about failures (DESIGN section 7): what is off, what is told, what goes
// on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/driver.hpp"
#include "client/machine.hpp"
#include "client/module.hpp"
#include "proto/channel.hpp"
#include "proto/launch_abi.hpp"
#include "proto/message.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"

namespace lyk::test {
namespace {

// ---- load and launch

TEST(FailureRules, AFailedLoadIsOffForGoodWithOneWarning) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuModuleLoadDataEx:1:209"}}), []() -> std::string {
        Scene scene;
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()),
                                          "not_eligible: ms_deform_attn: hub: load the sm_90 cubin "
                                          "of build/x/ops.so: CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
        wrong += expect_prefix(scene.world.call(scene.call.forward()),
                               "not_eligible: ms_deform_attn: hub: off for the rest of this "
                               "process: load the sm_90 cubin");
        wrong += expect_count(scene.world.warnings(), 1);
        wrong += expect_prefix(scene.world.warnings().at(0), str(off, "load the sm_90 cubin"));
        return scene.world.connections() == 1 ? wrong : wrong + "it was asked for twice";
      });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, TheWarningSaysWhatTheCompilerOfPtxSaid) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const HubImage image =
        HubImage::of(".version 9.0\n.target sm_75\n.address_size 64\nnonsense;\n",
                     wire::ImageKind::ptx, "sm_75");
    Scene scene{{.variables = {}, .serve = [&](UniqueFd connection, int) {
                   answer_resolves(std::move(connection), image.reply, image.fd.get());
                 }}};
    (void)scene.world.call(scene.call.forward());
    std::string wrong = expect_count(scene.world.warnings(), 1);
    const std::string warning = scene.world.warnings().at(0);
    wrong += expect_prefix(warning, str(off, "load the sm_75 PTX of build/x/ops.so: "));
    return warning.find("; it says '") != std::string::npos ? wrong : wrong + warning;
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, AFailedLaunchIsOffForGoodAndNoZerosAreHandedOut) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:701"}}), []() -> std::string {
        Scene scene;
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()),
                                          "not_eligible: ms_deform_attn: hub: launch the kernel: "
                                          "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)");
        wrong += expect_prefix(scene.world.call(scene.call.forward()),
                               "not_eligible: ms_deform_attn: hub: off");
        wrong += expect_count(scene.world.warnings(), 1);
        if (!scene.world.warnings().at(0).ends_with("; callers keep their own way"))
          wrong += scene.world.warnings().at(0);
        for (const float value : scene.call.download(scene.call.description().output))
          if (value != -7.5F)
            wrong += "the output was touched; ";
        return wrong;
      });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, ALaterLaunchThatFailsTurnsItOffToo) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:3:2"}}), []() -> std::string {
        Scene scene;
        std::string wrong = scene.world.call(scene.call.forward());
        wrong += scene.world.call(scene.call.forward());
        wrong += expect_prefix(scene.world.call(scene.call.forward()),
                               "not_eligible: ms_deform_attn: hub: launch the kernel");
        wrong += expect_prefix(scene.world.call(scene.call.backward()),
                               "not_eligible: ms_deform_attn: hub: off");
        return wrong + expect_count(scene.world.warnings(), 1);
      });
  EXPECT_EQ(said, "");
}

int say_ok(void* user, const lyk_arguments*) {
  ++*static_cast<int*>(user);
  return LYK_OK;
}

// ---- sticky errors

TEST(FailureRules, AFaultOfOurFirstRunIsOursAndTheContextIsLost) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:async"}}), []() -> std::string {
        Scene scene;
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()),
                                          "cuda: run the kernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
        wrong += expect_count(scene.world.warnings(), 1);
        wrong +=
            expect_prefix(scene.world.warnings().at(0),
                          str(off, "the context was lost while the kernel first ran: run the "));
        if (!scene.world.warnings().at(0).ends_with(
                "; the context is lost, and nothing runs instead"))
          wrong += scene.world.warnings().at(0);
        return wrong;
      });
  EXPECT_EQ(said, "");
}

// After each of these the driver says that only a new process helps.
TEST(FailureRules, EveryErrorThatNoContextSurvivesIsOne) {
  for (const lyk_cu_result result :
       {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999})
    EXPECT_TRUE(client::is_sticky(result)) << result;
  for (const lyk_cu_result result : {0, 1, 2, 201, 209, 400, 701, 720, 800, 900, 906, 912})
    EXPECT_FALSE(client::is_sticky(result)) << result;
}

TEST(FailureRules, AFaultOfLaterWorkIsToldAndBlamedOnNobody) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:2:719:async"}}), []() -> std::string {
        Scene scene;
        std::string wrong = scene.world.call(scene.call.forward());
        wrong += scene.world.call(scene.call.forward());
        (void)scene.gpu.cu.stream_synchronize(nullptr);
        wrong += expect_prefix(scene.world.call(scene.call.forward()), "cuda: ");
        return wrong + expect_count(scene.world.warnings(), 0);
      });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, AnEarlierErrorOfTheCallersIsNotBlamedOnTheKernel) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuStreamSynchronize:1:700"}}), []() -> std::string {
        Scene scene;
        const std::string wrong =
            expect_prefix(scene.world.call(scene.call.forward()),
                          "cuda: earlier work of the stream: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
        return wrong + expect_count(scene.world.warnings(), 0);
      });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, AnEarlierErrorThatPassesLeavesTheKernelOn) {
  const std::string said = in_child(
      softcuda_variables({{"SOFTCUDA_FAIL", "cuStreamSynchronize:1:2"}}), []() -> std::string {
        Scene scene;
        std::string wrong = expect_prefix(scene.world.call(scene.call.forward()),
                                          "not_eligible: ms_deform_attn: hub: earlier work");
        wrong += scene.world.call(scene.call.forward());
        wrong += expect_count(scene.world.warnings(), 0);
        return wrong.empty() ? scene.call.check_forward() : wrong;
      });
  EXPECT_EQ(said, "");
}

// ---- the caller

TEST(FailureRules, APointerThatTheDriverDoesNotTakeIsTheCallersMistake) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    alignas(256) static std::array<char, 4096> of_the_host{};
    DeformCall& call = scene.call.description();
    void* const good = call.grad_value.tensor.data;
    call.grad_value.tensor.data = of_the_host.data();
    std::string wrong = expect_prefix(scene.world.call(scene.call.backward()),
                                      "invalid_argument: grad_value: fill it: "
                                      "CUDA_ERROR_INVALID_VALUE (1)");
    call.grad_value.tensor.data = good;
    call.has_level_starts = false;
    call.workspace = of_the_host.data();
    call.workspace_bytes = of_the_host.size();
    wrong += expect_prefix(scene.world.call(scene.call.forward()),
                           "invalid_argument: workspace: fill it: CUDA_ERROR_INVALID_VALUE (1)");
    call.has_level_starts = true;
    wrong += scene.world.call(scene.call.backward());
    wrong += expect_count(scene.world.warnings(), 0);
    return wrong.empty() ? scene.call.check_backward() : wrong;
  });
  EXPECT_EQ(said, "");
}

// ---- the driver

TEST(FailureRules, NoDriverIsAnOrdinaryState) {
  const std::string said = in_child({}, []() -> std::string {
    LaunchWorld world{{.variables = {}, .driver = "/nowhere/libcuda.so.1"}};
    DeformCall call;
    const std::string wrong = expect_prefix(world.call(call.arguments(LYK_FORWARD)),
                                            "not_eligible: ms_deform_attn: hub: no driver: ");
    return wrong + expect_count(world.warnings(), 0) +
           (world.connections() == 0 ? "" : "a service was asked");
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, NoDeviceIsAnOrdinaryState) {
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_FAIL", "cuInit:1:100"}}), []() -> std::string {
        LaunchWorld world;
        DeformCall call;
        const std::string wrong =
            expect_prefix(world.call(call.arguments(LYK_FORWARD)), "not_eligible: ");
        return wrong + expect_count(world.warnings(), 0);
      });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, ADriverThatCountsNoDeviceIsAnOrdinaryState) {
  const std::string said = in_child({}, []() -> std::string {
    LaunchWorld world{{.variables = {}, .driver = LYK_EMPTY_DRIVER}};
    DeformCall call;
    const std::string wrong = expect_prefix(world.call(call.arguments(LYK_FORWARD)),
                                            "not_eligible: ms_deform_attn: hub: ");
    const auto gpus = client::list_gpus(LYK_EMPTY_DRIVER);
    return wrong + expect_count(world.warnings(), 0) +
           (!gpus && gpus.error().code == Code::no_driver ? "" : "there are GPUs");
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, ADriverThatIsTooOldOrSomethingElseIsNamedOnce) {
  const struct {
    Variables variables;
    const char* driver;
    const char* text;
  } rows[] = {
      {{}, LYK_OLD_DRIVER, "it is for CUDA 0.0, and 11.0 is the oldest that is known"},
      {{},
       "libm.so.6",
       "libm.so.6: it has no cuInit, so it is no CUDA driver, or one from before "
       "11.0"},
      {{{"SOFTCUDA_FAIL", "cuInit:1:803"}}, LYK_SOFTCUDA, "initialise the driver: "},
      {{{"SOFTCUDA_FAIL", "cuInit:1:999"}}, LYK_SOFTCUDA, "initialise the driver: "},
      {{{"SOFTCUDA_FAIL", "cuDriverGetVersion:1:719"}}, LYK_SOFTCUDA, "ask the driver for its "},
  };
  for (const auto& row : rows) {
    const std::string said = in_child(softcuda_variables(row.variables), [&]() -> std::string {
      LaunchWorld world{{.variables = {}, .driver = row.driver}};
      DeformCall call;
      std::string wrong = expect_prefix(world.call(call.arguments(LYK_FORWARD)), "not_eligible: ");
      (void)world.call(call.arguments(LYK_FORWARD));
      wrong += expect_count(world.warnings(), 1);
      return world.warnings().at(0).find(row.text) != std::string::npos
                 ? wrong
                 : wrong + world.warnings().at(0);
    });
    EXPECT_EQ(said, "") << row.text;
  }
}

TEST(FailureRules, ADriverWithoutWhatIsOptionalLoadsAllTheSame) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    auto driver = client::open_driver(LYK_SOFTCUDA);
    if (!driver)
      return driver.error().message;
    driver->cu.func_load = nullptr;
    driver->cu.ctx_get_id = nullptr;
    HubImage image = HubImage::cubin();
    const auto module = client::load_module(*driver, {image.reply, std::move(image.fd)},
                                            *find_launch_abi("ms_deform_im2col"));
    return module ? "" : module.error().message;
  });
  EXPECT_EQ(said, "");
}

// ---- the service

TEST(FailureRules, WhatTheServiceDoesNotHaveIsToldWithTheCommandThatMendsIt) {
  const struct {
    Code code;
    const char* text;
  } rows[] = {
      {Code::not_cached, "; to have it beforehand: libreyolo-kernels fetch ms_deform_attn"},
      {Code::offline, "; to have it beforehand: libreyolo-kernels fetch ms_deform_attn"},
      {Code::network, "nothing of the sort; callers keep their own way"},
      {Code::timeout, "nothing of the sort; callers keep their own way"},
      {Code::no_image, "nothing of the sort; callers keep their own way"},
      {Code::not_pinned, "nothing of the sort; callers keep their own way"},
      {Code::refused, "nothing of the sort; callers keep their own way"},
      {Code::invalid_argument, "nothing of the sort; callers keep their own way"},
      {Code::cuda, "nothing of the sort; callers keep their own way"},
  };
  for (const auto& row : rows) {
    const std::string said = in_child(softcuda_variables(), [&]() -> std::string {
      const std::string answer = wire::encode_error({row.code, "nothing of the sort"}, {});
      Scene scene{{.variables = {}, .serve = [&](UniqueFd connection, int) {
                     answer_raw(std::move(connection), answer + '\0');
                   }}};
      std::string wrong = expect_prefix(scene.world.call(scene.call.forward()), "not_eligible: ");
      (void)scene.world.call(scene.call.forward());
      wrong += expect_count(scene.world.warnings(), 1);
      wrong += scene.world.connections() == 1 ? "" : "it was asked again; ";
      return scene.world.warnings().at(0).find(row.text) != std::string::npos
                 ? wrong
                 : wrong + scene.world.warnings().at(0);
    });
    EXPECT_EQ(said, "") << info(row.code).name;
  }
}

// Samples: a connection alone is broken at every byte (connection_test.cpp), in a tenth of the
// time.
constexpr std::size_t bytes_between = 23;

// What is wrong where this is what every connection meets; empty: nothing.
std::string told_once(GpuCall& call, const FakeService::Serve& serve) {
  LaunchWorld world{{.variables = {}, .serve = serve}};
  const std::string wrong = expect_prefix(world.call(call.forward()), "not_eligible: ");
  return wrong + expect_count(world.warnings(), 1);
}

TEST(FailureRules, AServiceThatDiesAmidItsReplyIsToldOnce) {
  const HubImage image = HubImage::ptx();
  const std::string whole = wire::encode_reply(image.reply) + '\0';
  const std::string said = in_child(softcuda_variables(), [&]() -> std::string {
    const SoftGpu gpu;
    GpuCall call{gpu, tiny, 1};
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += bytes_between) {
      const std::string wrong = told_once(call, [&](UniqueFd connection, int) {
        answer_raw(std::move(connection), std::string_view{whole}.substr(0, bytes), image.fd.get());
      });
      if (!wrong.empty())
        return str(bytes, " bytes: ", wrong);
    }
    return {};
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, AServiceThatDiesAmidTheCallIsToldOnce) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    const SoftGpu gpu;
    GpuCall call{gpu, tiny, 1};
    std::atomic<bool> has_read_all{false};
    for (std::size_t bytes = 0; !has_read_all; bytes += bytes_between) {
      const std::string wrong = told_once(call, [&](UniqueFd connection, int) {
        char byte = '?';
        for (std::size_t i = 0; i < bytes && byte != '\0'; ++i)
          if (::read(connection.get(), &byte, 1) != 1)
            return;
        has_read_all = has_read_all || byte == '\0';
      });
      if (!wrong.empty())
        return str(bytes, " bytes: ", wrong);
    }
    return {};
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, NobodyIsAskedWhereTheEnvironmentForbidsTheHub) {
  for (const char* variable : {"LIBREYOLO_HUB_KERNELS=0", "LIBREYOLO_KERNELS=off",
                               "LIBREYOLO_KERNELS_DISABLE=ms_deform_attn:hub"}) {
    const std::string said = in_child(softcuda_variables(), [&]() -> std::string {
      Scene scene{{.variables = {variable}}};
      const std::string wrong =
          expect_prefix(scene.world.call(scene.call.forward()), "not_eligible: ");
      return wrong + expect_count(scene.world.warnings(), 0) +
             (scene.world.connections() == 0 ? "" : "a service was asked");
    });
    EXPECT_EQ(said, "") << variable;
  }
}

TEST(FailureRules, AVariableThatMeansNothingIsAFailureOfTheHub) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene{{.variables = {"LIBREYOLO_KERNELS_WAIT=soon"}}};
    std::string wrong = expect_prefix(scene.world.call(scene.call.forward()), "not_eligible: ");
    wrong += expect_count(scene.world.warnings(), 1);
    return wrong + expect(scene.world.warnings().at(0),
                          str(off,
                              "LIBREYOLO_KERNELS_WAIT 'soon': not a number of seconds; "
                              "callers keep their own way"));
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, AnImplementationOfTheProgramRunsBeforeTheHub) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    int calls = 0;
    if (!scene.world.registry().add(
            "ms_deform_attn", {sizeof(lyk_implementation), 0, "mine", say_ok, nullptr, &calls}))
      return "it cannot be registered";
    const std::string wrong = scene.world.call(scene.call.forward());
    return calls == 1 && scene.world.connections() == 0 ? wrong : "the hub ran";
  });
  EXPECT_EQ(said, "");
}

// ---- threads

TEST(FailureRules, ThreadsThatComeAtOnceLoadOnce) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (unsigned i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        SoftGpu::must(scene.gpu.host.ctx_set_current(scene.gpu.context), "cuCtxSetCurrent");
        GpuCall call{scene.gpu, tiny, i};
        call.description().stream = scene.gpu.stream();
        for (int n = 0; n < 4; ++n)
          if (!scene.world.call(call.forward()).empty() ||
              !scene.world.call(call.backward()).empty())
            ++failed;
        SoftGpu::must(
            scene.gpu.cu.stream_synchronize(static_cast<lyk_cu_stream>(call.description().stream)),
            "cuStreamSynchronize");
        if (!call.check_forward().empty() || !call.check_backward().empty())
          ++failed;
      });
    for (std::thread& thread : threads)
      thread.join();
    return failed == 0 && scene.world.connections() == 1
               ? ""
               : str(failed.load(), " failed, ", scene.world.connections(), " connections");
  });
  EXPECT_EQ(said, "");
}

TEST(FailureRules, ThreadsThatComeAtOnceFailOnceWithOneWarning) {
  for (const char* injection : {"cuModuleLoadDataEx:1:2", "cuLaunchKernel:1+:2"}) {
    const std::string said =
        in_child(softcuda_variables({{"SOFTCUDA_FAIL", injection}}), []() -> std::string {
          Scene scene;
          std::vector<std::thread> threads;
          std::atomic<int> not_refused{0};
          for (unsigned i = 0; i < 6; ++i)
            threads.emplace_back([&, i] {
              SoftGpu::must(scene.gpu.host.ctx_set_current(scene.gpu.context), "cuCtxSetCurrent");
              GpuCall call{scene.gpu, tiny, i};
              if (!scene.world.call(call.forward()).starts_with("not_eligible: "))
                ++not_refused;
            });
          for (std::thread& thread : threads)
            thread.join();
          std::string wrong = expect_count(scene.world.warnings(), 1);
          return not_refused == 0 && scene.world.connections() == 1 ? wrong : wrong + "?";
        });
    EXPECT_EQ(said, "") << injection;
  }
}

}  // namespace
}  // namespace lyk::test
