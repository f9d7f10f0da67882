#include "kernels/image/cubin.hpp"

#include <gtest/gtest.h>

#include "image_builder.hpp"

namespace lyk::image::test {
namespace {

Cubin parsed(const CubinSpec& spec) {
  const Buffer file = build_cubin(spec);
  const auto cubin = parse_cubin(file);
  EXPECT_TRUE(cubin) << cubin.error().message;
  return cubin ? *cubin : Cubin{};
}

TEST(Cubin, ReadsTheArchitectureFromBothLayoutsOfTheFlags) {
  for (const int arch : {50, 75, 80, 86, 90, 100, 103, 120, 121})
    for (const bool old_layout : {true, false}) {
      const Cubin cubin = parsed({.arch = arch, .old_layout = old_layout, .kernels = {}});
      EXPECT_EQ(cubin.arch, (Arch{.major = arch / 10, .minor = arch % 10}));
    }
}

TEST(Cubin, KnowsArchitectureSpecificCodeInEveryEncoding) {
  EXPECT_EQ(parsed({.specific = true, .old_layout = true, .kernels = {}}).arch.sm(), "sm_90a");
  EXPECT_EQ(parsed({.specific = true, .old_layout = false, .kernels = {}}).arch.sm(), "sm_90a");
  Buffer flagged = build_cubin({.arch = 100, .kernels = {}});  // as CUDA 12.9 wrote sm_100a
  put_at<std::uint32_t>(flagged, 48, 0x600'640aU);
  EXPECT_EQ(parse_cubin(flagged)->arch.sm(), "sm_100a");
}

TEST(Cubin, AcceptsTheElfVersionsThatToolkitsWrite) {
  for (const std::uint32_t toolkit : {117U, 118U, 126U, 128U, 129U}) {
    const Cubin cubin = parsed({.old_layout = true, .toolkit = toolkit, .kernels = {}});
    EXPECT_EQ(cubin.toolkit, (CudaVersion{.major = static_cast<int>(toolkit / 10),
                                          .minor = static_cast<int>(toolkit % 10)}));
  }
  EXPECT_EQ(parsed({.kernels = {}}).toolkit, std::nullopt);  // no kernel, nothing to tell it
  EXPECT_EQ(parsed({.kernels = {scale_kernel()}}).toolkit, (CudaVersion{.major = 13}));
}

TEST(Cubin, RefusesAnUnknownOsAbiByItsNumber) {
  Buffer file = build_cubin({.kernels = {}});
  put_at<std::uint8_t>(file, 7, 0x42);
  const auto cubin = parse_cubin(file);
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().message, "cubin: unknown OS ABI 66 with ABI version 8");
}

TEST(Cubin, ListsKernelsBySymbolWithTheirParameters) {
  const Kernel other{.symbol = "_Z3addIfEvPT_i",
                     .name = "void add<float>(float*, int)",
                     .parameters = {{0, 8}, {8, 4}}};
  const Cubin cubin = parsed({.kernels = {scale_kernel(), other, scale_kernel()}});
  ASSERT_EQ(cubin.kernels.size(), 2U);
  EXPECT_EQ(cubin.kernels[0], other);
  EXPECT_EQ(cubin.kernels[1], scale_kernel());
}

TEST(Cubin, ReadsLargeParameters) {
  const Kernel huge{.symbol = "huge", .name = "huge", .parameters = {{0, 4}, {4, 5000}, {5008, 8}}};
  EXPECT_EQ(parsed({.kernels = {huge}, .large_parameters = true}).kernels[0], huge);
}

TEST(Cubin, SaysThatRelocatableCodeIsNotForADriver) {
  EXPECT_FALSE(parsed({.type = 1, .kernels = {}}).unusable.empty());
  EXPECT_TRUE(parsed({.kernels = {}}).unusable.empty());
}

// A cubin with one kernel `k` whose .nv.info section is `info`.
Buffer with_info(const Buffer& info) {
  Buffer symbols(24);
  put<std::uint32_t>(symbols, 1);
  put<std::uint32_t>(symbols, 0x0003'1012);
  symbols.resize(48);
  return build_elf({.os_abi = 0x41,
                    .abi_version = 8,
                    .type = 2,
                    .machine = 190,
                    .flags = 0x600'5a04,
                    .sections = {
                        {.name = ".strtab", .type = 3, .link = 0, .bytes = bytes_of({"\0k\0", 3})},
                        {.name = ".symtab", .type = 2, .link = 1, .bytes = symbols},
                        {.name = ".nv.info.k", .type = 0x7000'0000, .link = 2, .bytes = info},
                    }});
}

Buffer parameter(std::uint16_t ordinal) {
  Buffer value;
  put<std::uint32_t>(value, 0);
  put(value, ordinal);
  put<std::uint16_t>(value, 0);
  put<std::uint32_t>(value, 0x0011'f000);
  Buffer out;
  put_value(out, 0x17, value);
  return out;
}

TEST(Cubin, RefusesParametersThatAreNotNumberedOnceEach) {
  Buffer gap = parameter(0);
  append(gap, parameter(2));
  Buffer twice = parameter(0);
  append(twice, parameter(0));
  for (const Buffer& info : {gap, twice}) {
    const auto cubin = parse_cubin(with_info(info));
    ASSERT_FALSE(cubin);
    EXPECT_EQ(cubin.error().message, "cubin: parameters are not numbered from 0 to 1");
  }
}

TEST(Cubin, RefusesAttributesThatAreCutOff) {
  const Buffer whole = parameter(0);
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_FALSE(parse_cubin(with_info({whole.begin(), whole.begin() + static_cast<long>(size)})))
        << size;
  Buffer short_value;
  put_value(short_value, 0x17, Buffer(8));
  EXPECT_FALSE(parse_cubin(with_info(short_value)));
}

TEST(Cubin, BoundsTheNumberOfParameters) {
  Buffer info;
  for (std::uint16_t i = 0; i < 4097; ++i)
    append(info, parameter(i));
  const auto cubin = parse_cubin(with_info(info));
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, Code::refused);
}

TEST(Cubin, IsNotAHostLibrary) {
  const Buffer file = build_library({});
  EXPECT_EQ(parse_cubin(file).error().message, "cubin: ELF machine 62 is not CUDA");
}

}  // namespace
}  // namespace lyk::image::test
