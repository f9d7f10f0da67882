#include "daemon/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "proto/unique.hpp"

namespace lyk::daemon {
namespace {

// What a Log wrote into a pipe.
template <typename Write>
std::string written(Level threshold, Write write) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader{ends[0]};
  UniqueFd writer{ends[1]};
  write(Log(writer.get(), threshold));
  writer.reset();
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(reader.get(), bytes.data(), bytes.size());
  return {bytes.data(), count < 0 ? 0 : static_cast<std::size_t>(count)};
}

TEST(Log, PlainValuesStandAsTheyAre) {
  EXPECT_EQ(format_line(Level::info, event::fetch_done, {{"bytes", 81920}, {"path", "/a/b-c.so"}}),
            "<6>fetch.done bytes=81920 path=/a/b-c.so");
}

TEST(Log, ALineStaysOneLineWhateverIsInAValue) {
  EXPECT_EQ(format_line(Level::warning, event::call, {{"error", "a \"b\"\n<3>fake\\\x7f"}}),
            "<4>call error=\"a \\\"b\\\"\\x0a<3>fake\\\\\\x7f\"");
}

TEST(Log, AnEmptyValueIsQuoted) {
  EXPECT_EQ(format_line(Level::error, event::stop, {{"error", ""}}), "<3>daemon.stop error=\"\"");
}

TEST(Log, ThresholdKeepsTheRestOut) {
  const std::string text = written(Level::warning, [](const Log& log) {
    log.info(event::start, {});
    log.warning(event::stop, {{"then", "later"}});
    log.error(event::internal, {});
  });
  EXPECT_EQ(text, "<4>daemon.stop then=later\n<3>internal\n");
}

TEST(Log, DigestsAreWholeAtDebugOnly) {
  Digest digest;
  digest.bytes.fill(0xab);
  EXPECT_EQ(Log(2, Level::info).shown(digest), "abababababab");
  EXPECT_EQ(Log(2, Level::debug).shown(digest), digest.hex());
}

}  // namespace
}  // namespace lyk::daemon
