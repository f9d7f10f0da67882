#include "fetcher/fetch.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "proto/text.hpp"
#include "tests/fetcher/fetch_fixture.hpp"

namespace lyk::fetcher {
namespace {

namespace fs = std::filesystem;

using test::make_repo;
using test::open_store;
using test::pin_of;

TEST_F(Fetch, ProvesByGitAndDownloadsEveryWantedFile) {
  const GitId commit = make();
  start();
  std::vector<Progress> told;
  context->progress = [&](const Progress& progress) { told.push_back(progress); };
  const auto report = run(pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->origin.type, RepoType::kernel);
  EXPECT_EQ(report->proof, cache::ProofKind::git);
  EXPECT_EQ(report->visibility, cache::Visibility::open);
  EXPECT_EQ(report->downloaded_bytes, 370000U);
  EXPECT_TRUE(report->warnings.empty());
  ASSERT_EQ(report->files.size(), 2U);
  EXPECT_EQ(report->files[0].path.text(), library);
  EXPECT_EQ(report->files[1].path.text(), cubin);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().step, Step::proving);
  EXPECT_EQ(told.back().files_done, 2U);
  EXPECT_EQ(told.back().bytes_done, 370000U);
  EXPECT_EQ(told.back().bytes_total, 370000U);
}

TEST_F(Fetch, AsksNothingTheSecondTime) {
  const Pin pin = pin_of(repo_name, make());
  start();
  ASSERT_TRUE(run(pin));
  (void)hub->control("POST", "/reset");
  const auto again = run(pin);
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_EQ(again->downloaded_bytes, 0U);
  EXPECT_EQ(again->files.size(), 2U);
  EXPECT_TRUE(hub_saw("\"connections_total\": 0"));
}

TEST_F(Fetch, OfflineUsesWhatIsThereAndAsksNothing) {
  const Pin pin = pin_of(repo_name, make());
  start();
  context->settings.offline = "HF_HUB_OFFLINE=1";
  const Error error = refused(pin);
  EXPECT_EQ(error.code, Code::offline);
  EXPECT_TRUE(says(error, "HF_HUB_OFFLINE=1 forbids to ask")) << error.message;
  EXPECT_TRUE(hub_saw("\"connections_total\": 0"));
  context->settings.offline.reset();
  ASSERT_TRUE(run(pin));
  context->settings.offline = "HF_HUB_OFFLINE=1";
  EXPECT_TRUE(run(pin));
}

TEST_F(Fetch, ADownloadThatBreaksOffGoesOnWhereItStopped) {
  const Pin pin = pin_of(repo_name, make());
  start();
  hub->misbehave(R"({"name": "truncate", "hits": 1})");
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_TRUE(hub_saw("\"range\": \"bytes=150000-\""));
}

TEST_F(Fetch, AnAnswerToAnotherRangeIsNotAppended) {
  const GitId commit = make();
  start();
  for (const char* name :
       {"range-ignored", "range-earlier", "range-later", "range-mislabelled", "range-wrong-total",
        "range-unnamed", "range-multipart", "range-refused", "range-refused-resized"}) {
    store = open_store(folder / name);
    hub->behave();
    hub->misbehave(name);
    hub->misbehave(R"({"name": "truncate", "hits": 1})");
    const auto report = run(pin_of(repo_name, commit));
    EXPECT_TRUE(report) << name << ": " << error_of(report);
  }
}

TEST_F(Fetch, TheTokenReachesOnlyTheEndpoint) {
  const Pin pin = pin_of(repo_name, make());
  configure(R"({"tokens": {"hf_good": {"user": "ada"}}})");
  start();
  context->settings.token = {"hf_good", "HF_TOKEN"};
  for (const char* name : {"warning", "redirect-other-host", "redirect-other-port", "git-redirect",
                           "git-pack-redirect"}) {
    store = open_store(folder / name);
    hub->behave();
    hub->misbehave(name);
    const auto report = run(pin);
    EXPECT_TRUE(report) << name << ": " << error_of(report);
  }
  EXPECT_TRUE(hub_saw("\"token_leaks\": []")) << hub->counters();
  EXPECT_TRUE(hub_saw("\"authorization\": true"));
}

TEST_F(Fetch, ABadTokenIsNamedAndTheFetchGoesOnWithoutIt) {
  const Pin pin = pin_of(repo_name, make());
  start();
  context->settings.token = {"hf_bad", "/home/x/token"};
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  ASSERT_EQ(report->warnings.size(), 1U);
  EXPECT_EQ(report->warnings[0], str("the token from /home/x/token was rejected by ",
                                     hub->ready("url"), "; going on without a token"));
}

TEST_F(Fetch, ABadTokenForAPrivateRepoIsTheErrorsReason) {
  const Pin pin = pin_of(repo_name, make());
  configure(R"({"repos": {"kernels/kernels-community/deformable-detr": {"private": true}}})");
  start();
  context->settings.token = {"hf_bad", "HF_TOKEN"};
  const Error error = refused(pin);
  EXPECT_TRUE(says(error, "the token from HF_TOKEN was rejected")) << error.message;
  EXPECT_FALSE(says(error, "hf_bad")) << error.message;
}

TEST_F(Fetch, APrivateRepoIsServedToItsTokenAndIsGated) {
  const Pin pin = pin_of(repo_name, make());
  configure(R"({"tokens": {"hf_good": {"user": "ada"}},
                "repos": {"kernels/kernels-community/deformable-detr": {"private": true}}})");
  start();
  const Error error = refused(pin);
  EXPECT_TRUE(says(error, "status 401")) << error.message;
  context->settings.token = {"hf_good", "HF_TOKEN"};
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->visibility, cache::Visibility::gated);
  const auto revision = store->revision(report->origin);
  ASSERT_TRUE(revision && *revision);
  EXPECT_EQ((*revision)->visibility, cache::Visibility::gated);
}

TEST_F(Fetch, AGatedRepoProvesToAllButGivesFilesOnlyToItsToken) {
  const Pin pin = pin_of(repo_name, make());
  configure(R"({"tokens": {"hf_good": {"user": "ada"}},
                "repos": {"kernels/kernels-community/deformable-detr": {"gated": "manual"}}})");
  start();
  const Error error = refused(pin);
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_TRUE(says(error, "'GatedRepo'")) << error.message;
  context->settings.token = {"hf_good", "HF_TOKEN"};
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->visibility, cache::Visibility::gated);
}

TEST_F(Fetch, WithATokenAnOpenRepoStaysOpen) {
  const Pin pin = pin_of(repo_name, make());
  configure(R"({"tokens": {"hf_good": {"user": "ada"}}})");
  start();
  context->settings.token = {"hf_good", "HF_TOKEN"};
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->visibility, cache::Visibility::open);
}

TEST_F(Fetch, TellsEveryFileThatItTakesAndNoneThatWasHereAlready) {
  const GitId commit = make();
  start();
  const auto steps = [&] {
    std::vector<std::string> all;
    context->progress = [&](const Progress& progress) {
      if (all.empty() || all.back() != progress.file)
        all.push_back(progress.file);
    };
    EXPECT_TRUE(run(pin_of(repo_name, commit)));
    return all;
  };
  EXPECT_EQ(steps(), (std::vector<std::string>{"", library, cubin}));
  ASSERT_TRUE(store->remove(cache::FileName{{RepoType::kernel, *RepoId::parse(repo_name), commit},
                                            *RepoPath::parse(cubin)}));
  EXPECT_EQ(steps(), (std::vector<std::string>{"", cubin}));
}

TEST_F(Fetch, ARedirectToAnythingButTheWebIsRefusedAtOnce) {
  const Pin pin = pin_of(repo_name, make());
  start();
  context->settings.attempts_max = 5;
  hub->misbehave(R"({"name": "redirect-file", "pattern": "*/resolve/*"})");
  const Error error = refused(pin);
  EXPECT_EQ(error.code, Code::refused) << error.message;
  EXPECT_TRUE(says(error, "redirect (302) to 'file' refused")) << error.message;
  EXPECT_FALSE(hub_saw("objects/batch"));
  EXPECT_FALSE(says(error, "attempts")) << error.message;
}

TEST_F(Fetch, TheLfsBatchServesWhereTheLinkDoesNot) {
  const Pin pin = pin_of(repo_name, make());
  start();
  hub->misbehave(R"({"name": "entry-not-found", "pattern": "*/resolve/*"})");
  const auto report = run(pin);
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_TRUE(hub_saw("objects/batch"));
}

TEST_F(Fetch, AHubCacheIsCopiedFromAfterProof) {
  const GitId commit = make();
  start();
  const auto first = run(pin_of(repo_name, commit));
  ASSERT_TRUE(first) << error_of(first);
  const fs::path snapshot_folder =
      fs::path{folder / "hf"} /
      str("kernels--kernels-community--deformable-detr/snapshots/", commit.hex());
  for (const FetchedFile& file : first->files) {
    const fs::path path = snapshot_folder / file.path.text();
    fs::create_directories(path.parent_path());
    fs::copy_file(fs::path{folder / "store"} / "blobs/sha256" /
                      file.blob.sha256.hex().substr(0, 2) / file.blob.sha256.hex(),
                  path);
  }
  fs::permissions(snapshot_folder / cubin, fs::perms::owner_all);
  std::fstream{snapshot_folder / cubin, std::ios::in | std::ios::out} << "damaged";
  store = open_store(folder / "other");
  context->settings.hf_caches.emplace_back(folder / "hf");
  const auto report = run(pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->adopted_bytes, 300000U);
  EXPECT_EQ(report->downloaded_bytes, 70000U) << "the damaged copy is not taken";
}

TEST_F(Fetch, TheModelTypeIsTriedWhereTheKernelTypeHasNotTheCommit) {
  const GitId commit = make({"--repo", str("models/", repo_name)});
  (void)make_repo(folder / "hub", {"--random", "images/other.cubin=10"});
  start();
  const auto report = run(pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->origin.type, RepoType::model);
}

TEST_F(Fetch, AGoneModelTypeIsNamedWithTheCommandThatMendsThePin) {
  const GitId commit = make({"--repo", str("models/", repo_name)});
  (void)make_repo(folder / "hub", {"--random", "images/other.cubin=10"});
  start({"--misbehave", "model-gone"});
  const Error error = refused(pin_of(repo_name, commit));
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_TRUE(says(error, "kernel repo: commit ")) << error.message;
  EXPECT_TRUE(says(error, "model repo: ")) << error.message;
  EXPECT_TRUE(says(error,
                   "libreyolo-kernels pin ms_deform_attn --repo kernels-community/"
                   "deformable-detr --revision v1 --abi ms_deform_im2col"))
      << error.message;
}

TEST_F(Fetch, AnOlderCommitIsFoundWhetherOrNotTheServerTakesIds) {
  const GitId old = make();
  (void)make_repo(folder / "hub", {"--random", "images/new.cubin=10"});
  for (const char* wants : {"reachable", "refs"}) {
    start({"--wants", wants});
    store = open_store(folder / wants);
    const auto report = run(pin_of(repo_name, old));
    EXPECT_TRUE(report) << wants << ": " << error_of(report);
  }
}

TEST_F(Fetch, ACommitThatNoRefReachesIsSaidToBeThat) {
  const GitId commit = make();
  start({"--misbehave", "branch-moved-lost"});
  Pin pin = pin_of(repo_name, commit);
  pin.repo_types = {RepoType::kernel};
  const Error error = refused(pin);
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_TRUE(says(error, "is not reachable from any branch, tag or pull request"))
      << error.message;
}

TEST_F(Fetch, ASecondCommitAddsToTheObjectsOfTheFirst) {
  const GitId first = make();
  start();
  ASSERT_TRUE(run(pin_of(repo_name, first)));
  const GitId second = make_repo(folder / "hub", {"--random", "images/new.cubin=10"});
  const auto report = run(pin_of(repo_name, second));
  ASSERT_TRUE(report) << error_of(report);
  context->settings.offline = "test";
  EXPECT_TRUE(run(pin_of(repo_name, first)));
  EXPECT_TRUE(run(pin_of(repo_name, second)));
}

TEST_F(Fetch, DamagedGitObjectsAreFetchedAnew) {
  const GitId commit = make();
  start();
  ASSERT_TRUE(run(pin_of(repo_name, commit)));
  for (const auto& entry : fs::recursive_directory_iterator{folder / "store/git"}) {
    if (entry.path().extension() != ".pack")
      continue;
    fs::permissions(entry.path(), fs::perms::owner_all);
    std::fstream file{entry.path(), std::ios::in | std::ios::out};
    file.seekp(20);
    file << "damage all over the first object of the pack";
  }
  const auto report = run(pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  context->settings.offline = "test";
  EXPECT_TRUE(run(pin_of(repo_name, commit)));
}

TEST_F(Fetch, AGitStoreThatIsNoneIsReplaced) {
  const GitId commit = make();
  start();
  ASSERT_TRUE(run(pin_of(repo_name, commit)));
  const fs::path path = store->git_path(RepoType::kernel, *RepoId::parse(repo_name));
  fs::remove(path / "HEAD");
  const auto report = run(pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_TRUE(fs::exists(path / "HEAD"));
}

TEST_F(Fetch, StopsWhileNothingComes) {
  const GitId commit = make();
  start({"--misbehave", "stall"});
  std::stop_source source;
  context->cancel = source.get_token();
  context->settings.stall_timeout = std::chrono::seconds{60};
  const std::jthread stopper{[&](const std::stop_token& ended) {
    while (!ended.stop_requested() && !hub_saw("\"stall\": 1"))
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    source.request_stop();
  }};
  const Error error = refused(pin_of(repo_name, commit));
  EXPECT_EQ(error.code, Code::cancelled);
  EXPECT_FALSE(says(error, "another attempt")) << error.message;
}

TEST_F(Fetch, StopsBetweenTwoAttempts) {
  const GitId commit = make();
  start({"--misbehave", "unavailable"});
  std::stop_source source;
  context->cancel = source.get_token();
  context->pause = [&](std::chrono::milliseconds) { source.request_stop(); };
  EXPECT_EQ(refused(pin_of(repo_name, commit)).code, Code::cancelled);
}

TEST_F(Fetch, PausesAsLongAsTheServerAsks) {
  const GitId commit = make();
  start();
  hub->misbehave(R"({"name": "rate-limited", "value": "7", "hits": 1})");
  std::vector<std::chrono::milliseconds> pauses;
  context->pause = [&](std::chrono::milliseconds delay) { pauses.push_back(delay); };
  const auto report = run(pin_of(repo_name, commit));
  ASSERT_TRUE(report) << error_of(report);
  ASSERT_EQ(pauses.size(), 1U);
  EXPECT_GE(pauses[0], std::chrono::seconds{7});
  EXPECT_LE(pauses[0], std::chrono::seconds{8});
}

TEST_F(Fetch, AReadOnlyStoreSaysWhy) {
  const GitId commit = make();
  start();
  store.reset();
  cache::Options options;
  options.root = folder / "store";
  options.access = cache::Options::Access::read_only;
  auto opened = cache::Store::open(options);
  ASSERT_TRUE(opened) << opened.error().message;
  store = std::move(*opened);
  const Error error = refused(pin_of(repo_name, commit));
  EXPECT_EQ(error.code, Code::io);
  EXPECT_TRUE(says(error, store->read_only_reason())) << error.message;
}

}  // namespace
}  // namespace lyk::fetcher
