// The reader on what nvcc makes now, from data/several.cu and data/more.cu. The build makes the
// files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/image/choose.hpp"
#include "kernels/image/image.hpp"

namespace lyk::image {
namespace {

std::vector<char> built(std::string_view name) {
  std::ifstream stream{std::filesystem::path{LYK_NVCC_FOLDER} / name, std::ios::binary};
  EXPECT_TRUE(stream) << name;
  return {std::istreambuf_iterator<char>{stream}, {}};
}

Contents contents_of(std::string_view name) {
  const std::vector<char> file = built(name);
  const auto contents = read_contents(std::as_bytes(std::span{file}));
  EXPECT_TRUE(contents) << contents.error().message;
  return contents ? *contents : Contents{};
}

std::vector<std::string> targets(const Contents& contents) {
  std::vector<std::string> out;
  for (const Image& image : contents.images)
    out.push_back(image.kind == Kind::ptx ? image.arch.compute() : image.arch.sm());
  return out;
}

using Strings = std::vector<std::string>;

std::vector<Parameter> parameters(const Image& image, std::string_view symbol) {
  const auto kernel = std::ranges::find(image.kernels, symbol, &Kernel::symbol);
  EXPECT_NE(kernel, image.kernels.end()) << symbol;
  return kernel == image.kernels.end() ? std::vector<Parameter>{} : kernel->parameters;
}

void expect_layouts_of_several(const Image& image) {
  using Layout = std::vector<Parameter>;
  const Layout add{{0, 8}, {8, 1}, {16, 32}, {48, 8}, {56, 2}};
  EXPECT_EQ(parameters(image, "scale"), (Layout{{0, 8}, {8, 4}, {12, 4}}));
  EXPECT_EQ(parameters(image, "nothing"), Layout{});
  EXPECT_EQ(parameters(image, "huge"), (Layout{{0, 4}, {4, 5000}, {5008, 8}}));
  EXPECT_EQ(parameters(image, "_Z3addIfEvPT_c5MixedPKS0_s"), add);
  EXPECT_EQ(parameters(image, "_Z3addIdEvPT_c5MixedPKS0_s"), add);
  EXPECT_EQ(image.kernels.size(), 6U);
  const auto hidden = std::ranges::find_if(image.kernels, [](const Kernel& kernel) {
    return kernel.symbol.find("hidden") != std::string::npos;
  });
  ASSERT_NE(hidden, image.kernels.end());
  EXPECT_EQ(hidden->parameters, (Layout{{0, 12}, {12, 1}, {16, 8}}));
}

TEST(Nvcc, FatbinsOfEveryCompressionHoldTheSameImages) {
  std::set<std::string> hashes;
  for (const std::string_view name : {"size.fatbin", "speed.fatbin", "none.fatbin"}) {
    const Contents contents = contents_of(name);
    EXPECT_EQ(targets(contents), (Strings{"sm_75", "compute_75"})) << name;
    for (const Image& image : contents.images) {
      expect_layouts_of_several(image);
      hashes.insert(image.sha256.hex());
    }
  }
  EXPECT_EQ(hashes.size(), 2U);
  EXPECT_EQ(contents_of("size.fatbin").images.at(0).compression, Compression::zstd);
  EXPECT_EQ(contents_of("speed.fatbin").images.at(1).compression, Compression::lz4);
  EXPECT_EQ(contents_of("none.fatbin").images.at(1).compression, Compression::none);
}

TEST(Nvcc, EveryArchitectureVariantIsTold) {
  const Contents contents = contents_of("variants.fatbin");
  EXPECT_EQ(targets(contents),
            (Strings{"sm_90a", "compute_90a", "sm_100", "compute_100f", "sm_103f", "sm_120a"}));
  for (const Image& image : contents.images)
    if (image.kind == Kind::cubin)
      EXPECT_EQ(image.toolkit, (CudaVersion{.major = 13}));
    else
      EXPECT_EQ(image.ptx_version, (CudaVersion{.major = 9}));
}

TEST(Nvcc, ALibraryHasTheImagesOfEverySourceFile) {
  const Contents contents = contents_of("library.so");
  EXPECT_EQ(contents.container, Container::library);
  std::set<std::string> found;
  for (const Image& image : contents.images)
    for (const Kernel& kernel : image.kernels)
      found.insert(image.arch.sm() + " " + kernel.symbol);
  EXPECT_TRUE(found.contains("sm_75 scale"));
  EXPECT_TRUE(found.contains("sm_90 scale"));
  EXPECT_TRUE(found.contains("sm_75 second"));
  EXPECT_TRUE(found.contains("sm_90 second"));
  EXPECT_TRUE(contents.skipped.empty());
}

TEST(Nvcc, ABareCubinAndBarePtxAreRead) {
  const Contents cubin = contents_of("several.sm_90a.cubin");
  ASSERT_EQ(targets(cubin), Strings{"sm_90a"});
  expect_layouts_of_several(cubin.images[0]);
  const Contents ptx = contents_of("several.ptx");
  ASSERT_EQ(targets(ptx), Strings{"compute_75"});
  expect_layouts_of_several(ptx.images[0]);
}

TEST(Nvcc, RelocatableCodeAndLinkTimeIrAreSkipped) {
  const Contents contents = contents_of("relocatable.fatbin");
  ASSERT_EQ(contents.skipped.size(), 2U);
  EXPECT_EQ(contents.skipped[0].reason,
            "cubin: relocatable device code, which nvlink has yet to link");
  EXPECT_EQ(contents.skipped[1].reason, "link-time IR, not device code");
}

TEST(Nvcc, TheLibraryIsChosenFromForItsDevices) {
  const Contents contents = contents_of("library.so");
  std::vector<Candidate> candidates;
  for (const Image& image : contents.images)
    if (!image.kernels.empty() && image.kernels[0].symbol == "second")
      candidates.push_back({.image = &image, .file = "library.so", .file_bytes = 1, .build = {}});
  const auto chosen = [&](std::string_view arch) {
    const Device device{.arch = Arch::parse(arch).value(), .tegra = false, .driver = {}};
    const Choice choice = choose(candidates, device, nullptr);
    return choice.chosen ? std::string{name(candidates[*choice.chosen].image->kind)} + " " +
                               candidates[*choice.chosen].image->arch.sm()
                         : "none";
  };
  EXPECT_EQ(chosen("7.0"), "none");
  EXPECT_EQ(chosen("7.5"), "cubin sm_75");
  EXPECT_EQ(chosen("8.0"), "none");
  EXPECT_EQ(chosen("9.0"), "cubin sm_90");
  EXPECT_EQ(chosen("12.0"), "ptx sm_90");
}

}  // namespace
}  // namespace lyk::image
