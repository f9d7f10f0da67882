#include "fetcher/wanted.hpp"

#include <gtest/gtest.h>

#include "fetcher/variant.hpp"
#include "proto/text.hpp"
#include "tests/fetcher/hub.hpp"

namespace lyk::fetcher {
namespace {

using Names = std::vector<std::string>;

Pin abi_pin() {
  return test::pin_of("a/b", GitId{});
}

Arch arch(std::string_view text) {
  const auto parsed = Arch::parse(text);
  EXPECT_TRUE(parsed) << text;
  return *parsed;
}

ListedFile file(std::string_view path, std::uint64_t bytes) {
  auto parsed = RepoPath::parse(path);
  EXPECT_TRUE(parsed) << path;
  return {*parsed, cache::Proof{Digest{}, std::nullopt, bytes}};
}

class WantedTest : public testing::Test {
protected:
  // build/<variant>/k.so of so many bytes, with the architectures that its metadata names.
  void add(const std::string& variant, std::uint64_t bytes, const Names& archs = {}) {
    listing.files.push_back(file(str("build/", variant, "/k.so"), bytes));
    for (const std::string& each : archs)
      listing.variant_archs[variant].push_back(arch(each));
  }

  Names wanted(const Pin& pin,
               const Names& archs = {},
               std::optional<CudaVersion> driver = std::nullopt) {
    std::vector<Device> devices;
    for (const std::string& each : archs)
      devices.push_back({arch(each), is_tegra_arch(arch(each)), driver});
    const auto files = choose_wanted(listing, pin, devices);
    if (!files)
      return {str("error: ", files.error().message)};
    Names names;
    for (const ListedFile& each : *files) {
      const std::string variant = variant_of(each.path);
      names.push_back(variant.empty() || !each.path.text().ends_with("/k.so") ? each.path.text()
                                                                              : variant);
    }
    return names;
  }

  Listing listing;
};

const Names old_archs{"7.5", "8.0", "8.6", "9.0"};
const Names new_archs{"7.5", "8.0", "8.6", "9.0", "10.0", "12.0"};

TEST_F(WantedTest, OfEqualBuildsTheSmallestIsTaken) {
  add("torch210-cxx11-cu128-x86_64-linux", 900, new_archs);
  add("torch211-cxx11-cu128-x86_64-linux", 700, new_archs);
  add("torch212-cxx11-cu128-x86_64-linux", 800, new_archs);
  EXPECT_EQ(wanted(abi_pin()), Names{"torch211-cxx11-cu128-x86_64-linux"});
}

TEST_F(WantedTest, AmongEqualSizesTheNativeCpuThenTheFirstName) {
  add("torch210-cxx11-cu128-aarch64-linux", 700, new_archs);
  add("torch211-cxx11-cu128-x86_64-linux", 700, new_archs);
  add("torch212-cxx11-cu128-x86_64-linux", 700, new_archs);
  EXPECT_EQ(wanted(abi_pin()), Names{"torch211-cxx11-cu128-x86_64-linux"});
}

TEST_F(WantedTest, ABuildForAnotherCpuIsTakenWhereThereIsNoOther) {
  add("torch210-cxx11-cu128-aarch64-linux", 700, new_archs);
  EXPECT_EQ(wanted(abi_pin()), Names{"torch210-cxx11-cu128-aarch64-linux"});
}

TEST_F(WantedTest, WhatAnotherBuildCoversIsNotTaken) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, old_archs);
  add("torch212-cxx11-cu128-x86_64-linux", 900, new_archs);
  EXPECT_EQ(wanted(abi_pin()), Names{"torch212-cxx11-cu128-x86_64-linux"});
}

TEST_F(WantedTest, ABuildForAnOlderMajorIsKeptBesideANewerOne) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, old_archs);
  add("torch212-cxx11-cu130-x86_64-linux", 900, new_archs);
  EXPECT_EQ(wanted(abi_pin()),
            (Names{"torch212-cxx11-cu126-x86_64-linux", "torch212-cxx11-cu130-x86_64-linux"}));
}

TEST_F(WantedTest, AnOlderMajorCoversANewerOne) {
  add("torch212-cxx11-cu128-x86_64-linux", 900, new_archs);
  add("torch212-cxx11-cu130-x86_64-linux", 800, new_archs);
  EXPECT_EQ(wanted(abi_pin()), Names{"torch212-cxx11-cu128-x86_64-linux"});
}

TEST_F(WantedTest, WithoutArchitecturesEveryCudaVersionIsTakenOnce) {
  add("torch211-cxx11-cu126-x86_64-linux", 500);
  add("torch212-cxx11-cu126-x86_64-linux", 400);
  add("torch212-cxx11-cu128-x86_64-linux", 900);
  EXPECT_EQ(wanted(abi_pin()),
            (Names{"torch212-cxx11-cu126-x86_64-linux", "torch212-cxx11-cu128-x86_64-linux"}));
}

TEST_F(WantedTest, OtherBackendsAndSystemsAreOut) {
  add("torch212-cxx11-cu128-x86_64-linux", 900, new_archs);
  for (const char* variant :
       {"torch212-cxx11-rocm71-x86_64-linux", "torch212-cxx11-cpu-x86_64-linux",
        "torch212-metal-aarch64-darwin", "torch212-cu128-x86_64-windows", "torch-universal",
        "torch212-cxx11-xpu20253-x86_64-linux", "torch-rocm", "torch-npu"})
    add(variant, 1);
  EXPECT_EQ(wanted(abi_pin()), Names{"torch212-cxx11-cu128-x86_64-linux"});
}

TEST_F(WantedTest, PlainDeviceFilesAreAllTaken) {
  add("torch212-cxx11-cu128-x86_64-linux", 900, new_archs);
  for (const char* path : {"images/a.cubin", "images/deep/b.fatbin", "build/x.ptx", "images/c.txt",
                           "other/d.cubin", "build/torch-cuda/e.cubin"})
    listing.files.push_back(file(path, 1));
  EXPECT_EQ(wanted(abi_pin()),
            (Names{"build/torch-cuda/e.cubin", "torch212-cxx11-cu128-x86_64-linux", "build/x.ptx",
                   "images/a.cubin", "images/deep/b.fatbin"}));
}

TEST_F(WantedTest, AskedForArchitecturesTakeOnlyWhatServesThem) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, old_archs);
  add("torch212-cxx11-cu130-x86_64-linux", 900, {"10.0", "12.0"});
  EXPECT_EQ(wanted(abi_pin(), {"9.0"}), Names{"torch212-cxx11-cu126-x86_64-linux"});
  EXPECT_EQ(wanted(abi_pin(), {"12.0"}), Names{"torch212-cxx11-cu130-x86_64-linux"});
  EXPECT_EQ(wanted(abi_pin(), {"9.0", "12.0"}),
            (Names{"torch212-cxx11-cu126-x86_64-linux", "torch212-cxx11-cu130-x86_64-linux"}));
  EXPECT_EQ(wanted(abi_pin(), {"8.9"}), Names{"torch212-cxx11-cu126-x86_64-linux"})
      << "by the lower minor 8.6";
}

TEST_F(WantedTest, AnArchitectureThatNoHintNamesLeavesNothingOut) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, old_archs);
  add("torch212-cxx11-cu130-x86_64-linux", 900, {"10.0"});
  EXPECT_EQ(wanted(abi_pin(), {"13.0"}).size(), 2U) << "PTX may serve it";
}

TEST_F(WantedTest, ABuildWithoutAHintIsTakenForEveryArchitecture) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, old_archs);
  add("torch212-cxx11-cu130-x86_64-linux", 900);
  EXPECT_EQ(wanted(abi_pin(), {"9.0"}).size(), 2U);
}

TEST_F(WantedTest, ABuildOfANewerCudaMajorThanTheDriversServesNothing) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, {"8.0"});
  add("torch212-cxx11-cu130-x86_64-linux", 900, {"8.0", "8.6"});
  const Names old_build{"torch212-cxx11-cu126-x86_64-linux"};
  const Names new_build{"torch212-cxx11-cu130-x86_64-linux"};
  EXPECT_EQ(wanted(abi_pin(), {"8.6"}), new_build) << "exactly, and any driver will do";
  EXPECT_EQ(wanted(abi_pin(), {"8.6"}, CudaVersion{13, 0}), new_build);
  EXPECT_EQ(wanted(abi_pin(), {"8.6"}, CudaVersion{12, 4}), old_build) << "by the lower minor";
  add("torch212-cxx11-cu131-x86_64-linux", 100);
  EXPECT_EQ(wanted(abi_pin(), {"8.6"}, CudaVersion{12, 4}), old_build) << "hints or none";
}

TEST_F(WantedTest, ADriverThatIsTooOldForEveryBuildLeavesNothingOut) {
  add("torch212-cxx11-cu126-x86_64-linux", 500, {"8.0"});
  add("torch212-cxx11-cu130-x86_64-linux", 900, {"9.0"});
  EXPECT_EQ(wanted(abi_pin(), {"9.0"}, CudaVersion{12, 4}).size(), 2U)
      << "so that a refusal can name every image";
}

TEST_F(WantedTest, VariantsOfThePinLimitWhatIsTaken) {
  add("torch211-cxx11-cu128-x86_64-linux", 100, new_archs);
  add("torch212-cxx11-cu128-x86_64-linux", 900, new_archs);
  Pin pin = abi_pin();
  pin.variants = {"torch212-*"};
  EXPECT_EQ(wanted(pin), Names{"torch212-cxx11-cu128-x86_64-linux"});
}

TEST_F(WantedTest, APinForFilesTakesWholeVariantsWithoutBytecode) {
  for (const char* path : {"build/torch-universal/__init__.py", "build/torch-universal/a/b.py",
                           "build/torch-universal/__pycache__/x.pyc", "build/torch-universal/y.pyc",
                           "build/torch-cuda/__init__.py", "README.md", "images/a.cubin"})
    listing.files.push_back(file(path, 1));
  Pin pin = abi_pin();
  pin.abi.reset();
  pin.variants = {"torch-universal"};
  EXPECT_EQ(wanted(pin),
            (Names{"build/torch-universal/__init__.py", "build/torch-universal/a/b.py"}));
}

TEST_F(WantedTest, NothingToTakeNamesWhatThereIs) {
  listing.files.push_back(file("build/torch-cpu/k.so", 1));
  const Names names = wanted(abi_pin());
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0],
            "error: a/b at 000000000000: no file can hold CUDA device code; variants there:"
            " 'torch-cpu'");
}

TEST_F(WantedTest, AProofOfATebibyteIsRefused) {
  add("torch212-cxx11-cu128-x86_64-linux", 1ULL << 40U, new_archs);
  const auto files = choose_wanted(listing, abi_pin(), {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, Code::refused);
}

TEST(Variant, ReadsToolkitAndBackendOffTheName) {
  const auto cuda = [](std::string_view name) { return parse_variant(name).cuda; };
  EXPECT_EQ(cuda("torch212-cxx11-cu130-x86_64-linux"), (CudaVersion{13, 0}));
  EXPECT_EQ(cuda("torch-stable-abi210-cu128-aarch64-linux"), (CudaVersion{12, 8}));
  EXPECT_EQ(cuda("tvm-ffi01-cu118-x86_64-linux"), (CudaVersion{11, 8}));
  EXPECT_EQ(cuda("torch-cuda"), std::nullopt);
  EXPECT_EQ(cuda("x-cu-y-cu1-cu1234567"), std::nullopt);
  EXPECT_TRUE(parse_variant("torch-cuda").may_hold_cuda);
  EXPECT_TRUE(parse_variant("").may_hold_cuda);
  EXPECT_FALSE(parse_variant("torch-universal").may_hold_cuda);
  EXPECT_TRUE(parse_variant("torch212-cxx11-cu130-x86_64-linux").x86_64);
}

TEST(Candidate, LibrariesStandDirectlyInTheirVariant) {
  const Pin pin = abi_pin();
  const auto candidate = [&](std::string_view path) {
    return is_candidate(pin, file(path, 1).path);
  };
  EXPECT_TRUE(candidate("build/v/x.so"));
  EXPECT_FALSE(candidate("build/v/deep/x.so"));
  EXPECT_FALSE(candidate("build/x.so"));
  EXPECT_FALSE(candidate("x.so"));
  EXPECT_FALSE(candidate("build/v/x.py"));
  EXPECT_TRUE(candidate("build/v/deep/x.cubin"));
  EXPECT_FALSE(candidate("images.cubin"));
}

}  // namespace
}  // namespace lyk::fetcher
