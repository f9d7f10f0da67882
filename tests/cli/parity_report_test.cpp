#include "cli/parity_report.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/cli/cli_run.hpp"
#include "tests/cli/parity_runs.hpp"

namespace lyk::cli {
namespace {

using test::on_processors;
using test::own_code_on_gpu;
using test::run_on;
using test::without_image_on;

std::string document_of(const std::vector<ParityRun>& runs) {
  JsonDocument document;
  document.begin_object();
  add_parity_runs(document, runs);
  document.end_object();
  return std::move(document).finish();
}

TEST(ParityReport, TellsOfAnImageOnEachGpu) {
  const std::vector<ParityRun> runs{run_on(0, "9.0", 1.1920929e-07), without_image_on(1)};
  test::expect_golden("cli/parity_hub.json", document_of(runs));
  test::expect_golden("cli/parity_hub.txt", parity_text(runs[0], Colours::off) + '\n' +
                                                parity_text(runs[1], Colours::off));
}

TEST(ParityReport, TellsOfTheLibrarysOwnCode) {
  test::expect_golden("cli/parity_cuda.json", document_of({own_code_on_gpu(1)}));
  test::expect_golden("cli/parity_cpu.json", document_of({on_processors()}));
  test::expect_golden("cli/parity_own.txt", parity_text(own_code_on_gpu(1), Colours::off) + '\n' +
                                                parity_text(on_processors(), Colours::off));
}

TEST(ParityReport, APinRecordsOnlyWhatItsImagesCameTo) {
  EXPECT_TRUE(parity_records({own_code_on_gpu(), on_processors()}).empty());
}

TEST(ParityReport, GpusOfOneKindHaveOneRecordWithTheirGreatestError) {
  const auto records = parity_records(
      {run_on(0, "9.0", 1e-7), run_on(1, "9.0", 3e-7), run_on(2, "12.0", 0), without_image_on(3)});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].greatest_error, "3e-07");
  EXPECT_EQ(records[1].arch.capability(), "12.0");
  EXPECT_EQ(records[1].greatest_error, "0");
}

// The file that the service's own parser is tested with (tests/fetcher/pin_test.cpp).
TEST(ParityReport, RecordsStandInAPinAsTheServiceReadsThem) {
  ParityRun small = run_on(1, "12.0", 0);
  small.extent = parity::Extent::small;
  const std::string written = parity_toml(parity_records({run_on(0, "9.0", 1.1920929e-07), small}));
  std::ifstream file{LYK_SOURCE_DIR "/tests/data/pins/y_parity.toml"};
  const std::string pin{std::istreambuf_iterator<char>{file}, {}};
  ASSERT_GT(pin.size(), written.size());
  EXPECT_EQ(pin.substr(pin.size() - written.size()), written);
}

}  // namespace
}  // namespace lyk::cli
