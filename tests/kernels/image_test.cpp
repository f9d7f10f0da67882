#include "kernels/image/image.hpp"

#include <gtest/gtest.h>

#include "image_builder.hpp"
#include "kernels/image/bytes.hpp"
#include "proto/hash.hpp"
#include "proto/limits.hpp"

namespace lyk::image::test {
namespace {

EntrySpec cubin_entry(const CubinSpec& cubin, Compression compression = Compression::none) {
  return {.arch = static_cast<std::uint32_t>(cubin.arch),
          .compression = compression,
          .payload = build_cubin(cubin)};
}

EntrySpec ptx_entry(std::uint32_t arch, std::uint64_t flags, const std::string& text) {
  return {.kind = 1, .arch = arch, .flags = flags, .payload = bytes_of(text)};
}

Contents read(const Buffer& file) {
  const auto contents = read_contents(file);
  EXPECT_TRUE(contents) << contents.error().message;
  return contents ? *contents : Contents{};
}

TEST(Image, ReadsCubinsAndPtxOutOfALibrary) {
  Buffer row = build_fatbin(
      {cubin_entry({.arch = 75, .old_layout = true, .toolkit = 118, .kernels = {scale_kernel()}},
                   Compression::lz4),
       cubin_entry({.arch = 90, .kernels = {scale_kernel()}}, Compression::zstd)});
  append(row, build_fatbin({ptx_entry(90, 0x11, ptx_text("sm_90") + '\0')}));
  for (const std::uint16_t machine : {std::uint16_t{62}, std::uint16_t{183}}) {
    const Contents contents = read(build_library(row, machine));
    EXPECT_EQ(contents.container, Container::library);
    ASSERT_EQ(contents.images.size(), 3U);
    EXPECT_TRUE(contents.skipped.empty());
    const auto& [turing, hopper, ptx] =
        std::tie(contents.images[0], contents.images[1], contents.images[2]);
    EXPECT_EQ(turing.arch.sm(), "sm_75");
    EXPECT_EQ(turing.compression, Compression::lz4);
    EXPECT_EQ(turing.toolkit, (CudaVersion{.major = 11, .minor = 8}));
    EXPECT_EQ(hopper.kind, Kind::cubin);
    EXPECT_EQ(hopper.compression, Compression::zstd);
    EXPECT_EQ(hopper.container, Container::library);
    EXPECT_EQ(ptx.kind, Kind::ptx);
    EXPECT_EQ(ptx.ptx_version, (CudaVersion{.major = 9}));
    for (const Image& image : contents.images)
      EXPECT_EQ(image.kernels, std::vector<Kernel>{scale_kernel()});
  }
}

TEST(Image, HashesAndExtractsExactlyWhatADriverIsGiven) {
  const Buffer cubin = build_cubin({.kernels = {scale_kernel()}});
  const std::string text = ptx_text("sm_90");
  const Buffer file =
      build_library(build_fatbin({cubin_entry({.kernels = {scale_kernel()}}, Compression::zstd),
                                  ptx_entry(90, 0x11, text + '\0')}));
  const Contents contents = read(file);
  ASSERT_EQ(contents.images.size(), 2U);
  EXPECT_EQ(contents.images[0].bytes, cubin.size());
  EXPECT_EQ(contents.images[0].sha256, sha256(cubin));
  EXPECT_EQ(extract(file, contents.images[0]).value(), cubin);
  EXPECT_EQ(contents.images[1].bytes, text.size());  // without the NUL
  EXPECT_EQ(contents.images[1].sha256, sha256(bytes_of(text)));
  EXPECT_EQ(extract(file, contents.images[1]).value(), bytes_of(text));
}

TEST(Image, ExtractProvesWhatItGivesOut) {
  Buffer file = build_fatbin({ptx_entry(90, 0x11, ptx_text("sm_90"))});
  const Image image = read(file).images.at(0);
  Buffer changed = file;
  changed[image.location.offset] = std::byte{'#'};
  EXPECT_EQ(extract(changed, image).error().code, Code::digest_mismatch);
  changed[image.location.offset] = std::byte{0};
  EXPECT_EQ(extract(changed, image).error().code, Code::size_mismatch);
  EXPECT_EQ(extract(Bytes{file}.first(100), image).error().code, Code::size_mismatch);
}

TEST(Image, PtxMayEndInSeveralNulsButHasNoneWithin) {
  const std::string text = ptx_text("sm_90");
  const Buffer three = bytes_of(text + std::string(3, '\0'));
  EXPECT_EQ(read(three).images.at(0).bytes, text.size());
  EXPECT_EQ(extract(three, read(three).images.at(0)).value(), bytes_of(text));
  EXPECT_EQ(read_contents(bytes_of(text + '\0' + "x")).error().message,
            "ptx: a NUL within the text");
}

TEST(Image, TheEntryKnowsThatACubinIsForAFamily) {
  EntrySpec entry = cubin_entry({.arch = 100, .kernels = {}});
  entry.flags = 0x120'0011;
  EXPECT_EQ(read(build_fatbin({entry})).images.at(0).arch.sm(), "sm_100f");
  EXPECT_EQ(read(entry.payload).images.at(0).arch.sm(), "sm_100");  // the file alone is plain
}

TEST(Image, ACubinMarkedSpecificStaysSpecificInAPlainEntry) {
  const EntrySpec entry = cubin_entry({.arch = 90, .specific = true, .kernels = {}});
  EXPECT_EQ(read(build_fatbin({entry})).images.at(0).arch.sm(), "sm_90a");
}

TEST(Image, SkipsWithAReasonWhatADriverCannotLoad) {
  EntrySpec wrong_arch = cubin_entry({.arch = 90, .kernels = {}});
  wrong_arch.arch = 80;
  EntrySpec unknown_abi = cubin_entry({.arch = 90, .kernels = {}});
  put_at<std::uint8_t>(unknown_abi.payload, 7, 0x55);
  const Contents contents = read(build_fatbin({
      {.kind = 8, .payload = Buffer(8)},
      cubin_entry({.arch = 75, .type = 1, .kernels = {}}),
      wrong_arch,
      unknown_abi,
      ptx_entry(90, 0x11, ptx_text("sm_80")),
      cubin_entry({.arch = 86, .kernels = {}}),
  }));
  ASSERT_EQ(contents.images.size(), 1U);
  EXPECT_EQ(contents.images[0].arch.sm(), "sm_86");
  std::vector<std::string> reasons;
  for (const Skipped& skipped : contents.skipped)
    reasons.push_back(skipped.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{
                         "link-time IR, not device code",
                         "cubin: relocatable device code, which nvlink has yet to link",
                         "cubin: is sm_90 in an entry for sm_80",
                         "cubin: unknown OS ABI 85 with ABI version 8",
                         "ptx: is for sm_80 in an entry for sm_90",
                     }));
}

TEST(Image, SkipsAnEntryThatDoesNotDecompress) {
  Buffer file = build_fatbin({cubin_entry({.kernels = {scale_kernel()}}, Compression::zstd)});
  file[16 + 64] ^= std::byte{0xff};  // the frame's magic
  const Contents contents = read(file);
  EXPECT_TRUE(contents.images.empty());
  ASSERT_EQ(contents.skipped.size(), 1U);
  EXPECT_NE(contents.skipped[0].reason.find("zstd"), std::string::npos);
}

TEST(Image, ListsIdenticalImagesOnce) {
  const EntrySpec entry = cubin_entry({.kernels = {scale_kernel()}});
  Buffer row = build_fatbin({entry, entry});
  append(row, build_fatbin({entry}));
  EXPECT_EQ(read(row).images.size(), 1U);
}

TEST(Image, ReportsRelocatableCodeOfALibrary) {
  const Buffer file = build_elf(
      {.sections = {{.name = "__nv_relfatbin", .type = 1, .link = 0, .bytes = Buffer(64)}}});
  const Contents contents = read(file);
  EXPECT_TRUE(contents.images.empty());
  ASSERT_EQ(contents.skipped.size(), 1U);
  EXPECT_EQ(contents.skipped[0].reason, "relocatable device code, input of nvlink");
}

TEST(Image, ALibraryWithoutDeviceCodeHasNoImages) {
  EXPECT_TRUE(read_images(build_library({})).value().empty());
}

TEST(Image, RefusesWhatIsNoneOfTheFourKinds) {
  for (const std::string_view text : {"", "#!/bin/sh\n", "{\"a\": 1}", "\177ELF", "PK\x03\x04"}) {
    const auto contents = read_contents(bytes_of(text));
    ASSERT_FALSE(contents);
    EXPECT_EQ(contents.error().code, Code::no_image);
  }
}

TEST(Image, RecognisesAFileByItsFirstBytes) {
  const auto kind = [](const Buffer& file) {
    return recognise(Bytes{file}.first(std::min<std::size_t>(file.size(), 4096)));
  };
  EXPECT_EQ(kind(build_library({})), Container::library);
  EXPECT_EQ(kind(build_fatbin({})), Container::fatbin);
  EXPECT_EQ(kind(build_cubin({.kernels = {}})), Container::cubin);
  EXPECT_EQ(kind(bytes_of(ptx_text("sm_90"))), Container::ptx);
  EXPECT_EQ(kind(build_library({}, 243)), std::nullopt);  // RISC-V
}

TEST(Image, AcceptsThePathsThatMayHoldImages) {
  for (const std::string_view path :
       {"build/torch29-cxx11-cu130-x86_64-linux/_relu.abi3.so", "build/v/lib/deep.so",
        "build/a.cubin", "build/v/a.fatbin", "images/a.ptx", "images/x/a.cubin"})
    EXPECT_TRUE(is_image_path(path)) << path;
  for (const std::string_view path :
       {"build/a.so", "images/a.so", "images/v/a.so", "a.cubin", "src/a.ptx", "xbuild/v/a.so",
        "build/v/a.so.1", "build/v/a.py", "build/v/ptx", ""})
    EXPECT_FALSE(is_image_path(path)) << path;
}

TEST(Image, NamesAreReadBack) {
  for (const Kind kind : {Kind::cubin, Kind::ptx})
    EXPECT_EQ(parse_kind(name(kind)), kind);
  for (const Container container :
       {Container::library, Container::fatbin, Container::cubin, Container::ptx})
    EXPECT_EQ(parse_container(name(container)), container);
  for (const Compression compression : {Compression::none, Compression::lz4, Compression::zstd})
    EXPECT_EQ(parse_compression(name(compression)), compression);
  EXPECT_EQ(parse_kind("elf"), std::nullopt);
}

TEST(Image, EveryByteFlippedIsAnImageOrAnErrorButNeverACrash) {
  const Buffer file = build_library(build_fatbin(
      {cubin_entry({.kernels = {scale_kernel()}}), ptx_entry(90, 0x11, ptx_text("sm_90")),
       cubin_entry({.arch = 75, .kernels = {scale_kernel()}}, Compression::lz4)}));
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const std::byte mask : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
      Buffer bad = file;
      bad[i] ^= mask;
      const auto images = read_images(bad);
      if (!images)
        continue;
      for (const Image& image : *images)
        EXPECT_TRUE(extract(bad, image)) << i;
    }
}

}  // namespace
}  // namespace lyk::image::test
