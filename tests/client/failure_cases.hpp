// The matrix of failures: every function of the driver that a scenario calls, at each of its calls,
// with each kind of error, found out by running it once without any and looking at its trace.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cuda_abi.h"
#include "client/driver.hpp"
#include "proto/text.hpp"
#include "tests/client/in_child.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {

// Which calls of each function the scenario makes: first and last, counted from 1.
using Calls = std::map<std::string, std::pair<int, int>>;

inline std::string base_name(const std::string& exported) {
  const auto version = exported.find("_v");
  return version == std::string::npos ? exported : exported.substr(0, version);
}

inline std::map<std::string, int> count_lines(const std::string& path) {
  std::map<std::string, int> out;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string thread;
    std::string function;
    if (words >> thread >> function)
      ++out[base_name(function)];
  }
  return out;
}

// The functions that belong to the library's table; the test's own are not failed.
inline std::set<std::string> functions_of_the_library() {
  std::set<std::string> out;
#define LYK_TEST_NAME(member, name, parameters) out.insert(base_name(name));
  LYK_CU_REQUIRED(LYK_TEST_NAME)
  LYK_CU_OPTIONAL(LYK_TEST_NAME)
#undef LYK_TEST_NAME
  return out;
}

// "cuMemAlloc 2 5": each function that was called since then, and its calls.
inline std::string calls_since(const std::map<std::string, int>& before, const std::string& trace) {
  std::string out;
  for (const auto& [function, count] : count_lines(trace)) {
    const auto found = before.find(function);
    const int first = found == before.end() ? 0 : found->second;
    if (count > first)
      out += str(function, " ", first + 1, " ", count, "\n");
  }
  return out;
}

inline Calls calls_of(const std::string& text) {
  Calls out;
  std::istringstream lines{text};
  const auto ours = functions_of_the_library();
  std::string function;
  int first = 0;
  int last = 0;
  while (lines >> function >> first >> last)
    if (ours.contains(function))
      out[function] = {first, last};
  return out;
}

// All calls where they are few; else the first ones, where things are found and loaded, and the
// last, where all has been working.
inline std::vector<int> chosen_calls(std::pair<int, int> range, const std::string& function) {
  const int count = range.second - range.first + 1;
  if (count <= 6)
    return [&] {
      std::vector<int> all;
      for (int n = range.first; n <= range.second; ++n)
        all.push_back(n);
      return all;
    }();
  // One for each kernel: they are alike.
  if (function == "cuModuleGetFunction" || function == "cuFuncLoad")
    return {range.first, range.first + count / 2, range.second};
  return {range.first, range.first + 1, range.first + 2, range.first + count / 2, range.second};
}

struct FailureCase {
  std::string injection;  // "cuLaunchKernel:2:719"
  lyk_cu_result result;
};

inline std::vector<FailureCase> failure_cases(const Calls& calls) {
  constexpr std::array results{1, 2, 3, 4, 201, 209, 700, 719, 801, 906, 999};
  EXPECT_GE(calls.size(), 18U);
  std::vector<FailureCase> cases;
  for (const auto& [function, range] : calls)
    for (const int call : chosen_calls(range, function))
      for (const int result : results) {
        // The stream's own context is asked for to tell a foreign one: that is the caller's error.
        if (function == "cuStreamGetCtx" && result == LYK_CU_INVALID_CONTEXT)
          continue;
        // As a pointer that the driver does not take is.
        if ((function.starts_with("cuMemset") || function.starts_with("cuMemcpy")) &&
            result == LYK_CU_INVALID_VALUE)
          continue;
        cases.push_back({str(function, ":", call, ":", result), result});
      }
  return cases;
}

// What a scenario calls when nothing fails. A Scenario is made in a child that has these variables;
// run(injected) says what is wrong, is_current_untouched() whether its context is what it was.
template <typename Scenario>
Calls calls_without_failures(Variables variables) {
  const TempDir folder;
  const std::string trace = folder / "trace";
  variables.emplace_back("SOFTCUDA_TRACE", trace);
  const std::string said = in_child(variables, [&]() -> std::string {
    Scenario scenario;
    const auto before = count_lines(trace);
    if (std::string wrong = scenario.run(0); !wrong.empty())
      return "? " + wrong;
    return calls_since(before, trace);
  });
  EXPECT_FALSE(said.empty() || said.front() == '?') << said;
  return calls_of(said);
}

// What is wrong if that is injected; empty: nothing.
template <typename Scenario>
std::string run_case(Variables variables, const std::string& injection, lyk_cu_result result) {
  variables.emplace_back("SOFTCUDA_FAIL", injection);
  return in_child(variables, [&]() -> std::string {
    Scenario scenario;
    if (std::string wrong = scenario.run(result); !wrong.empty())
      return wrong;
    // A pop that was made to fail leaves its context, and only that.
    if (!client::is_sticky(result) && !injection.starts_with("cuCtxPop") &&
        !scenario.is_current_untouched())
      return "another context is current afterwards";
    return {};
  });
}

// Every case is a process of its own; in shares, several run at once.
struct Share {
  std::size_t number = 0;
  std::size_t of = 1;
};
template <typename Scenario>
void expect_share(const Share& share, const Variables& variables) {
  const std::vector<FailureCase> cases = failure_cases(calls_without_failures<Scenario>(variables));
  EXPECT_GE(cases.size(), 400U);
  for (std::size_t i = share.number; i < cases.size(); i += share.of)
    EXPECT_EQ(run_case<Scenario>(variables, cases[i].injection, cases[i].result), "")
        << cases[i].injection;
}

}  // namespace lyk::test
