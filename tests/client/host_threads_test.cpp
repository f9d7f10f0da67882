#include "client/host_threads.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "client/registry.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/quantization_call.hpp"
#include "tests/support/threads.hpp"

namespace lyk::client {
namespace {

TEST(HostThreads, AFirstCallOfAPinnedThreadDoesNotDecideForTheProcess) {
  if (cpu::granted_threads({}) == 1)
    GTEST_SKIP() << "this process is granted one thread";
  HostThreads threads;
  std::size_t of_pinned = 0;
  std::thread{[&] {
    test::pin_to_one_processor();
    of_pinned = threads.get().threads();
  }}.join();
  EXPECT_EQ(of_pinned, cpu::granted_threads({}));
  EXPECT_EQ(threads.get().threads(), of_pinned);
}

TEST(HostThreads, AreAsManyAsTheLastWishAllows) {
  if (cpu::granted_threads({}) == 1)
    GTEST_SKIP() << "this process is granted one thread";
  HostThreads threads;
  threads.set_wish(1);
  EXPECT_EQ(threads.get().threads(), 1U);
  threads.set_wish({});
  EXPECT_EQ(threads.get().threads(), cpu::granted_threads({}));
}

TEST(HostThreads, AChildIsGrantedWhatItsOwnProcessorsAre) {
  if (cpu::granted_threads({}) == 1)
    GTEST_SKIP() << "this process is granted one thread";
  HostThreads threads;
  const std::size_t before = threads.get().threads();
  EXPECT_EQ(test::in_child({},
                           [&] {
                             test::pin_to_one_processor();
                             return std::to_string(threads.get().threads());
                           }),
            "1");
  EXPECT_EQ(threads.get().threads(), before);
}

// A call of `cpu` that is worth dividing.
void call(Registry& registry) {
  test::QuantizationCall call{"fake_quant_fp8"};
  call.add({256, 512}, test::Floats(256 * 512, 1));
  call.add({1}, {1});
  call.add_output({256, 512});
  ASSERT_TRUE(registry.call(call.slot, call.arguments()));
}

// What OMP_NUM_THREADS of this process is while a test lasts.
class OmpNumThreads {
public:
  explicit OmpNumThreads(const char* value) {
    if (const char* before = std::getenv("OMP_NUM_THREADS"))
      before_ = before;
    (void)::setenv("OMP_NUM_THREADS", value, 1);  // fails for a name with "=" only, or no memory
  }
  ~OmpNumThreads() {
    if (before_)
      (void)::setenv("OMP_NUM_THREADS", before_->c_str(), 1);  // as above
    else
      (void)::unsetenv("OMP_NUM_THREADS");  // as above
  }
  OmpNumThreads(const OmpNumThreads&) = delete;
  OmpNumThreads& operator=(const OmpNumThreads&) = delete;
  OmpNumThreads(OmpNumThreads&&) = delete;
  OmpNumThreads& operator=(OmpNumThreads&&) = delete;

private:
  std::optional<std::string> before_;
};

TEST(HostThreads, FollowTheEnvironmentThatTheRegistryHasReadAndNoOther) {
  if (cpu::granted_threads({}) == 1)
    GTEST_SKIP() << "this process is granted one thread";
  const test::StartedThreads started;
  Registry registry{{.environment = {{"OMP_NUM_THREADS=1"}}, .built_in = {.names = {"cpu"}}}};
  {
    const OmpNumThreads two{"2"};
    call(registry);
  }
  EXPECT_EQ(started.count(), 0U);
  ASSERT_TRUE(registry.reload({{"OMP_NUM_THREADS=2"}}));
  const OmpNumThreads one{"1"};
  call(registry);
  EXPECT_EQ(started.count(), 1U);
}

}  // namespace
}  // namespace lyk::client
