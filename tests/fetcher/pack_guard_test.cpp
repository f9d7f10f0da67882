#include "fetcher/pack_guard.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "proto/text.hpp"

namespace lyk::fetcher {
namespace {

using namespace std::string_literals;

std::string deflated(const std::string& content) {
  uLongf size = compressBound(content.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size,
                     reinterpret_cast<const Bytef*>(content.data()), content.size()),
            Z_OK);
  out.resize(size);
  return out;
}

std::string entry_head(unsigned type, std::uint64_t size) {
  std::string out;
  unsigned byte = (type << 4U) | static_cast<unsigned>(size & 15U);
  for (size >>= 4U; size > 0; size >>= 7U) {
    out += static_cast<char>(byte | 0x80U);
    byte = static_cast<unsigned>(size & 0x7fU);
  }
  return out + static_cast<char>(byte);
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7U)
    out += static_cast<char>((value & 0x7fU) | 0x80U);
  return out + static_cast<char>(value);
}

constexpr unsigned blob = 3;
constexpr unsigned offset_delta = 6;
constexpr unsigned reference_delta = 7;

std::string pack(unsigned char count, const std::string& entries) {
  return "PACK\0\0\0\2\0\0\0"s + static_cast<char>(count) + entries + std::string(20, 'T');
}

// All at once, then byte by byte: the same must come out.
Result<void> check(const std::string& bytes, const PackLimits& bounds = {}) {
  const auto run = [&](std::size_t step) -> Result<void> {
    PackGuard guard{bounds};
    for (std::size_t i = 0; i < bytes.size(); i += step)
      LYK_TRY(
          guard.feed(std::as_bytes(std::span{bytes}.subspan(i, std::min(step, bytes.size() - i)))));
    return guard.finish();
  };
  auto whole = run(bytes.size() + 1);
  const auto pieces = run(1);
  EXPECT_EQ(whole.has_value(), pieces.has_value());
  if (!whole && !pieces) {
    EXPECT_EQ(whole.error().message, pieces.error().message);
  }
  return whole;
}

std::string why(const std::string& bytes, const PackLimits& bounds = {}) {
  const auto result = check(bytes, bounds);
  return result ? "accepted" : result.error().message;
}

TEST(PackGuard, AcceptsHonestPacks) {
  EXPECT_EQ(why(pack(0, "")), "accepted");
  const std::string text(100'000, 'a');
  const std::string delta = varint(5) + varint(10) + "\x90\x05";
  EXPECT_EQ(why(pack(3, entry_head(blob, text.size()) + deflated(text) +
                            entry_head(offset_delta, delta.size()) + "\x85\x01" + deflated(delta) +
                            entry_head(reference_delta, delta.size()) + std::string(20, 'r') +
                            deflated(delta))),
            "accepted");
  EXPECT_EQ(why(pack(1, entry_head(blob, 0) + deflated(""))), "accepted");
}

TEST(PackGuard, RefusesWhatPassesALimit) {
  PackLimits bounds;
  bounds.object_bytes_max = 1000;
  bounds.unpacked_bytes_max = 1500;
  bounds.objects_max = 3;
  bounds.pack_bytes_max = 100'000;
  const std::string text(800, 'a');
  const std::string one = entry_head(blob, text.size()) + deflated(text);
  EXPECT_EQ(why(pack(1, one), bounds), "accepted");
  EXPECT_EQ(why(pack(2, one + one), bounds),
            "git pack: its objects are too many bytes unpacked, and more than 1500 is refused");
  EXPECT_EQ(why(pack(1, entry_head(blob, 1001)), bounds),
            "git pack: an object of 1001 bytes, and more than 1000 is refused");
  EXPECT_EQ(why(pack(4, ""), bounds), "git pack: 4 objects, and more than 3 is refused");
  const std::string bomb = varint(5) + varint(1'000'000) + "x";
  EXPECT_EQ(why(pack(1, entry_head(offset_delta, bomb.size()) + "\x05" + deflated(bomb)), bounds),
            "git pack: an object of 1000000 bytes, and more than 1000 is refused");
  bounds.pack_bytes_max = 30;
  EXPECT_EQ(why(pack(0, "")), "accepted");
  EXPECT_EQ(why(pack(0, ""), bounds), "git pack: it is too long, and more than 30 is refused");
}

TEST(PackGuard, StopsAtTheFirstByteTooMuch) {
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(why(pack(1, entry_head(blob, 10) + deflated(text))),
            "git pack: an entry unpacks to more than its header says");
}

TEST(PackGuard, RefusesWhatIsNoPack) {
  const std::string text = "hello\n";
  const std::string one = entry_head(blob, text.size()) + deflated(text);
  EXPECT_EQ(why("JUNKJUNKJUNK"), "git pack: it does not begin with PACK");
  EXPECT_EQ(why("PACK\0\0\0\x09\0\0\0\0"s), "git pack: version 9 is not 2");
  EXPECT_EQ(why(pack(1, one).substr(0, 20)), "git pack: it ends in the middle");
  EXPECT_EQ(why(pack(1, one) + "x"), "git pack: bytes come after its end");
  EXPECT_EQ(why(pack(1, entry_head(0, 1))), "git pack: an entry has the unknown type 0");
  EXPECT_EQ(why(pack(1, entry_head(5, 1))), "git pack: an entry has the unknown type 5");
  EXPECT_EQ(why(pack(1, entry_head(blob, 6) + "no zlib at all")),
            "git pack: an entry cannot be inflated");
  EXPECT_EQ(why(pack(1, entry_head(blob, 7) + deflated(text))),
            "git pack: an entry unpacks to less than its header says");
  EXPECT_EQ(why(pack(1, entry_head(offset_delta, 1) + "\x05" + deflated("\x05"))),
            "git pack: a delta is too short");
  EXPECT_EQ(why(pack(1, "\xbf" + std::string(20, '\xff'))),
            "git pack: a size has more than 64 bits");
  EXPECT_EQ(why(pack(1, entry_head(offset_delta, 1) + std::string(20, '\xff'))),
            "git pack: a delta's offset is too long");
}

}  // namespace
}  // namespace lyk::fetcher
