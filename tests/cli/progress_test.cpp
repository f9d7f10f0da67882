#include "cli/progress.hpp"

#include <gtest/gtest.h>

#include "tests/cli/cli_run.hpp"

namespace lyk::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mib = 1024 * 1024;

TEST(Progress, LinesSayWhatIsKnownAndWhatFits) {
  struct Row {
    ProgressState state;
    std::size_t columns;
    std::string_view line;
  };
  const ProgressState full{.subject = "nms",
                           .action = "downloading",
                           .bytes_done = 20 * mib,
                           .bytes_total = 80 * mib,
                           .files_done = 1,
                           .files_total = 3,
                           .bytes_per_second = 10 * mib};
  ProgressState one_file = full;
  one_file.files_total = 1;
  ProgressState no_rate = one_file;
  no_rate.bytes_per_second = std::nullopt;
  ProgressState stalled = one_file;
  stalled.bytes_per_second = 0;
  ProgressState done = one_file;
  done.bytes_done = done.bytes_total;
  ProgressState nearly_done = one_file;
  nearly_done.bytes_done = nearly_done.bytes_total - 1;
  ProgressState beyond = no_rate;
  beyond.bytes_done = 90 * mib;
  ProgressState nothing_known = no_rate;
  nothing_known.bytes_done = 0;
  nothing_known.bytes_total = 0;
  ProgressState total_unknown = nothing_known;
  total_unknown.bytes_done = 3 * mib;
  ProgressState verifying = no_rate;
  verifying.action = "verifying";
  ProgressState long_name = full;
  long_name.subject = "ms_deform_attn";
  const std::vector<Row> table{
      {full, 120,
       "nms  [=====>                ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s  0:06 left  file 2 "
       "of 3"},
      {full, 90,
       "nms  [==>       ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s  0:06 left  file 2 of 3"},
      {long_name, 79,
       "ms_deform_attn  [==>       ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s  0:06 left"},
      {full, 78, "nms  [=>    ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s  0:06 left  file 2 of 3"},
      {full, 64, "nms  [=>    ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s  0:06 left"},
      {full, 60, "nms  [=>    ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s"},
      {full, 59, "nms  downloading   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s"},
      {full, 44, "nms  downloading   25%  20.0 MiB of 80.0 MiB"},
      {full, 30, "nms  downloading   25%"},
      {full, 16, "nms  downloading"},
      {full, 8, "nms  dow"},
      {full, 1, "n"},
      {one_file, 90, "nms  [==>       ]   25%  20.0 MiB of 80.0 MiB  10.0 MiB/s  0:06 left"},
      {no_rate, 60, "nms  [=>    ]   25%  20.0 MiB of 80.0 MiB"},
      {stalled, 60, "nms  [=>    ]   25%  20.0 MiB of 80.0 MiB"},
      {done, 70, "nms  [======]  100%  80.0 MiB of 80.0 MiB  10.0 MiB/s"},
      {nearly_done, 70, "nms  [=====>]   99%  80.0 MiB of 80.0 MiB  10.0 MiB/s  0:01 left"},
      {beyond, 60, "nms  [======]  100%  90.0 MiB of 80.0 MiB"},
      {nothing_known, 80, "nms  downloading"},
      {total_unknown, 80, "nms  downloading  3.0 MiB"},
      {verifying, 80, "nms  verifying  [==>       ]   25%  20.0 MiB of 80.0 MiB"},
  };
  for (const Row& row : table) {
    EXPECT_EQ(progress_line(row.state, row.columns), row.line) << row.columns;
    EXPECT_LE(progress_line(row.state, row.columns).size(), row.columns);
  }
}

TEST(Progress, ALineIsNeverWiderThanTheTerminal) {
  const ProgressState state{.subject = "a_slot_with_a_rather_long_name",
                            .action = "downloading",
                            .bytes_done = 3 * mib,
                            .bytes_total = 17 * mib,
                            .files_done = 3,
                            .files_total = 12,
                            .bytes_per_second = 123'456};
  for (std::size_t columns = 1; columns < 200; ++columns)
    EXPECT_LE(progress_line(state, columns).size(), columns);
}

TEST(Progress, HugeNumbersDoNotOverflow) {
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  const ProgressState state{.subject = "x",
                            .action = "downloading",
                            .bytes_done = huge - 1,
                            .bytes_total = huge,
                            .files_done = huge,
                            .files_total = huge,
                            .bytes_per_second = 1};
  EXPECT_LE(progress_line(state, 200).size(), 200U);
  EXPECT_NE(progress_line(state, 200).find("0:01 left"), std::string::npos);
}

TEST(Progress, ClockTimes) {
  EXPECT_EQ(clock_time(0), "0:00");
  EXPECT_EQ(clock_time(7), "0:07");
  EXPECT_EQ(clock_time(750), "12:30");
  EXPECT_EQ(clock_time(3723), "1:02:03");
  EXPECT_EQ(clock_time(99 * 3600), "99:00:00");
  EXPECT_EQ(clock_time(99 * 3600 + 1), "--:--");
}

TEST(Progress, TheRateIsThatOfTheLastSeconds) {
  Rate rate;
  EXPECT_EQ(rate.bytes_per_second(), std::nullopt);
  rate.add(0ms, 0);
  EXPECT_EQ(rate.bytes_per_second(), std::nullopt);
  rate.add(400ms, 400);
  EXPECT_EQ(rate.bytes_per_second(), std::nullopt);  // too short to tell
  rate.add(1000ms, 1000);
  EXPECT_EQ(rate.bytes_per_second(), 1000U);
  // Ten times as fast from here on: after the window has passed, the beginning no longer counts.
  for (int second = 2; second <= 8; ++second)
    rate.add(1000ms * second, static_cast<std::uint64_t>(1000 + 10000 * (second - 1)));
  EXPECT_EQ(rate.bytes_per_second(), 10000U);
}

TEST(Progress, AFileThatStartsOverStartsTheRateOver) {
  Rate rate;
  rate.add(0ms, 0);
  rate.add(1000ms, 5000);
  rate.add(1100ms, 10);
  EXPECT_EQ(rate.bytes_per_second(), std::nullopt);
}

wire::FetchProgress at(std::uint64_t done, std::string file = "a.so") {
  return {.slot = "nms",
          .step = wire::FetchStep::downloading,
          .file = std::move(file),
          .bytes_done = done,
          .bytes_total = 100,
          .files_done = 0,
          .files_total = 1};
}

class Printed {
public:
  explicit Printed(ProgressStyle style) : fd_(::memfd_create("err", MFD_CLOEXEC)), style_(style) {}
  ProgressPrinter printer() const {
    Terminal terminal;
    terminal.error_fd = fd_.get();
    terminal.columns = 60;
    return ProgressPrinter{terminal, style_};
  }
  std::string text() const { return test::contents_of(fd_.get()); }

private:
  UniqueFd fd_;
  ProgressStyle style_;
};

TEST(Progress, ATerminalHasOneLineThatIsDrawnAnewAndTakenAway) {
  const Printed printed{ProgressStyle::redraw};
  {
    auto printer = printed.printer();
    printer.show(at(0), 0ms);
    printer.show(at(10), 50ms);  // sooner than anybody reads
    printer.show(at(50), 200ms);
  }
  EXPECT_EQ(printed.text(),
            "\r\x1b[Knms  downloading    0%  0 B of 100 B"
            "\r\x1b[Knms  downloading   50%  50 B of 100 B"
            "\r\x1b[K");
}

TEST(Progress, ElsewhereEachFileHasALine) {
  const Printed printed{ProgressStyle::lines};
  {
    auto printer = printed.printer();
    wire::FetchProgress proving = at(0);
    proving.step = wire::FetchStep::proving;
    proving.file.reset();
    printer.show(proving, 0ms);
    printer.show(at(0), 1000ms);
    printer.show(at(50), 2000ms);
    printer.show(at(0, "b\n.so"), 3000ms);
    printer.show(wire::VerifyProgress{}, 4000ms);
  }
  EXPECT_EQ(printed.text(),
            "nms: proving\n"
            "nms: downloading a.so\n"
            "nms: downloading b\\x0a.so\n");
}

TEST(Progress, QuietIsQuiet) {
  const Printed printed{ProgressStyle::none};
  {
    auto printer = printed.printer();
    printer.show(at(0), 0ms);
    printer.show(wire::VerifyProgress{}, 0ms);
  }
  EXPECT_EQ(printed.text(), "");
}

}  // namespace
}  // namespace lyk::cli
