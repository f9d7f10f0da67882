#include "proto/frame.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "proto/limits.hpp"

namespace lyk {
namespace {

using namespace std::string_view_literals;

UniqueFd some_fd() {
  return UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

Result<void> feed(FrameReader& reader, std::string_view bytes) {
  return reader.feed(bytes, {});
}

Result<void> feed_with_fd(FrameReader& reader, std::string_view bytes, int* number) {
  std::array<UniqueFd, 1> fds{some_fd()};
  *number = fds[0].get();
  return reader.feed(bytes, fds);
}

std::vector<std::string> texts(FrameReader& reader) {
  std::vector<std::string> out;
  while (auto frame = reader.next())
    out.push_back(std::move(frame->text));
  return out;
}

TEST(FrameReader, GivesWholeMessagesInOrder) {
  FrameReader reader{100};
  ASSERT_TRUE(feed(reader, "one\0two\0thr"sv));
  EXPECT_EQ(reader.partial_bytes(), 3U);
  EXPECT_EQ(texts(reader), (std::vector<std::string>{"one", "two"}));
  ASSERT_TRUE(feed(reader, "ee\0"sv));
  EXPECT_EQ(reader.partial_bytes(), 0U);
  EXPECT_EQ(texts(reader), (std::vector<std::string>{"three"}));
}

TEST(FrameReader, GivesTheSameMessagesHoweverTheStreamIsCut) {
  constexpr std::string_view stream = "a\0bc\0def\0ghij\0"sv;
  for (std::size_t first = 0; first <= stream.size(); ++first)
    for (std::size_t second = first; second <= stream.size(); ++second) {
      FrameReader reader{4};
      ASSERT_TRUE(feed(reader, stream.substr(0, first)));
      ASSERT_TRUE(feed(reader, stream.substr(first, second - first)));
      ASSERT_TRUE(feed(reader, stream.substr(second)));
      EXPECT_EQ(texts(reader), (std::vector<std::string>{"a", "bc", "def", "ghij"}));
    }
}

TEST(FrameReader, GivesADescriptorToTheMessageThatEndsItsRead) {
  FrameReader reader{100};
  int fd = -1;
  ASSERT_TRUE(feed_with_fd(reader, "earlier\0its own\0"sv, &fd));
  EXPECT_FALSE(reader.next()->fd);
  EXPECT_EQ(reader.next()->fd.get(), fd);
}

TEST(FrameReader, GivesADescriptorToTheMessageThatBeganInItsRead) {
  FrameReader reader{100};
  int fd = -1;
  ASSERT_TRUE(feed_with_fd(reader, "earlier\0its o"sv, &fd));
  EXPECT_FALSE(reader.next()->fd);
  ASSERT_TRUE(feed(reader, "wn\0later\0"sv));
  EXPECT_EQ(reader.next()->fd.get(), fd);
  EXPECT_FALSE(reader.next()->fd);
}

TEST(FrameReader, AcceptsADescriptorThatComesInTheMiddleOfItsMessage) {
  FrameReader reader{100};
  int fd = -1;
  ASSERT_TRUE(feed(reader, "its "sv));
  ASSERT_TRUE(feed_with_fd(reader, "own\0"sv, &fd));
  EXPECT_EQ(reader.next()->fd.get(), fd);
}

TEST(FrameReader, RefusesTwoDescriptorsWithOneMessage) {
  FrameReader reader{100};
  std::array<UniqueFd, 2> fds{some_fd(), some_fd()};
  const auto fed = reader.feed("text\0"sv, fds);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Code::protocol);

  FrameReader other{100};
  int fd = -1;
  ASSERT_TRUE(feed_with_fd(other, "te"sv, &fd));
  EXPECT_EQ(feed_with_fd(other, "xt\0"sv, &fd).error().message,
            "message: more than one descriptor is attached");
}

TEST(FrameReader, RefusesAMessageAboveItsLimitAsSoonAsItIsSeen) {
  FrameReader reader{4};
  ASSERT_TRUE(feed(reader, "1234"sv));
  const auto fed = feed(reader, "5"sv);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Code::protocol);
  EXPECT_EQ(fed.error().message, "message: more than 4 bytes");
}

TEST(FrameReader, TakesAMessageOfExactlyItsLimit) {
  FrameReader reader{4};
  ASSERT_TRUE(feed(reader, "1234\0"sv));
  EXPECT_EQ(texts(reader), (std::vector<std::string>{"1234"}));
}

TEST(FrameReader, RefusesAnEmptyMessage) {
  FrameReader reader{4};
  EXPECT_EQ(feed(reader, "\0"sv).error().message, "message: empty");
}

TEST(FrameReader, StaysBrokenAfterAnError) {
  FrameReader reader{4};
  ASSERT_FALSE(feed(reader, "\0"sv));
  EXPECT_EQ(feed(reader, "ok\0"sv).error().code, Code::protocol);
  EXPECT_FALSE(reader.next());
}

TEST(FrameReader, KeepsWhatCameWholeBeforeAnError) {
  FrameReader reader{4};
  ASSERT_FALSE(feed(reader, "ok\0too long"sv));
  EXPECT_EQ(texts(reader), (std::vector<std::string>{"ok"}));
}

}  // namespace
}  // namespace lyk
