#include "fetcher/fetch.hpp"

#include <gtest/gtest.h>

#include "fetcher/probe.hpp"
#include "proto/text.hpp"
#include "tests/fetcher/hub.hpp"

namespace lyk::fetcher {
namespace {

using test::context_for;
using test::FakeHub;
using test::make_repo;
using test::open_store;
using test::pin_of;
using test::snapshot;

const char* const repo_name = "kernels-community/deformable-detr";
const char* const library = "build/torch212-cxx11-cu130-x86_64-linux/x.so";

class Fetch : public testing::Test {
protected:
  void SetUp() override {
    commit = make_repo(folder / "hub",
                       {"--random", "images/a.cubin=70000", "--random", str(library, "=300000")});
  }
  void start(const std::vector<std::string>& arguments = {}) {
    hub = std::make_unique<FakeHub>(folder / "hub", arguments);
  }
  Result<FetchReport> fetch_with(const Context& context, const Pin& pin) {
    return fetch(*store, pin, FetchOptions{context, {}});
  }

  test::TempDir folder;
  GitId commit;
  std::unique_ptr<FakeHub> hub;
  std::optional<cache::Store> store = open_store(folder / "store");
};

std::string error_of(const Result<FetchReport>& report) {
  return report ? "no error" : report.error().message;
}

TEST_F(Fetch, ProvesByGitAndDownloadsEveryWantedFile) {
  start();
  const auto report = fetch_with(context_for(hub->ready("url")), pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->origin.type, RepoType::kernel);
  EXPECT_EQ(report->proof, cache::ProofKind::git);
  EXPECT_EQ(report->visibility, cache::Visibility::open);
  EXPECT_EQ(report->files.size(), 2U);
  EXPECT_EQ(report->downloaded_bytes, 370000U);
  EXPECT_TRUE(report->warnings.empty());
}

TEST_F(Fetch, AsksNothingTheSecondTime) {
  start();
  const Pin pin = pin_of(repo_name, commit);
  ASSERT_TRUE(fetch_with(context_for(hub->ready("url")), pin));
  hub.reset();
  const auto again = fetch_with(context_for("http://127.0.0.1:1"), pin);
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_EQ(again->downloaded_bytes, 0U);
  EXPECT_EQ(again->files.size(), 2U);
}

}  // namespace
}  // namespace lyk::fetcher
