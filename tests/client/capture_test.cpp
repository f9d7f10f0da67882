// Captures are left alone by whatever a first call does, and a child of fork by the driver.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "tests/client/cuda_scene.hpp"
#include "tests/client/failure_cases.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"
#include "tests/client/trimmed_ptx.hpp"

namespace lyk::test {
namespace {

// ---- captures

TEST(CaptureRules, AKernelThatNeverRanLeavesACaptureAlone) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    lyk_cu_stream stream = scene.gpu.stream();
    scene.call.description().stream = stream;
    SoftGpu::must(scene.gpu.host.begin_capture(stream, 0), "cuStreamBeginCapture");
    std::string wrong =
        expect(scene.world.call(scene.call.forward()),
               "not_eligible: ms_deform_attn: hub: the stream captures, and this kernel has not "
               "run before");
    CUgraph_st* graph = nullptr;
    SoftGpu::must(scene.gpu.host.end_capture(stream, &graph), "cuStreamEndCapture");
    wrong += scene.world.call(scene.call.forward());  // it was not turned off
    return wrong + expect_count(scene.world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

TEST(CaptureRules, AKernelThatHasRunCanBeCapturedAndReplayed) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    lyk_cu_stream stream = scene.gpu.stream();
    scene.call.description().stream = stream;
    scene.call.description().has_level_starts = false;
    scene.call.description().workspace = pretend_address(scene.gpu.allocate(256));
    scene.call.description().workspace_bytes = 256;
    std::string wrong = scene.world.call(scene.call.forward());
    wrong += scene.world.call(scene.call.backward());
    scene.call.spoil_outputs();
    SoftGpu::must(scene.gpu.host.begin_capture(stream, 0), "cuStreamBeginCapture");
    scene.call.description().flags = LYK_NEEDS_GRADIENT;
    wrong += scene.world.call(scene.call.forward());
    wrong += scene.world.call(scene.call.backward());
    CUgraph_st* graph = nullptr;
    CUgraphExec_st* executable = nullptr;
    SoftGpu::must(scene.gpu.host.end_capture(stream, &graph), "cuStreamEndCapture");
    SoftGpu::must(scene.gpu.host.graph_instantiate(&executable, graph, 0), "cuGraphInstantiate");
    SoftGpu::must(scene.gpu.host.graph_launch(executable, stream), "cuGraphLaunch");
    SoftGpu::must(scene.gpu.cu.stream_synchronize(stream), "cuStreamSynchronize");
    return wrong.empty() ? scene.call.check_forward() + scene.call.check_backward() : wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(CaptureRules, AForwardInACaptureWaitsForItsBackwardToHaveRun) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    lyk_cu_stream stream = scene.gpu.stream();
    scene.call.description().stream = stream;
    scene.call.description().flags = LYK_NEEDS_GRADIENT;
    std::string wrong = scene.world.call(scene.call.forward());
    SoftGpu::must(scene.gpu.host.begin_capture(stream, 0), "cuStreamBeginCapture");
    wrong += expect_prefix(scene.world.call(scene.call.forward()), "not_eligible: ");
    CUgraph_st* graph = nullptr;
    SoftGpu::must(scene.gpu.host.end_capture(stream, &graph), "cuStreamEndCapture");
    return wrong;
  });
  EXPECT_EQ(said, "");
}

// Loading and running for the first time, while another thread captures in the strictest mode.
TEST(CaptureRules, ACaptureOfAnotherThreadSurvivesAFirstCall) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    lyk_cu_stream captured = scene.gpu.stream(1);
    scene.call.description().stream = scene.gpu.stream(1);
    SoftGpu::must(scene.gpu.host.begin_capture(captured, 0), "cuStreamBeginCapture");
    std::string wrong;
    std::thread other{[&] { wrong = scene.world.call(scene.call.forward()); }};
    other.join();
    CUgraph_st* graph = nullptr;
    SoftGpu::must(scene.gpu.host.end_capture(captured, &graph), "cuStreamEndCapture");
    SoftGpu::must(scene.gpu.cu.stream_synchronize(
                      static_cast<lyk_cu_stream>(scene.call.description().stream)),
                  "cuStreamSynchronize");
    return wrong.empty() ? scene.call.check_forward() : wrong;
  });
  EXPECT_EQ(said, "");
}

// The same where something of that first call fails, which then has to be taken back. The image has
// the one kernel that it needs, and is made before there are children.
const HubImage& forward_alone() {
  static const HubImage image = HubImage::of(
      trimmed_ptx(read_file(LYK_HUB_PTX), {find_launch_abi("ms_deform_im2col")
                                               ->kernels[client::deform_forward_kernel().index]
                                               .symbol}),
      wire::ImageKind::ptx, "sm_75");
  return image;
}

class HubWhileAnotherCaptures {
public:
  const SoftGpu& gpu() const { return scene_.gpu; }
  std::string call() { return scene_.world.call(scene_.call.forward()); }
  void set_stream(lyk_cu_stream stream) { scene_.call.description().stream = stream; }

private:
  Scene scene_{{.variables = {}, .serve = [](UniqueFd connection, int) {
                  const HubImage& image = forward_alone();
                  answer_resolves(std::move(connection), image.reply, image.fd.get());
                }}};
};

class CudaWhileAnotherCaptures {
public:
  CudaWhileAnotherCaptures() {
    fill(call_);
    scene_.upload(call_);
  }
  const SoftGpu& gpu() const { return scene_.gpu(); }
  std::string call() { return scene_.call(call_); }
  void set_stream(lyk_cu_stream stream) { call_.stream = stream; }

private:
  CudaScene scene_{{.fatbin = LYK_IMAGES "/nvfp4.fatbin", .names = {"cuda"}}};
  QuantizationCall call_{"fake_quant_nvfp4_dynamic"};
};

template <typename FirstCall>
class Captured {
public:
  std::string run(lyk_cu_result) {
    const SoftGpu& gpu = first_.gpu();
    lyk_cu_stream captured = gpu.stream(1);
    first_.set_stream(gpu.stream(1));
    SoftGpu::must(gpu.host.begin_capture(captured, 0), "cuStreamBeginCapture");
    std::thread other{[&] { (void)first_.call(); }};
    other.join();
    CUgraph_st* graph = nullptr;
    const lyk_cu_result ended = gpu.host.end_capture(captured, &graph);
    return ended == LYK_CU_SUCCESS ? "" : str("the capture ends with ", ended);
  }
  bool is_current_untouched() const { return true; }

private:
  FirstCall first_;
};

template <typename FirstCall>
void expect_captures_survive(const Variables& variables) {
  constexpr lyk_cu_result refused = LYK_CU_INVALID_VALUE;  // what it is makes no difference here
  const Calls calls = calls_without_failures<Captured<FirstCall>>(variables);
  EXPECT_TRUE(calls.contains("cuModuleLoadDataEx"));
  for (const auto& [function, range] : calls)
    for (const int call : chosen_calls(range, function)) {
      const std::string injection = str(function, ":", call, ":", refused);
      EXPECT_EQ(run_case<Captured<FirstCall>>(variables, injection, refused), "") << injection;
    }
}

TEST(CaptureRules, ACaptureOfAnotherThreadSurvivesWhateverFailsInAFirstCallOfTheHub) {
  (void)forward_alone();
  expect_captures_survive<HubWhileAnotherCaptures>(softcuda_variables());
}

TEST(CaptureRules, ACaptureOfAnotherThreadSurvivesWhateverFailsInAFirstCallOfCuda) {
  expect_captures_survive<CudaWhileAnotherCaptures>(cuda_variables());
}

TEST(CaptureRules, TheDefaultStreamIsLeftAloneWhileABlockingOneCaptures) {
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    lyk_cu_stream captured = scene.gpu.stream(0);
    SoftGpu::must(scene.gpu.host.begin_capture(captured, 2), "cuStreamBeginCapture");
    std::string wrong = expect_prefix(scene.world.call(scene.call.forward()), "not_eligible: ");
    CUgraph_st* graph = nullptr;
    SoftGpu::must(scene.gpu.host.end_capture(captured, &graph), "cuStreamEndCapture");
    wrong += scene.world.call(scene.call.forward());
    return wrong + expect_count(scene.world.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// As above with everything loaded and run: work on the default stream would still end the capture.
TEST(CaptureRules, TheDefaultStreamIsLeftAloneInEveryCallWhileABlockingOneCaptures) {
  for (const std::uintptr_t number : {0U, 1U}) {
    const std::string said = in_child(softcuda_variables(), [&]() -> std::string {
      Scene scene;
      GpuCall empty{scene.gpu, {.queries = 0, .levels = {2, 3}}, 1};
      scene.call.description().stream = pretend_address(number);
      empty.description().stream = pretend_address(number);
      std::string wrong = scene.world.call(scene.call.forward());
      lyk_cu_stream captured = scene.gpu.stream(0);
      SoftGpu::must(scene.gpu.host.begin_capture(captured, 2), "cuStreamBeginCapture");
      wrong += expect(scene.world.call(scene.call.forward()),
                      "not_eligible: ms_deform_attn: hub: another stream captures, and the default "
                      "stream would end that");
      wrong += expect_prefix(scene.world.call(empty.backward()), "not_eligible: ");
      CUgraph_st* graph = nullptr;
      SoftGpu::must(scene.gpu.host.end_capture(captured, &graph), "cuStreamEndCapture");
      wrong += scene.world.call(scene.call.forward());
      wrong += scene.world.call(empty.backward());
      return wrong + expect_count(scene.world.warnings(), 0);
    });
    EXPECT_EQ(said, "") << number;
  }
}

// ---- fork

TEST(ForkRules, AChildOfAProcessThatUsedTheDriverKeepsItsOwnWay) {
  if constexpr (is_address_sanitizer)
    GTEST_SKIP() << forks_among_threads;
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    Scene scene;
    std::string wrong = scene.world.call(scene.call.forward());
    const auto& arguments = scene.call.forward();
    wrong += in_child({}, [&] {
      std::string text = expect(scene.world.call(arguments),
                                "not_eligible: ms_deform_attn: hub: the parent of this process "
                                "used the driver before its fork");
      return text + expect_count(scene.world.warnings(), 0);
    });
    return wrong + scene.world.call(scene.call.forward());
  });
  EXPECT_EQ(said, "");
}

TEST(ForkRules, AChildOfAProcessThatDidNotUseTheDriverUsesIt) {
  if constexpr (is_thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow such a fork";
  if constexpr (is_address_sanitizer)
    GTEST_SKIP() << forks_among_threads;
  const std::string said = in_child(softcuda_variables(), []() -> std::string {
    LaunchWorld world;
    return in_child({}, [&]() -> std::string {
      const SoftGpu gpu;
      GpuCall call{gpu, tiny, 1};
      const std::string wrong = world.call(call.forward());
      return wrong.empty() ? call.check_forward() : wrong;
    });
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
