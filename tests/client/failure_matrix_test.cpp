// Every function of the driver that a launch calls, at each of its calls, with each kind of error:
// a generated matrix. Whatever fails, the results are right, or the call says that it is not
// eligible, or that the context is lost; there is at most one warning, nothing exits, and the
// caller's context is current again.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "client/driver.hpp"
#include "tests/client/failure_cases.hpp"
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

// The image is made before there are children of the matrix.
Variables hub_variables() {
  (void)small_image();
  return softcuda_variables();
}

constexpr std::size_t shares = 8;

class FailureMatrixShare : public testing::TestWithParam<std::size_t> {};

TEST_P(FailureMatrixShare, LeavesRightResultsOrAnHonestAnswer) {
  if (is_thread_sanitizer)
    GTEST_SKIP() << "one thread makes the calls: there is no race to look for";
  expect_share<Scenario>({.number = GetParam(), .of = shares}, hub_variables());
}

INSTANTIATE_TEST_SUITE_P(FailureMatrix, FailureMatrixShare, testing::Range<std::size_t>(0, shares));

TEST(FailureMatrix, HoldsWhenTheDriverCannotEvenNameItsErrors) {
  for (const char* function : {"cuLaunchKernel:1:1", "cuModuleLoadDataEx:1:209"})
    for (const char* namer : {"cuGetErrorName:1+:1", "cuGetErrorString:1+:1"})
      EXPECT_EQ(run_case<Scenario>(hub_variables(), str(function, ",", namer), 1), "")
          << function << " " << namer;
}

TEST(FailureMatrix, HoldsWhenAFaultShowsAfterTheCallThatMadeIt) {
  if (is_thread_sanitizer)
    GTEST_SKIP() << "one thread makes the calls: there is no race to look for";
  for (const char* function : {"cuLaunchKernel", "cuMemsetD8Async", "cuMemsetD32Async"})
    for (const int call : {1, 2, 3})
      for (const int result : {700, 716, 719}) {
        const std::string injection = str(function, ":", call, ":", result, ":async");
        EXPECT_EQ(run_case<Scenario>(hub_variables(), injection, result), "") << injection;
      }
}

}  // namespace
}  // namespace lyk::test
