// A repository and a fake Hub (tests/fakes) for one test, and a store to fetch into.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "fetcher/context.hpp"
#include "fetcher/fetch.hpp"
#include "fetcher/pin.hpp"
#include "proto/unique.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {

// Runs a program to its end; its standard output. Fails the test if it cannot or exits with an
// error.
std::string run_program(const std::vector<std::string>& arguments);

// The text of `"key": "..."` in a line of JSON without escapes.
std::string json_text(const std::string& json, const std::string& key);

// Makes or grows a repository below `root` by make_kernel_repo.py; the commit's id.
GitId make_repo(const std::filesystem::path& root, const std::vector<std::string>& arguments);

class FakeHub {
public:
  FakeHub(const std::filesystem::path& root, const std::vector<std::string>& arguments);
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  std::string ready(const std::string& key) const { return json_text(ready_, key); }
  // The body of the control endpoint's answer.
  std::string control(const std::string& method,
                      const std::string& path,
                      const std::string& body = {}) const;
  void misbehave(const std::string& name) const;
  void behave() const;
  // The number of a counter such as "connections" for the role "hub", as text of /counters.
  std::string counters() const { return control("GET", "/counters"); }

private:
  pid_t pid_ = -1;
  UniqueFd stdin_;
  std::string ready_;
};

// Every file below `folder` with its content, for "the store is byte for byte what it was".
std::map<std::string, std::string> snapshot(const std::filesystem::path& folder);

cache::Store open_store(const std::filesystem::path& root);

// A context that asks the hub, never really pauses, and counts its pauses.
fetcher::Context context_for(const std::string& endpoint);

// A pin of slot ms_deform_attn with the ABI ms_deform_im2col.
fetcher::Pin pin_of(const std::string& repo, const GitId& revision);

}  // namespace lyk::test
