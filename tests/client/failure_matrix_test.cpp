// Every function of the driver that a launch calls, at each of its calls, with each kind of error:
// a generated matrix. Whatever fails, the results are right, or the call says that it is not
// eligible, or that the context is lost; there is at most one warning, nothing exits, and the
// caller's context is current again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/driver.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_world.hpp"
#include "tests/client/trimmed_ptx.hpp"

namespace lyk::test {
namespace {

const DeformShape tiny{
    .batch = 1, .heads = 1, .channels = 4, .queries = 1, .points = 1, .levels = {2, 3}};

// With the two kernels that the scenario needs; made once, before there are children.
const std::string& small_image() {
  static const auto kernels = find_launch_abi("ms_deform_im2col")->kernels;
  static const std::string image =
      trimmed_ptx(read_file(LYK_HUB_PTX),
                  {kernels[client::deform_forward_kernel().index].symbol,
                   kernels[client::deform_backward_kernel(tiny.channels).index].symbol});
  return image;
}

// Two forwards and two backwards, so that first launches and later ones are both among the calls.
class Scenario {
public:
  Scenario()
      : image_(HubImage::of(small_image(), wire::ImageKind::ptx, "sm_75")),
        stream_(gpu_.stream()),
        call_(gpu_, tiny, 1),
        world_({.variables = {}, .serve = [this](UniqueFd connection, int) {
                  answer_resolves(std::move(connection), image_.reply, image_.fd.get());
                }}) {
    call_.description().stream = stream_;
    call_.description().has_level_starts = false;
    call_.description().workspace = pretend_address(gpu_.allocate(256));
    call_.description().workspace_bytes = 256;
    // Its own context, so that every call has to push and pop.
    SoftGpu::must(gpu_.host.ctx_set_current(nullptr), "cuCtxSetCurrent");
  }

  // What is wrong; empty: nothing. `injected` is the result that some call is given.
  std::string run(lyk_cu_result injected) {
    for (const bool is_forward : {true, true, false, false}) {
      const std::string status = world_.call(is_forward ? call_.forward() : call_.backward());
      if (status.starts_with("cuda: ") && client::is_sticky(injected))
        break;
      if (status.starts_with("not_eligible: "))
        continue;
      if (!status.empty())
        return status;
      if (std::string wrong = check(is_forward, injected); !wrong.empty())
        return wrong;
    }
    if (world_.warnings().size() > 1)
      return "more than one warning: " + world_.warnings()[1];
    return {};
  }

  bool is_current_untouched() const { return gpu_.current() == nullptr; }

private:
  std::string check(bool is_forward, lyk_cu_result injected) {
    try {  // a copy on the default stream waits for the other one
      SoftGpu::must(gpu_.host.ctx_set_current(gpu_.context), "cuCtxSetCurrent");
      std::string wrong = is_forward ? call_.check_forward() : call_.check_backward();
      call_.spoil_outputs();
      SoftGpu::must(gpu_.host.ctx_set_current(nullptr), "cuCtxSetCurrent");
      return wrong;
    } catch (const std::exception& exception) {
      // A sticky error of a call whose own result decides nothing shows here, as one of the
      // caller's own work would.
      return client::is_sticky(injected) ? "" : exception.what();
    }
  }

  HubImage image_;
  SoftGpu gpu_;
  lyk_cu_stream stream_;
  GpuCall call_;
  LaunchWorld world_;
};

// Which calls of each function the scenario makes: first and last, counted from 1.
using Calls = std::map<std::string, std::pair<int, int>>;

std::string base_name(const std::string& exported) {
  const auto version = exported.find("_v");
  return version == std::string::npos ? exported : exported.substr(0, version);
}

std::map<std::string, int> count_lines(const std::string& path) {
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
std::set<std::string> functions_of_the_library() {
  std::set<std::string> out;
#define LYK_TEST_NAME(member, name, parameters) out.insert(base_name(name));
  LYK_CU_REQUIRED(LYK_TEST_NAME)
  LYK_CU_OPTIONAL(LYK_TEST_NAME)
#undef LYK_TEST_NAME
  return out;
}

Calls calls_without_failures() {
  const TempDir folder;
  const std::string trace = folder / "trace";
  (void)small_image();
  const std::string said =
      in_child(softcuda_variables({{"SOFTCUDA_TRACE", trace}}), [&]() -> std::string {
        Scenario scenario;
        const auto before = count_lines(trace);
        if (std::string wrong = scenario.run(0); !wrong.empty())
          return "? " + wrong;
        std::string out;
        for (const auto& [function, count] : count_lines(trace)) {
          const auto found = before.find(function);
          const int first = found == before.end() ? 0 : found->second;
          if (count > first)
            out += str(function, " ", first + 1, " ", count, "\n");
        }
        return out;
      });
  Calls out;
  std::istringstream lines{said};
  const auto ours = functions_of_the_library();
  std::string function;
  int first = 0;
  int last = 0;
  while (lines >> function >> first >> last)
    if (ours.contains(function))
      out[function] = {first, last};
  EXPECT_FALSE(said.empty() || said.front() == '?') << said;
  return out;
}

// All calls where they are few; else the first ones, where things are found and loaded, and the
// last, where all has been working.
std::vector<int> chosen_calls(std::pair<int, int> range, const std::string& function) {
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

std::string run_case(const std::string& injection, lyk_cu_result result) {
  (void)small_image();
  return in_child(softcuda_variables({{"SOFTCUDA_FAIL", injection}}), [&]() -> std::string {
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

struct Case {
  std::string injection;  // "cuLaunchKernel:2:719"
  lyk_cu_result result;
};

std::vector<Case> all_cases() {
  constexpr std::array results{1, 2, 3, 4, 201, 209, 700, 719, 801, 906, 999};
  const Calls calls = calls_without_failures();
  EXPECT_GE(calls.size(), 18U);
  std::vector<Case> cases;
  for (const auto& [function, range] : calls)
    for (const int call : chosen_calls(range, function))
      for (const int result : results) {
        // The stream's own context is asked for to tell a foreign one: that is the caller's error.
        if (function == "cuStreamGetCtx" && result == LYK_CU_INVALID_CONTEXT)
          continue;
        // As a pointer that the driver does not take is.
        if (function.starts_with("cuMemset") && result == LYK_CU_INVALID_VALUE)
          continue;
        cases.push_back({str(function, ":", call, ":", result), result});
      }
  return cases;
}

// Every case is a process of its own; in shares, several run at once.
constexpr std::size_t shares = 8;

class FailureMatrixShare : public testing::TestWithParam<std::size_t> {};

TEST_P(FailureMatrixShare, LeavesRightResultsOrAnHonestAnswer) {
  // One thread makes the calls: a sample is enough for a sanitizer that looks for races.
  if (is_thread_sanitizer && GetParam() != 0)
    GTEST_SKIP() << "the thread sanitizer takes one share";
  const std::vector<Case> cases = all_cases();
  EXPECT_GE(cases.size(), 400U);
  for (std::size_t i = GetParam(); i < cases.size(); i += shares)
    EXPECT_EQ(run_case(cases[i].injection, cases[i].result), "") << cases[i].injection;
}

INSTANTIATE_TEST_SUITE_P(FailureMatrix, FailureMatrixShare, testing::Range<std::size_t>(0, shares));

TEST(FailureMatrix, HoldsWhenTheDriverCannotEvenNameItsErrors) {
  for (const char* function : {"cuLaunchKernel:1:1", "cuModuleLoadDataEx:1:209"})
    for (const char* namer : {"cuGetErrorName:1+:1", "cuGetErrorString:1+:1"})
      EXPECT_EQ(run_case(str(function, ",", namer), 1), "") << function << " " << namer;
}

TEST(FailureMatrix, HoldsWhenAFaultShowsAfterTheCallThatMadeIt) {
  for (const char* function : {"cuLaunchKernel", "cuMemsetD8Async", "cuMemsetD32Async"})
    for (const int call : {1, 2, 3})
      for (const int result : {700, 716, 719}) {
        const std::string injection = str(function, ":", call, ":", result, ":async");
        EXPECT_EQ(run_case(injection, result), "") << injection;
      }
}

}  // namespace
}  // namespace lyk::test
