#include "daemon/image_cache.hpp"

#include <gtest/gtest.h>

#include "proto/limits.hpp"

namespace lyk::daemon {
namespace {

Digest digest_of(std::uint8_t number) {
  Digest digest;
  digest.bytes[0] = number;
  return digest;
}

std::shared_ptr<const SealedImage> image(std::uint8_t number, std::uint64_t bytes) {
  return std::make_shared<const SealedImage>(
      SealedImage{.sha256 = digest_of(number), .bytes = bytes, .fd = UniqueFd{}});
}

std::shared_ptr<const ResolvedImage> resolved(std::shared_ptr<const SealedImage> sealed) {
  return std::make_shared<const ResolvedImage>(
      ResolvedImage{.image = std::move(sealed), .reply = "{}", .is_gated = false});
}

ImageKey key(const std::string& slot, int major = 9) {
  return {.slot = slot,
          .device = {.arch = {.major = major, .minor = 0}, .tegra = false, .driver = {}}};
}

TEST(ImageCache, FindsWhatWasInserted) {
  ImageCache cache(100);
  const auto one = resolved(image(1, 10));
  cache.insert(key("a"), one, cache.generation());
  EXPECT_EQ(cache.find(key("a")), one);
  EXPECT_EQ(cache.find(key("b")), nullptr);
  EXPECT_EQ(cache.find(key("a", 8)), nullptr);
  EXPECT_EQ(cache.find_image(digest_of(1)), one->image);
  EXPECT_EQ(cache.images(), 1U);
  EXPECT_EQ(cache.bytes(), 10U);
}

TEST(ImageCache, TheLeastRecentlyUsedGoesFirst) {
  ImageCache cache(30);
  cache.insert(key("a"), resolved(image(1, 10)), 0);
  cache.insert(key("b"), resolved(image(2, 10)), 0);
  cache.insert(key("c"), resolved(image(3, 10)), 0);
  EXPECT_NE(cache.find(key("a")), nullptr);
  cache.insert(key("d"), resolved(image(4, 10)), 0);
  EXPECT_NE(cache.find(key("a")), nullptr);
  EXPECT_EQ(cache.find(key("b")), nullptr);
  EXPECT_EQ(cache.bytes(), 30U);
}

TEST(ImageCache, AnImageOfSeveralKeysCountsOnce) {
  ImageCache cache(15);
  const auto shared = image(1, 10);
  cache.insert(key("a", 8), resolved(shared), 0);
  cache.insert(key("a", 9), resolved(shared), 0);
  EXPECT_EQ(cache.images(), 1U);
  EXPECT_EQ(cache.bytes(), 10U);
  cache.insert(key("b"), resolved(image(2, 10)), 0);  // both keys must go for its bytes
  EXPECT_EQ(cache.find(key("a", 8)), nullptr);
  EXPECT_EQ(cache.find(key("a", 9)), nullptr);
  EXPECT_EQ(cache.find_image(digest_of(1)), nullptr);
  EXPECT_EQ(cache.bytes(), 10U);
}

TEST(ImageCache, AnImageLargerThanTheCacheIsNotKept) {
  ImageCache cache(15);
  cache.insert(key("a"), resolved(image(1, 10)), 0);
  cache.insert(key("b"), resolved(image(2, 16)), 0);
  EXPECT_NE(cache.find(key("a")), nullptr);
  EXPECT_EQ(cache.find(key("b")), nullptr);
}

TEST(ImageCache, ANewerAnswerTakesThePlaceOfAnOlderOne) {
  ImageCache cache(100);
  cache.insert(key("a"), resolved(image(1, 10)), 0);
  cache.insert(key("a"), resolved(image(2, 20)), 0);
  EXPECT_EQ(cache.find(key("a"))->image->sha256, digest_of(2));
  EXPECT_EQ(cache.images(), 1U);
  EXPECT_EQ(cache.bytes(), 20U);
}

TEST(ImageCache, WhatWasReadBeforeAClearDoesNotComeInAfterIt) {
  ImageCache cache(100);
  const std::uint64_t before = cache.generation();
  cache.insert(key("a"), resolved(image(1, 10)), before);
  cache.clear();
  EXPECT_EQ(cache.find(key("a")), nullptr);
  EXPECT_EQ(cache.bytes(), 0U);
  cache.insert(key("a"), resolved(image(1, 10)), before);
  EXPECT_EQ(cache.find(key("a")), nullptr);
  cache.insert(key("a"), resolved(image(1, 10)), cache.generation());
  EXPECT_NE(cache.find(key("a")), nullptr);
}

TEST(ImageCache, ASmallerLimitEvictsAtOnce) {
  ImageCache cache(30);
  cache.insert(key("a"), resolved(image(1, 10)), 0);
  cache.insert(key("b"), resolved(image(2, 10)), 0);
  cache.set_bytes_max(10);
  EXPECT_EQ(cache.find(key("a")), nullptr);
  EXPECT_NE(cache.find(key("b")), nullptr);
}

TEST(ImageCache, KeysAreBoundedWhateverTheirSize) {
  ImageCache cache(100);
  const auto shared = image(1, 1);
  for (std::size_t i = 0; i <= limits::images_in_memory_max; ++i)
    cache.insert(key("a", static_cast<int>(i)), resolved(shared), 0);
  EXPECT_EQ(cache.find(key("a", 0)), nullptr);
  EXPECT_NE(cache.find(key("a", 1)), nullptr);
}

TEST(ImageCache, AHolderKeepsAnEvictedImage) {
  ImageCache cache(10);
  const auto held = resolved(image(1, 10));
  cache.insert(key("a"), held, 0);
  cache.insert(key("b"), resolved(image(2, 10)), 0);
  EXPECT_EQ(cache.find(key("a")), nullptr);
  EXPECT_EQ(held->image->bytes, 10U);
}

}  // namespace
}  // namespace lyk::daemon
