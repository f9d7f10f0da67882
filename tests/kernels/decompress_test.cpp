#include "kernels/image/decompress.hpp"

#include <gtest/gtest.h>

#include "image_builder.hpp"
#include "proto/limits.hpp"

namespace lyk::image::test {
namespace {

Buffer some_text() {
  Buffer out;
  for (int i = 0; i < 5000; ++i)
    put<std::uint32_t>(out, static_cast<std::uint32_t>(i % 97));
  return out;
}

TEST(Decompress, GivesBackWhatWasCompressed) {
  const Buffer text = some_text();
  EXPECT_EQ(decompress(text, Compression::none, text.size()).value(), text);
  for (const Compression compression : {Compression::lz4, Compression::zstd})
    EXPECT_EQ(decompress(compress(text, compression), compression, text.size()).value(), text);
}

TEST(Decompress, DemandsExactlyTheStatedSize) {
  const Buffer text = some_text();
  EXPECT_FALSE(decompress(text, Compression::none, text.size() + 1));
  for (const Compression compression : {Compression::lz4, Compression::zstd}) {
    const Buffer stored = compress(text, compression);
    EXPECT_FALSE(decompress(stored, compression, text.size() + 1));
    EXPECT_FALSE(decompress(stored, compression, text.size() - 1));
    EXPECT_FALSE(decompress(stored, compression, 0));
  }
}

TEST(Decompress, RefusesDamagedData) {
  const Buffer text = some_text();
  for (const Compression compression : {Compression::lz4, Compression::zstd}) {
    const Buffer stored = compress(text, compression);
    const auto result =
        decompress(Bytes{stored}.first(stored.size() / 2), compression, text.size());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::no_image);
    EXPECT_FALSE(decompress({}, compression, 1));
  }
}

TEST(Decompress, RefusesABombBeforeItAllocates) {
  const Buffer stored(100);
  for (const std::uint64_t bytes : {std::uint64_t{limits::image_bytes_max} + 1, ~std::uint64_t{0},
                                    std::uint64_t{101} * limits::image_compression_ratio_max}) {
    const auto result = decompress(stored, Compression::zstd, bytes);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::refused) << bytes;
  }
}

}  // namespace
}  // namespace lyk::image::test
