// What is done to a store while it is killed: how the store is before, and the one thing that
// changes it. Shared by the process that dies and the test that looks at what is left.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "proto/result.hpp"

namespace lyk::cache::test {

struct Scenario {
  void (*prepare)(const std::filesystem::path& root);      // without faults
  Result<void> (*act)(const std::filesystem::path& root);  // what is killed; may be repeated
};

const std::map<std::string, Scenario>& scenarios();

}  // namespace lyk::cache::test
