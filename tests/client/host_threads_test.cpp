#include "client/host_threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>

#include "client/registry.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/quantization_call.hpp"
#include "tests/support/threads.hpp"

namespace lyk::client {
namespace {

void pin_to_one_processor() {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t processor = 0; CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &all))
      CPU_SET(processor, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
}

TEST(HostThreads, AFirstCallOfAPinnedThreadDoesNotDecideForTheProcess) {
  if (cpu::granted_threads({}) == 1)
    GTEST_SKIP() << "this process is granted one thread";
  HostThreads threads;
  std::size_t of_pinned = 0;
  std::thread{[&] {
    pin_to_one_processor();
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
                             pin_to_one_processor();
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

TEST(HostThreads, FollowTheEnvironmentThatTheRegistryHasReadAndNoOther) {
  if (cpu::granted_threads({}) == 1)
    GTEST_SKIP() << "this process is granted one thread";
  const test::StartedThreads started;
  Registry registry{{.environment = {{"OMP_NUM_THREADS=1"}}, .built_in = {.names = {"cpu"}}}};
  ASSERT_EQ(::setenv("OMP_NUM_THREADS", "2", 1), 0);
  call(registry);
  EXPECT_EQ(started.count(), 0U);
  ASSERT_TRUE(registry.reload({{"OMP_NUM_THREADS=2"}}));
  ASSERT_EQ(::unsetenv("OMP_NUM_THREADS"), 0);
  call(registry);
  EXPECT_EQ(started.count(), 1U);
}

}  // namespace
}  // namespace lyk::client
