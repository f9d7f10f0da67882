// What the tests of fetching share: a repository, a fake Hub that serves it, a store to fetch into.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetcher/fetch.hpp"
#include "proto/text.hpp"
#include "tests/fetcher/hub.hpp"

namespace lyk::fetcher {

inline const char* const repo_name = "kernels-community/deformable-detr";
inline const char* const library = "build/torch212-cxx11-cu130-x86_64-linux/x.so";
inline const char* const cubin = "images/a.cubin";

class Fetch : public testing::Test {
protected:
  GitId make(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--random", str(cubin, "=70000"), "--random",
                                       str(library, "=300000")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::make_repo(folder / "hub", arguments);
  }
  void start(const std::vector<std::string>& arguments = {}) {
    hub = std::make_unique<test::FakeHub>(folder / "hub", arguments);
    context = test::context_for(hub->ready("url"));
  }
  void configure(const std::string& hub_json) {
    std::ofstream{folder / "hub/hub.json"} << hub_json;
  }

  Result<FetchReport> run(const Pin& pin) { return fetch(*store, pin, FetchOptions{*context, {}}); }

  // The pin that proves by itself what has been fetched by git.
  static Pin with_digests(Pin pin, const std::vector<FetchedFile>& files) {
    for (const FetchedFile& file : files)
      pin.digests.emplace(file.path, file.blob.sha256);
    return pin;
  }
  // A fetch that must fail, and leave the store as it was.
  Error refused(const Pin& pin) {
    const auto before = snapshot_of_content();
    auto report = run(pin);
    EXPECT_FALSE(report);
    EXPECT_EQ(snapshot_of_content(), before);
    return report ? Error{Code::internal, "no error"} : report.error();
  }

  // Everything but the lock files, which are made by asking.
  std::map<std::string, std::string> snapshot_of_content() {
    auto files = test::snapshot(folder / "store");
    std::erase_if(files, [](const auto& file) { return file.first.starts_with("locks/"); });
    return files;
  }

  bool hub_saw(const std::string& text) {
    return hub->counters().find(text) != std::string::npos ||
           hub->control("GET", "/requests").find(text) != std::string::npos;
  }

  test::TempDir folder;
  std::unique_ptr<test::FakeHub> hub;
  std::optional<Context> context;
  std::optional<cache::Store> store = test::open_store(folder / "store");
};

inline std::string error_of(const Result<FetchReport>& report) {
  return report ? "no error" : report.error().message;
}

inline bool says(const Error& error, std::string_view text) {
  return error.message.find(text) != std::string::npos;
}

}  // namespace lyk::fetcher
