#include "kernels/image/fatbin.hpp"

#include <gtest/gtest.h>

#include "image_builder.hpp"
#include "proto/limits.hpp"

namespace lyk::image::test {
namespace {

constexpr std::size_t first_entry = 16;

TEST(Fatbin, ReadsEntryHeadersOfEverySizeThatToolkitsWrote) {
  for (const std::uint32_t header_bytes : {64U, 72U, 80U, 96U, 104U, 112U, 120U}) {
    const Buffer file = build_fatbin({{.header_bytes = header_bytes, .payload = Buffer(24)},
                                      {.arch = 75, .payload = Buffer(8)}});
    const auto entries = parse_fatbins(file);
    ASSERT_TRUE(entries) << entries.error().message;
    ASSERT_EQ(entries->size(), 2U);
    EXPECT_EQ((*entries)[0].payload, (Location{16 + header_bytes, 24, 24}));
    EXPECT_EQ((*entries)[1].arch.sm(), "sm_75");
  }
}

TEST(Fatbin, ReadsArchitectureVariantsFromTheFlags) {
  const Buffer file = build_fatbin({{.arch = 100, .flags = 0x100'0011, .payload = Buffer(8)},
                                    {.arch = 100, .flags = 0x110'0011, .payload = Buffer(8)},
                                    {.arch = 103, .flags = 0x120'0011, .payload = Buffer(8)},
                                    {.kind = 1, .arch = 90, .flags = 0x10'0011, .payload = {}}});
  const auto entries = parse_fatbins(file);
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].arch.sm(), "sm_100");
  EXPECT_EQ((*entries)[1].arch.sm(), "sm_100a");
  EXPECT_EQ((*entries)[2].arch.sm(), "sm_103f");
  EXPECT_EQ((*entries)[3].arch.sm(), "sm_90a");
  EXPECT_EQ((*entries)[3].kind, Kind::ptx);
}

TEST(Fatbin, ReadsEveryContainerOfARowAndThePaddingBetween) {
  Buffer row = build_fatbin({{.arch = 75, .payload = Buffer(8)}});
  row.resize(row.size() + 13);
  append(row, build_fatbin({}));
  append(row, build_fatbin({{.arch = 80, .payload = Buffer(8)}}));
  row.resize(row.size() + 5);
  const auto entries = parse_fatbins(row);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[1].arch.sm(), "sm_80");
}

TEST(Fatbin, NamesWhatIsNoImageForADriver) {
  struct Row {
    EntrySpec entry;
    std::string_view reason;
  };
  const std::vector<Row> rows{
      {{.kind = 8, .payload = Buffer(8)}, "link-time IR, not device code"},
      {{.kind = 16, .payload = Buffer(8)}, "entry of unknown kind 16"},
      {{.flags = 0x10, .payload = Buffer(8)}, "32-bit device code"},
      {{.arch = 3, .payload = Buffer(8)}, "architecture 3 is none"},
      {{.arch = 4'000'000, .payload = Buffer(8)}, "architecture 4000000 is none"},
      {{.flags = 0xa011, .payload = Buffer(8)}, "two compressions at once"},
  };
  for (const Row& row : rows) {
    const auto entries = parse_fatbins(build_fatbin({row.entry}));
    ASSERT_TRUE(entries) << row.reason;
    EXPECT_EQ((*entries)[0].unusable, row.reason);
  }
  Buffer unknown = build_fatbin({{.payload = Buffer(8)}});
  put_at<std::uint64_t>(unknown, first_entry + 56, 100);
  EXPECT_EQ((*parse_fatbins(unknown))[0].unusable, "compressed in a way that is not known");
}

TEST(Fatbin, RefusesWhatDoesNotFitItsContainer) {
  const Buffer good = build_fatbin({{.payload = Buffer(8)}});
  const auto refused = [&](std::size_t offset, auto value) {
    Buffer bad = good;
    put_at(bad, offset, value);
    return !parse_fatbins(bad);
  };
  EXPECT_TRUE(refused(0, std::uint32_t{0xBA55ED51}));                 // magic
  EXPECT_TRUE(refused(4, std::uint16_t{2}));                          // version
  EXPECT_TRUE(refused(6, std::uint16_t{8}));                          // header too short
  EXPECT_TRUE(refused(6, std::uint16_t{0xffff}));                     // header too long
  EXPECT_TRUE(refused(8, std::uint64_t{73}));                         // container too long
  EXPECT_TRUE(refused(8, ~std::uint64_t{0}));                         // and wrapping around
  EXPECT_TRUE(refused(8, std::uint64_t{70}));                         // container too short
  EXPECT_TRUE(refused(first_entry + 4, std::uint32_t{0}));            // entry header too short
  EXPECT_TRUE(refused(first_entry + 4, std::uint32_t{0xffff'ffff}));  // too long
  EXPECT_TRUE(refused(first_entry + 8, ~std::uint64_t{0}));           // payload too long
}

TEST(Fatbin, RefusesMoreCompressedBytesThanThereAre) {
  Buffer file = build_fatbin({{.compression = Compression::zstd, .payload = Buffer(100)}});
  put_at<std::uint32_t>(file, first_entry + 16, 1000);
  EXPECT_FALSE(parse_fatbins(file));
}

TEST(Fatbin, BoundsTheNumberOfImages) {
  const Buffer file =
      build_fatbin(std::vector<EntrySpec>(limits::images_per_file_max + 1, EntrySpec{}));
  const auto entries = parse_fatbins(file);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, Code::refused);
}

TEST(Fatbin, EveryTruncationIsAnErrorOrAnEmptyRow) {
  const Buffer file = build_fatbin({{.payload = Buffer(8)}, {.kind = 1, .payload = Buffer(8)}});
  for (std::size_t size = 1; size < file.size(); ++size)
    EXPECT_FALSE(parse_fatbins(Bytes{file}.first(size))) << size;
}

}  // namespace
}  // namespace lyk::image::test
