#include "kernels/image/choose.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lyk::image {
namespace {

constexpr int none = -1;

// One image of a table row, in a short form: "sm_90", "sm_90a", "ptx 80", "ptx 90a@8.4" (its
// .version), "sm_90@13.0" (the toolkit of a cubin).
Image image_of(std::string_view text) {
  Image out;
  const std::size_t at = text.find('@');
  std::optional<CudaVersion> version;
  if (at != std::string_view::npos)
    version = CudaVersion::parse(text.substr(at + 1)).value();
  text = text.substr(0, at);
  if (text.starts_with("ptx ")) {
    out.kind = Kind::ptx;
    text.remove_prefix(4);
    out.ptx_version = version ? version : CudaVersion{.major = 7};
  } else {
    out.toolkit = version;
  }
  out.arch = Arch::parse(text).value();
  return out;
}

struct Row {
  std::string_view device;
  std::string_view driver;  // empty: not known
  std::vector<std::string_view> images;
  int chosen = none;
};

// Every image in a file of its own, of the same size, named in the order of the row.
Choice choose_of(const Row& row) {
  std::vector<Image> images;
  std::vector<std::string> files;
  for (const std::string_view text : row.images) {
    images.push_back(image_of(text));
    files.push_back("build/v" + std::to_string(files.size()) + "/k.so");
  }
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < images.size(); ++i)
    candidates.push_back({.image = &images[i], .file = files[i], .file_bytes = 1, .build = {}});
  Device device;
  device.arch = Arch::parse(row.device).value();
  device.tegra = is_tegra_arch(device.arch);
  if (!row.driver.empty())
    device.driver = CudaVersion::parse(row.driver).value();
  return choose(candidates, device, nullptr);
}

std::string describe(const Row& row) {
  std::string out = std::string{row.device} + " driver " + std::string{row.driver} + ":";
  for (const std::string_view text : row.images)
    out += " " + std::string{text} + ",";
  return out;
}

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Choice choice = choose_of(row);
    EXPECT_EQ(choice.chosen ? static_cast<int>(*choice.chosen) : none, row.chosen) << describe(row);
    EXPECT_EQ(choice.refused.size(), row.images.size() - (choice.chosen ? 1 : 0)) << describe(row);
    for (const Refusal& refused : choice.refused)
      EXPECT_FALSE(refused.reason.empty()) << describe(row);
  }
}

TEST(Choose, TakesMachineCodeForTheArchitectureOrALowerMinor) {
  expect_rows({
      {"7.5", "13.0", {"sm_75", "sm_80", "sm_90"}, 0},
      {"7.5", "13.0", {"sm_70", "sm_80"}, 0},
      {"7.5", "13.0", {"sm_70", "sm_75"}, 1},
      {"7.5", "13.0", {"sm_61"}, none},
      {"8.0", "13.0", {"sm_75", "sm_80", "sm_86"}, 1},
      {"8.0", "13.0", {"sm_75", "sm_86", "sm_90"}, none},
      {"8.6", "13.0", {"sm_80", "sm_86", "sm_89"}, 1},
      {"8.6", "13.0", {"sm_80", "sm_89"}, 0},
      {"8.6", "13.0", {"sm_89", "sm_90"}, none},
      {"8.9", "13.0", {"sm_80", "sm_86"}, 1},
      {"8.9", "13.0", {"sm_86", "sm_80"}, 0},
      {"8.9", "13.0", {"sm_80", "sm_86", "sm_89", "sm_90"}, 2},
      {"9.0", "13.0", {"sm_80", "sm_90", "sm_100"}, 1},
      {"9.0", "13.0", {"sm_80", "sm_86", "sm_89"}, none},
      {"10.0", "13.0", {"sm_90", "sm_100", "sm_120"}, 1},
      {"10.0", "13.0", {"sm_90", "sm_120"}, none},
      {"10.3", "13.0", {"sm_100", "sm_103"}, 1},
      {"10.3", "13.0", {"sm_100", "sm_120"}, 0},
      {"12.0", "13.0", {"sm_100", "sm_120"}, 1},
      {"12.0", "13.0", {"sm_100", "sm_121"}, none},
      {"12.1", "13.0", {"sm_120", "sm_100"}, 0},
      {"12.1", "13.0", {"sm_120", "sm_121"}, 1},
      {"9.0", "", {"sm_90"}, 0},
      {"9.0", "", {}, none},
  });
}

TEST(Choose, GivesTegraChipsTheirOwnMachineCodeOrPtx) {
  expect_rows({
      {"8.7", "13.0", {"sm_80", "sm_86"}, none},
      {"8.7", "13.0", {"sm_80", "sm_87"}, 1},
      {"8.7", "13.0", {"sm_86", "ptx 80"}, 1},
      {"8.9", "13.0", {"sm_87"}, none},
      {"8.9", "13.0", {"sm_87", "sm_80"}, 1},
      {"8.9", "13.0", {"ptx 87"}, 0},
      {"7.2", "11.8", {"sm_70"}, none},
      {"7.5", "13.0", {"sm_72"}, none},
      {"7.2", "11.8", {"sm_70", "sm_72"}, 1},
      {"5.3", "11.8", {"sm_50", "sm_52"}, none},
      {"6.2", "11.8", {"sm_60", "sm_61", "sm_62"}, 2},
      {"10.1", "12.9", {"sm_100"}, none},
      {"10.3", "13.0", {"sm_101"}, none},
      {"10.1", "12.9", {"sm_101"}, 0},
      {"11.0", "13.0", {"sm_101", "sm_100"}, none},
      {"11.0", "13.0", {"sm_110", "ptx 100"}, 0},
      {"11.0", "13.0", {"ptx 100", "ptx 90"}, 0},
  });
  // A chip of an architecture that is not known as Tegra, but says that it is one.
  Image ampere = image_of("sm_80");
  const std::vector<Candidate> one{{.image = &ampere, .file = "a", .file_bytes = 1, .build = {}}};
  Device device{.arch = {.major = 8, .minor = 8}, .tegra = true, .driver = {}};
  EXPECT_FALSE(choose(one, device, nullptr).chosen);
  device.tegra = false;
  EXPECT_TRUE(choose(one, device, nullptr).chosen);
}

TEST(Choose, KeepsArchitectureSpecificImagesToTheirArchitecture) {
  expect_rows({
      {"9.0", "13.0", {"sm_90a"}, 0},
      {"9.0", "13.0", {"sm_90", "sm_90a"}, 1},
      {"9.0", "13.0", {"sm_90a", "sm_90"}, 0},
      {"10.0", "13.0", {"sm_90a"}, none},
      {"10.3", "13.0", {"sm_100a"}, none},
      {"10.3", "13.0", {"sm_100a", "sm_100"}, 1},
      {"12.1", "13.0", {"sm_120a", "sm_120"}, 1},
      {"12.0", "13.0", {"ptx 90a"}, none},
      {"9.0", "13.0", {"ptx 90a"}, 0},
      {"10.0", "13.0", {"ptx 90a", "ptx 80"}, 1},
      {"11.0", "13.0", {"sm_110a"}, 0},
      {"8.7", "13.0", {"sm_87a"}, 0},
  });
}

TEST(Choose, KeepsFamilyImagesToTheirFamily) {
  expect_rows({
      {"10.0", "13.0", {"sm_100f"}, 0},
      {"10.3", "13.0", {"sm_100f"}, 0},
      {"10.0", "13.0", {"sm_103f"}, none},
      {"10.7", "13.2", {"sm_100f", "sm_103f"}, 1},
      {"10.1", "13.0", {"sm_100f"}, none},
      {"10.3", "13.0", {"sm_100f", "sm_100"}, 0},
      {"10.3", "13.0", {"sm_100f", "sm_103"}, 1},
      {"10.0", "13.0", {"sm_100", "sm_100f", "sm_100a"}, 2},
      {"10.0", "13.0", {"sm_100", "sm_100f"}, 1},
      {"12.1", "13.0", {"sm_120f"}, 0},
      {"12.0", "13.0", {"sm_121f"}, none},
      {"12.0", "13.0", {"sm_100f", "sm_103f"}, none},
      {"11.0", "13.0", {"sm_110f"}, 0},
      {"11.0", "13.0", {"sm_100f"}, none},
      {"10.3", "13.0", {"ptx 100f"}, 0},
      {"12.0", "13.0", {"ptx 100f"}, none},
      {"12.0", "13.0", {"ptx 100f", "ptx 100"}, 1},
  });
}

TEST(Choose, TakesTheHighestPtxThatTheDriverCompiles) {
  expect_rows({
      {"9.0", "13.0", {"ptx 80"}, 0},
      {"9.0", "13.0", {"ptx 75", "ptx 80", "ptx 90"}, 2},
      {"8.6", "13.0", {"ptx 90"}, none},
      {"8.6", "13.0", {"ptx 90", "ptx 80", "ptx 70"}, 1},
      {"12.0", "13.0", {"sm_90", "ptx 90"}, 1},
      {"12.0", "13.0", {"ptx 120", "sm_120"}, 1},
      {"8.9", "13.0", {"ptx 89", "sm_80"}, 1},
      {"9.0", "12.4", {"ptx 90@8.4"}, 0},
      {"9.0", "12.4", {"ptx 90@8.5"}, none},
      {"9.0", "12.4", {"ptx 90@8.5", "ptx 80@8.0"}, 1},
      {"9.0", "12.9", {"ptx 90@9.0"}, none},
      {"9.0", "13.0", {"ptx 90@9.0"}, 0},
      {"9.0", "13.0", {"ptx 90@9.1"}, none},
      {"9.0", "11.8", {"ptx 90@7.8"}, 0},
      {"9.0", "11.8", {"ptx 90@8.0"}, none},
      {"9.0", "", {"ptx 90@9.9"}, 0},
  });
}

TEST(Choose, RefusesImagesOfANewerCudaMajorThanTheDriver) {
  expect_rows({
      {"9.0", "12.9", {"sm_90@13.0"}, none},
      {"9.0", "12.0", {"sm_90@12.9"}, 0},  // the same major: minor versions are compatible
      {"9.0", "13.0", {"sm_90@12.9"}, 0},
      {"9.0", "12.9", {"sm_90@13.0", "sm_90@11.8"}, 1},
      {"9.0", "", {"sm_90@13.0"}, 0},
      {"9.0", "11.8", {"sm_90@12.0", "ptx 80"}, 1},
  });
  Image image = image_of("ptx 80");
  const std::vector<Candidate> one{{.image = &image,
                                    .file = "build/torch29-cu130-x86_64-linux/k.so",
                                    .file_bytes = 1,
                                    .build = CudaVersion{.major = 13}}};
  Device device{
      .arch = {.major = 9}, .tegra = false, .driver = CudaVersion{.major = 12, .minor = 9}};
  const Choice choice = choose(one, device, nullptr);
  ASSERT_FALSE(choice.chosen);
  EXPECT_EQ(choice.refused[0].reason, "built with CUDA 13.0, the driver knows 12.9");
}

TEST(Choose, AmongEqualsTheSmallerDownloadWinsThenTheNameThenThePlace) {
  Image first = image_of("sm_90");
  Image second = image_of("sm_90");
  second.location.offset = 100;
  const Device device{.arch = {.major = 9}, .tegra = false, .driver = {}};
  const auto chosen = [&](Candidate a, Candidate b) {
    return *choose(std::vector{a, b}, device, nullptr).chosen;
  };
  const auto with = [](const Image& image, std::string_view file, std::uint64_t bytes) {
    return Candidate{.image = &image, .file = file, .file_bytes = bytes, .build = {}};
  };
  EXPECT_EQ(chosen(with(first, "b", 10), with(second, "a", 11)), 0U);
  EXPECT_EQ(chosen(with(first, "a", 11), with(second, "b", 10)), 1U);
  EXPECT_EQ(chosen(with(first, "b", 10), with(second, "a", 10)), 1U);
  EXPECT_EQ(chosen(with(first, "a", 10), with(second, "a", 10)), 0U);
  EXPECT_EQ(chosen(with(second, "a", 10), with(first, "a", 10)), 1U);
  // But a better fit wins over a smaller download.
  Image lower = image_of("sm_80");
  Image exact = image_of("sm_86");
  const Device ampere{.arch = {.major = 8, .minor = 6}, .tegra = false, .driver = {}};
  const std::vector<Candidate> unequal{with(lower, "a", 1), with(exact, "b", 1000)};
  EXPECT_EQ(choose(unequal, ampere, nullptr).chosen, 1U);
}

// ---- launch ABI ---------------------------------------------------------------------------------

constexpr std::array pointer_and_int{KernelParameter{0, 8}, KernelParameter{8, 4}};
constexpr std::array abi_kernels{AbiKernel{"alpha", pointer_and_int},
                                 AbiKernel{"beta", pointer_and_int}};
constexpr LaunchAbi abi{.name = "example", .kernels = abi_kernels};

Image with_kernels(std::vector<Kernel> kernels) {
  Image out = image_of("sm_90");
  out.kernels = std::move(kernels);
  return out;
}

TEST(Choose, DemandsEverySymbolOfTheLaunchAbiWithItsLayout) {
  const std::vector<Parameter> layout{{0, 8}, {8, 4}};
  const Kernel alpha{.symbol = "alpha", .name = "alpha", .parameters = layout};
  const Kernel beta{.symbol = "beta", .name = "beta", .parameters = layout};
  const Kernel more{.symbol = "zeta", .name = "zeta", .parameters = {}};
  EXPECT_EQ(abi_mismatch(with_kernels({alpha, beta, more}), abi), std::nullopt);
  EXPECT_EQ(abi_mismatch(with_kernels({alpha}), abi),
            "lacks 1 of the 2 kernels of launch ABI example, first 'beta'");
  EXPECT_EQ(abi_mismatch(with_kernels({}), abi),
            "lacks 2 of the 2 kernels of launch ABI example, first 'alpha'");
  for (const std::vector<Parameter>& other : {std::vector<Parameter>{},
                                              {{0, 8}},
                                              {{0, 8}, {8, 8}},
                                              {{0, 8}, {12, 4}},
                                              {{0, 8}, {8, 4}, {12, 4}},
                                              {{8, 4}, {0, 8}}}) {
    const Kernel changed{.symbol = "beta", .name = "beta", .parameters = other};
    EXPECT_TRUE(abi_mismatch(with_kernels({alpha, changed}), abi)->starts_with("kernel 'beta'"));
  }
}

TEST(Choose, PassesOverABetterFitThatDoesNotDefineTheLaunchAbi) {
  const std::vector<Parameter> layout{{0, 8}, {8, 4}};
  Image fits = with_kernels({{.symbol = "alpha", .name = "", .parameters = layout},
                             {.symbol = "beta", .name = "", .parameters = layout}});
  fits.arch = {.major = 8};
  Image lacks = with_kernels({});
  lacks.arch = {.major = 8, .minor = 6};
  const std::vector<Candidate> candidates{
      {.image = &lacks, .file = "build/v/a.so", .file_bytes = 1, .build = {}},
      {.image = &fits, .file = "build/v/a.so", .file_bytes = 1, .build = {}}};
  const Device device{.arch = {.major = 8, .minor = 9}, .tegra = false, .driver = {}};
  EXPECT_EQ(choose(candidates, device, &abi).chosen, 1U);
  EXPECT_EQ(choose(candidates, device, nullptr).chosen, 0U);
}

// ---- words --------------------------------------------------------------------------------------

TEST(Choose, SaysWhyForEveryCandidate) {
  const Choice choice = choose_of({"10.3",
                                   "12.9",
                                   {"sm_100", "sm_90", "sm_100a", "sm_120", "sm_120f", "sm_101",
                                    "ptx 90", "sm_103@13.0", "ptx 80@9.0", "ptx 120", "sm_100"},
                                   0});
  EXPECT_EQ(choice.reason, "machine code for sm_100, which runs on 10.3");
  std::vector<std::string> reasons;
  for (const Refusal& refused : choice.refused)
    reasons.push_back(refused.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{
                         "built for sm_90, another major than the device's 10.3",
                         "built for sm_100a, which runs on 10.0 only",
                         "built for sm_120, above the device's 10.3",
                         "built for sm_120f, above the device's 10.3",
                         "built for sm_101, a Tegra chip: it runs on 10.1 only",
                         "runs here, but sm_100 fits better",
                         "built with CUDA 13.0, the driver knows 12.9",
                         "PTX 9.0, the driver compiles up to 8.8",
                         "PTX for compute_120, above the device's 10.3",
                         "as good as the one in 'build/v0/k.so', which comes first",
                     }));
}

TEST(Choose, ARefusalAsAWholeNamesEveryCandidate) {
  const Image low = image_of("sm_80");
  const Image ptx = image_of("ptx 120");
  const std::vector<Candidate> candidates{
      {.image = &low, .file = "build/v/a.so", .file_bytes = 1, .build = {}},
      {.image = &ptx, .file = "images/b.ptx", .file_bytes = 1, .build = {}}};
  const Device device{.arch = {.major = 9}, .tegra = false, .driver = {}};
  EXPECT_EQ(explain(choose(candidates, device, nullptr), candidates),
            "build/v/a.so sm_80: built for sm_80, another major than the device's 9.0; "
            "images/b.ptx sm_120 (PTX): PTX for compute_120, above the device's 9.0");
  EXPECT_EQ(explain(choose({}, device, nullptr), {}), "there are no images");
}

TEST(Choose, KnowsThePtxVersionOfEveryDriver) {
  struct Version {
    CudaVersion driver;
    CudaVersion ptx;
  };
  for (const auto& [driver, ptx] : std::vector<Version>{{{10, 2}, {6, 5}},
                                                        {{11, 0}, {7, 0}},
                                                        {{11, 8}, {7, 8}},
                                                        {{12, 0}, {8, 0}},
                                                        {{12, 5}, {8, 5}},
                                                        {{12, 6}, {8, 5}},
                                                        {{12, 7}, {8, 6}},
                                                        {{12, 8}, {8, 7}},
                                                        {{12, 9}, {8, 8}},
                                                        {{13, 0}, {9, 0}},
                                                        {{13, 2}, {9, 2}}})
    EXPECT_EQ(newest_ptx_version(driver), ptx) << driver.text();
}

TEST(Choose, ReadsTheCudaVersionOfABuildVariant) {
  const auto version = [](std::string_view path) {
    const auto found = build_cuda_version(path);
    return found ? found->text() : "";
  };
  EXPECT_EQ(version("build/torch29-cxx11-cu130-x86_64-linux/k.so"), "13.0");
  EXPECT_EQ(version("build/torch-stable-abi210-cu128-aarch64-linux/k.so"), "12.8");
  EXPECT_EQ(version("build/cu118/k.so"), "11.8");
  EXPECT_EQ(version("build/torch212-cxx11-rocm71-x86_64-linux/k.so"), "");
  EXPECT_EQ(version("build/torch-cuda/k.so"), "");
  EXPECT_EQ(version("build/torch-cu13x-linux/k.so"), "");
  EXPECT_EQ(version("images/cu130/k.cubin"), "");
  EXPECT_EQ(version("build/"), "");
}

}  // namespace
}  // namespace lyk::image
