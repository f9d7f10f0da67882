#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "proto/text.hpp"
#include "tests/fetcher/fetch_fixture.hpp"

namespace lyk::fetcher {
namespace {

using test::make_repo;
using test::open_store;
using test::pin_of;

using FetchByDigests = Fetch;

TEST_F(FetchByDigests, ProvesWithoutGit) {
  const GitId commit = make();
  start();
  const auto by_git = run(pin_of(repo_name, commit));
  ASSERT_TRUE(by_git) << error_of(by_git);
  const Pin pin = with_digests(pin_of(repo_name, commit), by_git->files);
  (void)hub->control("POST", "/reset");
  store = open_store(folder / "other");
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->proof, cache::ProofKind::digests);
  EXPECT_EQ(report->downloaded_bytes, 370000U);
  EXPECT_FALSE(hub_saw("info/refs"));
}

// The fake Hub announces lengths, as the Hub does.
TEST_F(FetchByDigests, AProofWithoutSizesStillHasATotalToMeasureProgressBy) {
  const GitId commit = make();
  start();
  const auto by_git = run(pin_of(repo_name, commit));
  ASSERT_TRUE(by_git) << error_of(by_git);
  store = open_store(folder / "other");
  std::vector<Progress> told;
  context->progress = [&](const Progress& progress) { told.push_back(progress); };
  ASSERT_TRUE(run(with_digests(pin_of(repo_name, commit), by_git->files)));
  ASSERT_FALSE(told.empty());
  for (const Progress& progress : told)
    EXPECT_LE(progress.bytes_done, progress.bytes_total);
  const auto first = std::find_if(told.begin(), told.end(),
                                  [](const Progress& each) { return each.files_done == 1; });
  ASSERT_NE(first, told.end());
  EXPECT_EQ(first->bytes_total, 300000U);
  EXPECT_EQ(told.back().bytes_done, 370000U);
  EXPECT_EQ(told.back().bytes_total, 370000U);
}

TEST_F(FetchByDigests, IsNarrowedToArchitecturesAsByGit) {
  std::ofstream{folder / "old"} << "a library";
  std::ofstream{folder / "new"} << "another library";
  const std::string newer = "torch212-cxx11-cu130-x86_64-linux";
  const GitId commit =
      make_repo(folder / "hub",
                {"--library", str("torch212-cxx11-cu126-x86_64-linux=", folder / "old", "=7.5,8.0"),
                 "--library", str(newer, "=", folder / "new", "=10.0,12.0")});
  start();
  const Pin by_git = pin_of(repo_name, commit);
  const auto all = run(by_git);
  ASSERT_TRUE(all) << error_of(all);
  ASSERT_EQ(all->files.size(), 2U);
  EXPECT_EQ(all->archs.size(), 2U);
  Pin by_digests = with_digests(by_git, all->files);
  by_digests.archs = all->archs;
  for (const Pin& pin : {by_git, by_digests}) {
    const auto report =
        fetch(*store, pin, FetchOptions{*context, {Device{*Arch::parse("12.0"), false, {}}}});
    ASSERT_TRUE(report) << error_of(report);
    ASSERT_EQ(report->files.size(), 1U);
    EXPECT_EQ(variant_of(report->files[0].path), newer);
  }
}

TEST_F(FetchByDigests, FindsTheTypeOfTheRepo) {
  const GitId commit = make({"--repo", str("models/", repo_name)});
  start();
  const auto by_git = run(pin_of(repo_name, commit));
  ASSERT_TRUE(by_git) << error_of(by_git);
  EXPECT_EQ(by_git->origin.type, RepoType::model);
  const Pin pin = with_digests(pin_of(repo_name, commit), by_git->files);
  store = open_store(folder / "other");
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->origin.type, RepoType::model);
}

TEST_F(FetchByDigests, NeedsNoEndpointAtAll) {
  const GitId commit = make();
  start();
  const auto by_git = run(pin_of(repo_name, commit));
  ASSERT_TRUE(by_git) << error_of(by_git);
  const Pin pin = with_digests(pin_of(repo_name, commit), by_git->files);
  store = open_store(folder / "other");
  const Url good = context->settings.endpoint;
  const Url dead = *Url::parse("http://127.0.0.1:1");
  context->settings.endpoint = dead;
  context->settings.mirrors = {dead};
  const Error error = refused(pin);
  EXPECT_TRUE(says(error, "; then from the mirror: the same")) << error.message;
  EXPECT_FALSE(says(error, " ms: ")) << error.message;  // or it would not be the same every time
  context->settings.mirrors = {dead, good};
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
}

TEST_F(FetchByDigests, AFileOfUnknownSizeIsBoundedByTheStoresOwnLimit) {
  const GitId commit = make();
  start();
  const auto by_git = run(pin_of(repo_name, commit));
  ASSERT_TRUE(by_git) << error_of(by_git);
  const Pin pin = with_digests(pin_of(repo_name, commit), by_git->files);
  store = open_store(folder / "other");
  store->set_bytes_max(100'000);
  hub->misbehave("endless");
  const Error error = refused(pin);
  EXPECT_EQ(error.code, Code::no_space) << error.message;
  EXPECT_TRUE(says(error, "cache_max_bytes is 100000")) << error.message;
}

}  // namespace
}  // namespace lyk::fetcher
