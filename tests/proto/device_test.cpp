#include "proto/device.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lyk {
namespace {

constexpr auto none = ArchVariant::none;
constexpr auto specific = ArchVariant::specific;
constexpr auto family = ArchVariant::family;

TEST(Arch, IsReadInEveryFormThatToolsUse) {
  struct Row {
    const char* text;
    Arch arch;
  };
  const std::vector<Row> rows{
      {"9.0", {9, 0, none}},        {"12.1", {12, 1, none}},
      {"sm_90", {9, 0, none}},      {"sm_90a", {9, 0, specific}},
      {"90", {9, 0, none}},         {"90a", {9, 0, specific}},
      {"compute_75", {7, 5, none}}, {"sm_100f", {10, 0, family}},
      {"sm_121", {12, 1, none}},    {"compute_100f", {10, 0, family}},
      {"9.0a", {9, 0, specific}},   {"53", {5, 3, none}},
  };
  for (const auto& row : rows) {
    const auto arch = Arch::parse(row.text);
    ASSERT_TRUE(arch) << row.text;
    EXPECT_EQ(*arch, row.arch) << row.text;
  }
}

TEST(Arch, IsRefusedInAnyOther) {
  for (const char* text :
       {"",        "9",     "sm_",  "sm",   "sm_9",   "9.",       ".0",     "9.10",
        "-9.0",    "9.-1",  "9.0 ", " 9.0", "sm90",   "SM_90",    "lto_90", "sm_90b",
        "sm_90aa", "9.0.0", "1e1",  "9999", "hopper", "sm_90\xff"}) {
    const auto arch = Arch::parse(text);
    EXPECT_FALSE(arch) << text;
  }
}

TEST(Arch, IsShownAsEachReaderWantsIt) {
  const Arch arch{10, 3, family};
  EXPECT_EQ(arch.sm(), "sm_103f");
  EXPECT_EQ(arch.compute(), "compute_103f");
  EXPECT_EQ(arch.capability(), "10.3");
  EXPECT_EQ(arch.number(), 103);
}

TEST(Arch, IsOrderedByNumberFirst) {
  EXPECT_LT((Arch{9, 0, specific}), (Arch{10, 0, none}));
  EXPECT_LT((Arch{8, 6, none}), (Arch{8, 9, none}));
}

TEST(CudaVersion, IsReadAndShownAlike) {
  EXPECT_EQ(CudaVersion::parse("13.0")->text(), "13.0");
  EXPECT_EQ(CudaVersion::parse("12")->text(), "12.0");
  EXPECT_LT(*CudaVersion::parse("9.2"), *CudaVersion::parse("11.8"));
}

TEST(CudaVersion, IsRefusedInAnyOtherForm) {
  for (const char* text : {"", "13.", ".0", "0.1", "-1.0", "13.0.1", "13,0", "v13", "13.0 "})
    EXPECT_FALSE(CudaVersion::parse(text)) << text;
}

TEST(Tegra, IsToldFromTheArchitecture) {
  for (const char* text : {"5.3", "6.2", "7.2", "8.7", "10.1", "11.0"})
    EXPECT_TRUE(is_tegra_arch(*Arch::parse(text))) << text;
  for (const char* text : {"5.2", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0"})
    EXPECT_FALSE(is_tegra_arch(*Arch::parse(text))) << text;
}

}  // namespace
}  // namespace lyk
