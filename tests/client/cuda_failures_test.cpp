// What comes of everything that can fail on the way of `cuda`: the fatbin, the driver at each of
// its calls. Whatever it is, results are right, or the call says that it is not eligible, or that
// the context is lost; there is at most one warning.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/driver.hpp"
#include "tests/client/cuda_scene.hpp"
#include "tests/client/failure_cases.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {
namespace {

constexpr const char* small_fatbin = LYK_IMAGES "/nvfp4.fatbin";
constexpr std::string_view slot = "fake_quant_nvfp4_dynamic";

// ---- the fatbin

// The answer to a call with that fatbin, and the warnings.
std::string with_fatbin(const std::string& path,
                        const std::string& says,
                        std::size_t warnings,
                        Variables more = {}) {
  return in_child(cuda_variables(std::move(more)), [&]() -> std::string {
    CudaScene scene{{.fatbin = path}};
    QuantizationCall call{slot};
    fill(call);
    scene.upload(call);
    std::string wrong;
    for (int i = 0; i < 2; ++i) {
      const std::string said = scene.call(call);
      if (said.find(says) == std::string::npos || !said.starts_with("not_eligible: "))
        wrong += str("said '", said, "', expected '", says, "'; ");
    }
    return wrong + expect_count(scene.warnings(), warnings);
  });
}

TEST(CudaFailures, OfAFatbinThatIsNotThere) {
  EXPECT_EQ(with_fatbin("/nowhere/libreyolo_kernels.fatbin",
                        "open '/nowhere/libreyolo_kernels.fatbin': No such file", 1),
            "");
}

TEST(CudaFailures, OfAFatbinThatIsDamaged) {
  const TempDir folder;
  const std::string whole = read_file(small_fatbin);
  const std::string path = folder / "x.fatbin";
  const auto write = [&](const std::string& bytes) {
    std::ofstream{path, std::ios::binary} << bytes;
  };
  write("");
  EXPECT_EQ(with_fatbin(path, "0 bytes are no fatbin", 1), "");
  write("some text");
  EXPECT_EQ(with_fatbin(path, "it is no fatbin", 1), "");
  for (const std::size_t bytes : {std::size_t{15}, std::size_t{40}, whole.size() - 1}) {
    write(whole.substr(0, bytes));
    EXPECT_EQ(with_fatbin(path, "fatbin: ", 1), "") << bytes;
  }
  std::string torn = whole;
  torn.replace(torn.find(".reg"), 4, ".rgg");
  write(torn);
  EXPECT_EQ(with_fatbin(path, "load libreyolo_kernels.fatbin: CUDA_ERROR_INVALID_PTX", 1), "");
}

TEST(CudaFailures, OfAFatbinWithoutOneOfTheKernels) {
  EXPECT_EQ(with_fatbin(LYK_IMAGES "/deform.fatbin",
                        "find the kernel lyk_fake_quant_nvfp4_forward_f32", 1),
            "");
}

// `status` and `doctor` go by the same rule, so that it is refused here before a driver is asked.
TEST(CudaFailures, OfADriverThatIsTooOldForTheFatbin) {
  EXPECT_EQ(with_fatbin(small_fatbin,
                        "device 0: libreyolo_kernels.fatbin sm_80 (PTX): PTX 9.0, the driver "
                        "compiles up to 8.7",
                        1, {{"SOFTCUDA_DRIVER", "12.8"}}),
            "");
}

TEST(CudaFailures, OfAGpuThatTheFatbinHasNoCodeForAreItsAlone) {
  const std::string said = in_child({{"SOFTCUDA_DEVICES", "sm_75,sm_90"}}, []() -> std::string {
    CudaScene scene{{.fatbin = small_fatbin}};
    QuantizationCall call{slot};
    fill(call);
    scene.upload(call);
    std::string wrong = expect_prefix(
        scene.call(call),
        "not_eligible: fake_quant_nvfp4_dynamic: cuda: device 0: libreyolo_kernels.fatbin has "
        "no code for 7.5");
    const SoftGpu other{1};
    QuantizationCall elsewhere{slot};
    fill(elsewhere);
    scene.upload(elsewhere);
    for (std::size_t i = 0; i < elsewhere.size(); ++i)
      elsewhere.tensor(i).tensor.device.device_id = 1;
    wrong += scene.run(elsewhere);
    const auto states = scene.registry().states(slot);
    wrong += expect(states[0].reason,
                    "runs first, but not on device 0: libreyolo_kernels.fatbin has no code for "
                    "7.5");
    return wrong + expect_count(scene.warnings(), 1);
  });
  EXPECT_EQ(said, "");
}

// ---- the driver

// Two forwards and two backwards, so that first launches and later ones are both among the calls.
class Scenario {
public:
  Scenario() {
    fill(forward_);
    fill_backward(backward_);
    for (QuantizationCall* call : {&forward_, &backward_}) {
      scene_.upload(*call);
      call->stream = stream_;
    }
    // Its own context, so that every call has to push and pop.
    SoftGpu::must(scene_.gpu().host.ctx_set_current(nullptr), "cuCtxSetCurrent");
  }

  // What is wrong; empty: nothing. `injected` is the result that some call is given.
  std::string run(lyk_cu_result injected) {
    for (QuantizationCall* call : {&forward_, &forward_, &backward_, &backward_}) {
      const std::string status = scene_.call(*call);
      if (status.starts_with("cuda: ") && client::is_sticky(injected))
        break;
      if (status.starts_with("not_eligible: "))
        continue;
      if (!status.empty())
        return status;
      if (std::string wrong = check(*call, injected); !wrong.empty())
        return wrong;
    }
    return scene_.warnings().size() <= 1 ? "" : "more than one warning: " + scene_.warnings()[1];
  }

  bool is_current_untouched() const { return scene_.gpu().current() == nullptr; }

private:
  std::string check(QuantizationCall& call, lyk_cu_result injected) {
    try {
      const SoftGpu& gpu = scene_.gpu();
      SoftGpu::must(gpu.host.ctx_set_current(gpu.context), "cuCtxSetCurrent");
      std::string wrong = scene_.check(call);
      SoftGpu::must(gpu.host.ctx_set_current(nullptr), "cuCtxSetCurrent");
      return wrong;
    } catch (const std::exception& exception) {
      // A sticky error of a call whose own result decides nothing shows here.
      return client::is_sticky(injected) ? "" : exception.what();
    }
  }

  CudaScene scene_{{.fatbin = small_fatbin, .names = {"cuda"}}};
  QuantizationCall forward_{slot};
  QuantizationCall backward_{slot};
  lyk_cu_stream stream_ = scene_.gpu().stream();
};

constexpr std::size_t shares = 16;

class CudaFailureShare : public testing::TestWithParam<std::size_t> {};

TEST_P(CudaFailureShare, LeavesRightResultsOrAnHonestAnswer) {
  if (is_thread_sanitizer)
    GTEST_SKIP() << "one thread makes the calls: there is no race to look for";
  if (is_address_sanitizer && GetParam() % 4 != 0)
    GTEST_SKIP() << "the ways are those of the hub, of which this sanitizer sees every case";
  expect_share<Scenario>({.number = GetParam(), .of = shares}, cuda_variables());
}

INSTANTIATE_TEST_SUITE_P(CudaFailures, CudaFailureShare, testing::Range<std::size_t>(0, shares));

TEST(CudaFailures, OfAKernelThatFaultsTakeTheContextAndSaySo) {
  const std::string said = in_child(
      cuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:async"}}), []() -> std::string {
        CudaScene scene{{.fatbin = small_fatbin}};
        QuantizationCall call{slot};
        fill(call);
        scene.upload(call);
        std::string wrong;
        for (int i = 0; i < 2; ++i)
          wrong += expect_prefix(scene.call(call), "cuda: ");
        return wrong + expect_count(scene.warnings(), 1);
      });
  EXPECT_EQ(said, "");
}

TEST(CudaFailures, OfOneSlotLeaveTheOthersAsTheyAre) {
  const std::string said =
      in_child(cuda_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:1"}}), []() -> std::string {
        CudaScene scene;
        std::string wrong;
        for (const char* name : {"fake_quant_nvfp4_weight", "fake_quant_fp8"}) {
          QuantizationCall call{name};
          fill(call);
          scene.upload(call);
          const std::string done = scene.call(call);
          wrong +=
              name == std::string{"fake_quant_fp8"}
                  ? done + scene.check(call)
                  : expect_prefix(done, "not_eligible: fake_quant_nvfp4_weight: cuda: launch ");
        }
        wrong +=
            scene.registry().states("fake_quant_nvfp4_weight")[0].is_active ? "it is on; " : "";
        return wrong + expect_count(scene.warnings(), 1);
      });
  EXPECT_EQ(said, "");
}

TEST(CudaFailures, OfADriverInAChildOfForkAreNoFailures) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene{{.fatbin = small_fatbin}};
    QuantizationCall call{slot};
    fill(call);
    scene.upload(call);
    std::string wrong = scene.call(call);
    return wrong + in_child({}, [&]() -> std::string {
             return expect_prefix(scene.call(call),
                                  "not_eligible: fake_quant_nvfp4_dynamic: cuda: the parent of "
                                  "this process used the driver before its fork") +
                    expect_count(scene.warnings(), 0);
           });
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
