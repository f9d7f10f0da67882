#include "cli/prometheus.hpp"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/samples.hpp"
#include "tests/support/golden.hpp"

namespace lyk::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

TEST(Prometheus, IsWhatTheGoldenFileSays) {
  lyk::test::expect_golden("cli/metrics.prom", prometheus(test::status_reply(), test::outlooks()));
}

// The text exposition format: every sample below the HELP and TYPE of its name, no name twice, no
// sample twice, a newline at the end.
TEST(Prometheus, IsValidExpositionFormat) {
  wire::StatusReply status = test::status_reply();
  status.endpoint = "https://x/\"\\\n";
  const std::string text = prometheus(status, test::outlooks());
  ASSERT_TRUE(text.ends_with('\n'));
  const std::regex help{R"(# HELP ([a-z_]+) \S.*)"};
  const std::regex type{R"(# TYPE ([a-z_]+) (gauge|counter))"};
  const std::regex sample{R"re(([a-z_]+)(\{([a-z_]+="([^"\\]|\\[\\"n])*",?)+\})? [0-9]+)re"};
  std::string helped;
  std::string typed;
  std::string kind;
  std::set<std::string> names;
  std::set<std::string> series;
  for (const std::string& line : lines_of(text)) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      helped = match[1];
      EXPECT_TRUE(names.insert(helped).second) << line;
    } else if (std::regex_match(line, match, type)) {
      typed = match[1];
      kind = match[2];
      EXPECT_EQ(typed, helped);
    } else {
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1], typed) << line;
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
      EXPECT_EQ(kind == "counter", line.find("_total") != std::string::npos) << line;
      EXPECT_TRUE(line.starts_with("libreyolo_kernels_")) << line;
    }
  }
  EXPECT_GT(names.size(), 20U);
}

TEST(Prometheus, WithoutSlotsThereAreNoSlotMetrics) {
  wire::StatusReply status = test::status_reply();
  status.slots.clear();
  Outlooks outlooks = test::outlooks();
  outlooks.rows.clear();
  EXPECT_EQ(prometheus(status, outlooks).find("slot_"), std::string::npos);
}

TEST(Prometheus, APinThatIsRefusedIsSeenFromAfar) {
  wire::StatusReply status = test::status_reply();
  EXPECT_NE(prometheus(status, test::outlooks()).find("pins_refused 1\n"), std::string::npos);
  status.refused.clear();
  EXPECT_NE(prometheus(status, test::outlooks()).find("pins_refused 0\n"), std::string::npos);
}

TEST(Prometheus, TellsWhatWouldRunOnEachKindOfGpu) {
  const std::string text = prometheus(test::status_reply(), test::outlooks());
  EXPECT_NE(text.find("slot_implementation{slot=\"ms_deform_attn\",gpu=\"0\","
                      "implementation=\"hub\"} 1"),
            std::string::npos);
  EXPECT_NE(text.find("slot_implementation{slot=\"nms\",gpu=\"\",implementation=\"none\"} 1"),
            std::string::npos);
}

TEST(Prometheus, ASlotIsInExactlyOneState) {
  const std::string text = prometheus(test::status_reply(), test::outlooks());
  EXPECT_NE(text.find("slot_state{slot=\"ms_deform_attn\",state=\"cached\"} 1"), std::string::npos);
  EXPECT_NE(text.find("slot_state{slot=\"ms_deform_attn\",state=\"failed\"} 0"), std::string::npos);
  EXPECT_NE(text.find("slot_state{slot=\"nms\",state=\"failed\"} 1"), std::string::npos);
}

}  // namespace
}  // namespace lyk::cli
