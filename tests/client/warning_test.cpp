// What a warning says ran instead is what ran in that very call.
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tests/client/cuda_scene.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"

namespace lyk::test {
namespace {

constexpr std::string_view own_way = "; callers keep their own way";

// A call with tensors on a GPU, and a hub that nobody serves.
std::string without_service(LaunchOptions options, std::size_t warnings, std::string_view end) {
  return in_child(softcuda_variables(), [&]() -> std::string {
    options.serve = [](UniqueFd, int) {};  // hangs up
    options.names = {"hub", "cuda", "cpu"};
    Scene scene{options};
    (void)scene.world.call(scene.call.forward());
    const std::vector<std::string> said = scene.world.warnings();
    std::string wrong = expect_count(said, warnings);
    for (const std::string& warning : said)
      wrong += warning.ends_with(end) ? "" : warning + "; ";
    return wrong;
  });
}

TEST(Warnings, OfTheHubDoNotNameWhatTakesHostTensorsAlone) {
  EXPECT_EQ(
      without_service({.variables = {"LIBREYOLO_KERNELS_DISABLE=ms_deform_attn:cuda"}}, 1, own_way),
      "");
}

TEST(Warnings, OfTheHubDoNotNameWhatFailsInTheSameCall) {
  EXPECT_EQ(without_service({.variables = {}, .fatbin = "/none"}, 2, own_way), "");
}

TEST(Warnings, OfTheHubNameCudaWhereThatRuns) {
  EXPECT_EQ(without_service({.variables = {}, .fatbin = LYK_IMAGES "/deform.fatbin"}, 1,
                            "; cuda runs instead"),
            "");
}

TEST(Warnings, OfCudaDoNotNameWhatTakesHostTensorsAlone) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene{{.fatbin = "/none"}};
    QuantizationCall call{"fake_quant_nvfp4_dynamic"};
    fill(call);
    scene.upload(call);
    std::string wrong = expect_prefix(scene.call(call), "not_eligible: ");
    wrong += expect_count(scene.warnings(), 1);
    return wrong + (scene.warnings().at(0).ends_with(own_way) ? "" : scene.warnings().at(0));
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
