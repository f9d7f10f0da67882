#include "fetcher/probe.hpp"

#include <gtest/gtest.h>

#include "fetcher/prove.hpp"
#include "tests/fetcher/hub.hpp"

namespace lyk::fetcher {
namespace {

using namespace lyk::test;

GitId commit_of(unsigned char byte) {
  GitId id;
  id.bytes.fill(byte);
  return id;
}

std::string chosen(std::span<const RemoteRef> refs, std::string_view revision) {
  const auto ref = choose_ref(refs, revision);
  return ref ? ref->name : ref.error().message;
}

TEST(Probe, ChoosesTheRefThatARevisionMeans) {
  const std::vector<RemoteRef> refs{{"HEAD", commit_of(1), commit_of(1)},
                                    {"refs/heads/main", commit_of(1), commit_of(1)},
                                    {"refs/heads/v1", commit_of(2), commit_of(2)},
                                    {"refs/heads/both", commit_of(2), commit_of(2)},
                                    {"refs/heads/same", commit_of(2), commit_of(2)},
                                    {"refs/pr/3", commit_of(5), commit_of(5)},
                                    {"refs/tags/both", commit_of(3), commit_of(3)},
                                    {"refs/tags/release", commit_of(3), commit_of(4)},
                                    {"refs/tags/same", commit_of(7), commit_of(2)}};
  EXPECT_EQ(chosen(refs, "1"), "refs/heads/v1");
  EXPECT_EQ(chosen(refs, "v1"), "refs/heads/v1");
  EXPECT_EQ(chosen(refs, "main"), "refs/heads/main");
  EXPECT_EQ(chosen(refs, "release"), "refs/tags/release");
  EXPECT_EQ(chosen(refs, "same"), "refs/heads/same");
  EXPECT_EQ(chosen(refs, "refs/pr/3"), "refs/pr/3");
  EXPECT_EQ(chosen(refs, "refs/tags/both"), "refs/tags/both");
  EXPECT_NE(chosen(refs, "both").find("a branch and another commit's tag"), std::string::npos);
  EXPECT_EQ(chosen(refs, "mein"), "no branch, tag or version 'mein'; did you mean 'main'");
  EXPECT_NE(chosen(refs, "4d2393e").find("all its 40"), std::string::npos);
  EXPECT_EQ(chosen({}, "v1"), "no branch, tag or version 'v1'; the repo is empty");
}

class ProbeTest : public testing::Test {
protected:
  TempDir folder;
  GitId commit = make_repo(folder / "hub", {"--random", "images/a.cubin=700"});
  FakeHub hub{folder / "hub", {}};
  cache::Store store = open_store(folder / "store");
  Context context = context_for(hub.ready("url"));

  Result<fetcher::Probe> probe_for(const std::string& revision) {
    return probe(store,
                 {*RepoId::parse("kernels-community/deformable-detr"),
                  revision,
                  {RepoType::kernel, RepoType::model}},
                 context);
  }
};

TEST_F(ProbeTest, AVersionBecomesTheProvenCommitOfItsBranch) {
  const auto found = probe_for("1");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->commit, commit);
  EXPECT_EQ(found->reference, "refs/heads/v1");
  EXPECT_EQ(found->type, RepoType::kernel);
  EXPECT_FALSE(found->license.empty());
  EXPECT_TRUE(prove_offline(store, pin_of("kernels-community/deformable-detr", commit)));
}

TEST_F(ProbeTest, ACommitIsTakenAsItIs) {
  const auto found = probe_for(commit.hex());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->commit, commit);
  EXPECT_EQ(found->reference, "");
}

TEST_F(ProbeTest, WhatIsNotThereSaysWhatEachTypeLacks) {
  const auto found = probe_for("v9");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_NE(found.error().message.find(
                "kernel repo: no branch, tag or version 'v9'; there is 'main', 'v1'"),
            std::string::npos)
      << found.error().message;
  EXPECT_NE(found.error().message.find("model repo: "), std::string::npos);
}

TEST_F(ProbeTest, OfflineAsksNothing) {
  context.settings.offline = "HF_HUB_OFFLINE=1";
  const auto found = probe_for("v1");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::offline);
  EXPECT_NE(hub.counters().find("\"connections\": {}"), std::string::npos) << hub.counters();
}

}  // namespace
}  // namespace lyk::fetcher
