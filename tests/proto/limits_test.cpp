// The limits that a peer meets are in docs/protocol.md too, for people: its table is held to the
// constants.
#include "proto/limits.hpp"

#include <gtest/gtest.h>

#include "proto/text.hpp"
#include "tests/support/golden.hpp"

namespace lyk {
namespace {

// 4096 -> "4,096", as the documents write numbers.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string mebibytes(std::uint64_t bytes) {
  EXPECT_EQ(bytes % limits::mib, 0U);
  return str(grouped(bytes / limits::mib), " MiB");
}

TEST(Limits, AreWhatTheProtocolsTableSays) {
  const std::string document =
      test::read_text(std::filesystem::path{LYK_SOURCE_DIR} / "docs" / "protocol.md");
  const std::vector<std::string> rows{
      str("| a call | at most ", mebibytes(limits::request_bytes_max), ", ",
          grouped(limits::json_values_per_call_max), " JSON values, ", limits::json_depth_max,
          " levels of nesting |"),
      str("| a reply | at most ", mebibytes(limits::reply_bytes_max), " |"),
      str("| time | a message that has begun must end within ", limits::message_deadline.count(),
          " s; between messages a connection may rest for ever |"),
      str("| reading | a client that does not read its replies for ",
          limits::write_deadline.count(), " s is cut off |"),
      str("| connections | ", grouped(limits::connections_max), ", of which ",
          grouped(limits::connections_per_uid_max), " of one user; ", limits::fetches_per_uid_max,
          " running fetches of one user |"),
  };
  for (const std::string& row : rows)
    EXPECT_NE(document.find('\n' + row + '\n'), std::string::npos) << row;
  EXPECT_EQ(limits::fds_per_message_max, 1U) << "| descriptors | at most one with a message |";
  EXPECT_NE(document.find(str("(absent: ", grouped(limits::resolve_wait_default.count()), ";")),
            std::string::npos);
}

}  // namespace
}  // namespace lyk
