// Everything that the fake Hub can do wrong, one fetch each: it ends in the proven files, or in a
// typed error of one line that says what was wrong, and then the store is as it was.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "proto/text.hpp"
#include "tests/fetcher/hub.hpp"

namespace lyk::fetcher {
namespace {

using namespace lyk::test;

const char* const repo_name = "kernels-community/deformable-detr";

struct Row {
  std::string section;
  std::string name;
  std::string outcome;  // "fetched" or the name of a code
  std::string text;     // a part of the error's message
};

std::vector<Row> read_rows() {
  std::vector<Row> rows;
  std::ifstream file{LYK_SOURCE_DIR "/tests/fetcher/misbehaviours.txt"};
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#')
      continue;
    if (line.front() == '[') {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    constexpr std::string_view bar = " | ";
    const auto first = line.find(bar);
    const auto second = std::min(line.find(bar, first + 1), line.size());
    rows.push_back({section, line.substr(0, first),
                    line.substr(first + bar.size(), second - first - bar.size()),
                    line.substr(std::min(second + bar.size(), line.size()))});
  }
  return rows;
}

class Misbehaviours : public testing::Test {
protected:
  // Fetches once under each row of a section.
  void run(const std::string& section) {
    std::size_t rows = 0;
    for (const Row& row : read_rows())
      if (row.section == section) {
        ++rows;
        run(row);
      }
    EXPECT_GT(rows, 0U);
  }

private:
  void run(const Row& row) {
    SCOPED_TRACE(row.name);
    hub_.behave();
    const Pin pin = prepare(row);
    const std::string root = folder_ / row.name.c_str();
    auto store = open_store(root);
    const auto before = content(root);
    Context context = context_for(hub_.ready("url"));
    context.settings.attempts_max = row.section == "slow" ? 1 : 3;
    const auto report = fetch(store, pin, FetchOptions{context, {}});
    if (report) {
      EXPECT_EQ(row.outcome, "fetched");
      return;
    }
    const Error& error = report.error();
    EXPECT_EQ(info(error.code).name, row.outcome) << error.message;
    EXPECT_NE(error.message.find(row.text), std::string::npos) << error.message;
    EXPECT_TRUE(std::all_of(error.message.begin(), error.message.end(), [](char c) {
      return c >= 0x20 && c < 0x7f;
    })) << error.message;
    EXPECT_EQ(content(root), before);
  }

  // Switches the misbehaviour on, and what it takes for a fetch to meet it.
  Pin prepare(const Row& row) {
    if (row.section == "commits") {
      const std::string made = hub_.control(
          "POST", "/variants",
          str(R"({"repository": "kernels/)", repo_name, R"(", "name": ")", row.name, R"("})"));
      const auto commit = GitId::parse(json_text(made, "commit"));
      EXPECT_TRUE(commit) << made;
      return pin_of(str(repo_name, ".", row.name), *commit);
    }
    hub_.misbehave(row.name);
    if (row.section == "lfs")  // the second way is taken where the first one fails
      hub_.misbehave(R"({"name": "entry-not-found", "pattern": "*/resolve/*"})");
    if (row.section == "ranges")  // the rest of a file is asked for after its beginning came
      hub_.misbehave(R"({"name": "truncate", "hits": 1})");
    Pin pin = pin_of(repo_name, commit_);
    if (row.section == "git")  // only the one repo that is there
      pin.repo_types = {RepoType::kernel};
    return pin;
  }

  // Everything but the lock files, which are made by asking.
  static std::map<std::string, std::string> content(const std::string& root) {
    auto files = snapshot(root);
    std::erase_if(files, [](const auto& file) { return file.first.starts_with("locks/"); });
    return files;
  }

  TempDir folder_;
  GitId commit_ = make_repo(folder_ / "hub",
                            {"--random", "images/a.cubin=70000", "--random",
                             "build/torch212-cxx11-cu130-x86_64-linux/x.so=300000"});
  FakeHub hub_{folder_ / "hub", {}};
};

TEST_F(Misbehaviours, OfTransfersEndInProofOrAClearError) {
  run("transfers");
}
TEST_F(Misbehaviours, OfRangesEndInProofOrAClearError) {
  run("ranges");
}
TEST_F(Misbehaviours, ThatAreSlowEndInProofOrAClearError) {
  run("slow");
}
TEST_F(Misbehaviours, OfRedirectsEndInProofOrAClearError) {
  run("redirects");
}
TEST_F(Misbehaviours, OfStatusesEndInProofOrAClearError) {
  run("statuses");
}
TEST_F(Misbehaviours, OfGitEndInProofOrAClearError) {
  run("git");
}
TEST_F(Misbehaviours, OfLfsEndInProofOrAClearError) {
  run("lfs");
}
TEST_F(Misbehaviours, OfCommitsEndInProofOrAClearError) {
  run("commits");
}
TEST_F(Misbehaviours, OfTheApiAreNeverMet) {
  run("api");
}

TEST(MisbehaviourTable, EveryOneHasARow) {
  std::set<std::string> rows;
  for (const Row& row : read_rows())
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " is there twice";
  std::istringstream listing{
      run_program({"python3", LYK_SOURCE_DIR "/tests/fakes/fake_hub.py", "--list"})};
  std::size_t listed = 0;
  for (std::string line; std::getline(listing, line);) {
    if (!line.starts_with("  "))
      continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(rows.contains(name)) << name;
    ++listed;
  }
  EXPECT_EQ(listed, rows.size());
}

}  // namespace
}  // namespace lyk::fetcher
