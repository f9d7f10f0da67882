#include "kernels/image/elf.hpp"

#include <gtest/gtest.h>

#include "image_builder.hpp"
#include "proto/limits.hpp"

namespace lyk::image::test {
namespace {

constexpr std::size_t section_offset_at = 40;
constexpr std::size_t section_entry_bytes_at = 58;
constexpr std::size_t section_count_at = 60;
constexpr std::size_t name_section_at = 62;

Buffer small_elf() {
  return build_elf({.sections = {{.name = ".a", .type = 1, .link = 0, .bytes = bytes_of("abc")},
                                 {.name = ".b", .type = 8, .link = 0, .bytes = {}}}});
}

std::string error_of(const Buffer& file) {
  const auto elf = parse_elf(file);
  EXPECT_FALSE(elf);
  return elf ? "" : elf.error().message;
}

TEST(Elf, ListsSectionsWithNamesOffsetsAndBytes) {
  const Buffer file = small_elf();
  const auto elf = parse_elf(file);
  ASSERT_TRUE(elf) << elf.error().message;
  ASSERT_EQ(elf->sections.size(), 4U);
  EXPECT_EQ(elf->sections[1].name, ".a");
  EXPECT_EQ(as_text(elf->sections[1].bytes), "abc");
  EXPECT_EQ(elf->sections[1].offset, 64U);
  EXPECT_TRUE(elf->sections[2].bytes.empty());
  EXPECT_EQ(elf->header.machine, elf_machine_x86_64);
}

TEST(Elf, SaysThatASectionTableIsMissing) {
  Buffer file = small_elf();
  put_at<std::uint64_t>(file, section_offset_at, 0);
  EXPECT_EQ(error_of(file), "elf: no section table (stripped), device code cannot be found");
}

TEST(Elf, RefusesASectionTableOutsideTheFile) {
  Buffer file = small_elf();
  put_at<std::uint64_t>(file, section_offset_at, file.size() - 8);
  EXPECT_NE(error_of(file).find("outside the file"), std::string::npos);
  put_at<std::uint64_t>(file, section_offset_at, ~std::uint64_t{0} - 3);
  EXPECT_NE(error_of(file).find("outside the file"), std::string::npos);
}

TEST(Elf, RefusesSectionEntriesOfAnotherSize) {
  Buffer file = small_elf();
  put_at<std::uint16_t>(file, section_entry_bytes_at, 40);
  EXPECT_EQ(error_of(file), "elf: section entries of 40 bytes, not 64");
}

TEST(Elf, ReadsTheSectionCountFromTheFirstEntryWhenTheHeaderHasNone) {
  Buffer file = small_elf();
  const std::size_t table = file.size() - std::size_t{4} * 64;
  put_at<std::uint16_t>(file, section_count_at, 0);
  put_at<std::uint64_t>(file, table + 32, 4);
  put_at<std::uint16_t>(file, name_section_at, 0xffff);
  put_at<std::uint32_t>(file, table + 40, 3);
  const auto elf = parse_elf(file);
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(elf->sections[1].name, ".a");
}

TEST(Elf, BoundsTheSectionCountBeforeItAllocates) {
  Buffer file = small_elf();
  const std::size_t table = file.size() - std::size_t{4} * 64;
  put_at<std::uint16_t>(file, section_count_at, 0);
  put_at<std::uint64_t>(file, table + 32, limits::elf_sections_max + 1);
  const auto elf = parse_elf(file);
  ASSERT_FALSE(elf);
  EXPECT_EQ(elf.error().code, Code::refused);
  put_at<std::uint64_t>(file, table + 32, 0);
  EXPECT_NE(error_of(file).find("section table of 0 entries"), std::string::npos);
}

TEST(Elf, RefusesASectionOrANameOutsideTheFile) {
  const std::size_t table = small_elf().size() - std::size_t{4} * 64;
  Buffer long_section = small_elf();
  put_at<std::uint64_t>(long_section, table + 64 + 32, 1U << 20U);
  EXPECT_EQ(error_of(long_section), "elf: section 1 is outside the file");
  Buffer far_name = small_elf();
  put_at<std::uint32_t>(far_name, table + 64, 10'000);
  EXPECT_EQ(error_of(far_name), "elf: section 1 is outside the file");
  Buffer no_names = small_elf();
  put_at<std::uint16_t>(no_names, name_section_at, 9);
  EXPECT_EQ(error_of(no_names), "elf: section names in section 9 of 4");
}

TEST(Elf, EveryTruncationIsAnErrorAndNothingElse) {
  const Buffer file = build_cubin({.kernels = {scale_kernel()}});
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse_elf(Bytes{file}.first(size))) << size;
}

TEST(Elf, FindsDefinedFunctionsByTheirOtherBits) {
  const Buffer file = build_cubin({.kernels = {scale_kernel()}});
  const auto elf = parse_elf(file);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf_functions(*elf, 0x10).value(), std::vector<std::string_view>{"scale"});
  EXPECT_TRUE(elf_functions(*elf, 0x20).value().empty());
}

TEST(Elf, RefusesSymbolsThatCannotBePrinted) {
  for (const std::string_view symbol : {"a b", "a\n", "\x1b[1m", "\xff\xfe", "a\x7f"}) {
    const Buffer file =
        build_cubin({.kernels = {{.symbol = std::string{symbol}, .name = "", .parameters = {}}}});
    const auto elf = parse_elf(file);
    ASSERT_TRUE(elf);
    EXPECT_EQ(elf_functions(*elf, 0x10).error().message, "elf: symbol 1 has no usable name");
  }
}

TEST(Elf, RefusesASymbolTableWithoutItsNames) {
  Buffer symbols(24);
  put<std::uint32_t>(symbols, 7);
  put<std::uint32_t>(symbols, 0x0003'1012);
  symbols.resize(48);
  const auto build = [&](std::uint32_t link) {
    return build_elf(
        {.sections = {{.name = ".symtab", .type = 2, .link = link, .bytes = symbols}}});
  };
  for (const std::uint32_t link : {1U, 77U}) {
    const Buffer file = build(link);
    const auto elf = parse_elf(file);
    ASSERT_TRUE(elf);
    EXPECT_FALSE(elf_functions(*elf, 0x10)) << link;
  }
}

TEST(Elf, RefusesSectionsThatAreMoreThanTheFileTogether) {
  Buffer file = small_elf();
  const std::size_t table = file.size() - std::size_t{4} * 64;
  for (const std::size_t section : {1U, 2U}) {
    put_at<std::uint32_t>(file, table + section * 64 + 4, 1);
    put_at<std::uint64_t>(file, table + section * 64 + 24, 0);
    put_at<std::uint64_t>(file, table + section * 64 + 32, file.size());
  }
  EXPECT_EQ(error_of(file), "elf: sections overlap");
}

TEST(Elf, RefusesSymbolNamesThatAreMoreThanTheirTableTogether) {
  Buffer symbols(24);
  for (const std::uint32_t name : {1U, 2U, 3U}) {  // "abc", "bc", "c"
    put<std::uint32_t>(symbols, name);
    put<std::uint32_t>(symbols, 0x0003'1012);
    symbols.resize(symbols.size() + 16);
  }
  const Buffer file = build_elf(
      {.sections = {{.name = ".strtab", .type = 3, .link = 0, .bytes = bytes_of({"\0abc\0", 5})},
                    {.name = ".symtab", .type = 2, .link = 1, .bytes = symbols}}});
  const auto elf = parse_elf(file);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf_functions(*elf, 0x10).error().message, "elf: names of symbols overlap");
}

}  // namespace
}  // namespace lyk::image::test
