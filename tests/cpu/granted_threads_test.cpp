#include "kernels/cpu/granted_threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace lyk::cpu::test {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

std::optional<std::size_t> processors_of(const Files& files) {
  const lyk::test::TempDir root;
  for (const auto& [name, text] : files) {
    fs::create_directories((root.path() / name).parent_path());
    std::ofstream{root.path() / name} << text;
  }
  return cgroup_processors(root.path());
}

TEST(GrantedThreads, OmpNumThreadsIsTheFirstOfAList) {
  EXPECT_EQ(parse_omp_num_threads("4"), 4U);
  EXPECT_EQ(parse_omp_num_threads(" 3 "), 3U);
  EXPECT_EQ(parse_omp_num_threads("8,2"), 8U);
  for (const char* ignored : {"", "0", "-1", "many", "4x", ",2", "99999999999999999999"})
    EXPECT_FALSE(parse_omp_num_threads(ignored)) << ignored;
}

TEST(GrantedThreads, QuotasOfCgroups2AreRoundedUp) {
  EXPECT_EQ(
      processors_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}}),
      2U);
  EXPECT_EQ(
      processors_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "400000 100000\n"}}),
      4U);
  EXPECT_EQ(
      processors_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "1000 100000\n"}}),
      1U);
}

TEST(GrantedThreads, TheLeastLimitOnTheWayUpCounts) {
  const Files files{{"proc/self/cgroup", "0::/user/pod/app\n"},
                    {"sys/fs/cgroup/user/cpu.max", "200000 100000\n"},
                    {"sys/fs/cgroup/user/pod/cpu.max", "800000 100000\n"},
                    {"sys/fs/cgroup/user/pod/app/cpu.max", "max 100000\n"}};
  EXPECT_EQ(processors_of(files), 2U);
}

// In a container the path is the host's, and only the container's own group is there.
TEST(GrantedThreads, APathThatIsNotThereLeavesTheMountsOwnGroup) {
  EXPECT_EQ(processors_of({{"proc/self/cgroup", "0::/kubepods/pod1/c2\n"},
                           {"sys/fs/cgroup/cpu.max", "300000 100000\n"}}),
            3U);
}

TEST(GrantedThreads, Cgroups1HaveTheirQuotaUnderTheirController) {
  const Files files{
      {"proc/self/cgroup", "5:memory:/pod\n4:cpu,cpuacct:/pod\n1:name=systemd:/pod\n"},
      {"sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "250000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(processors_of(files), 3U);
}

TEST(GrantedThreads, WithoutAQuotaThereIsNoLimit) {
  EXPECT_FALSE(processors_of({}));
  EXPECT_FALSE(processors_of({{"proc/self/cgroup", "not a line of it\n0::/a\n"}}));
  EXPECT_FALSE(
      processors_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}}));
  EXPECT_FALSE(
      processors_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "one two\n"}}));
}

// On a thread of its own, whose processors are its own too.
TEST(GrantedThreads, OneProcessorIsOneThread) {
  std::size_t granted = 0;
  std::thread{[&granted] {
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t processor = 0; CPU_COUNT(&one) == 0; ++processor)
      if (CPU_ISSET(processor, &all))
        CPU_SET(processor, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    granted = granted_threads();
  }}.join();
  EXPECT_EQ(granted, 1U);
}

TEST(GrantedThreads, TheWishOfTheEnvironmentIsAnUpperBound) {
  ASSERT_EQ(::setenv("OMP_NUM_THREADS", "1", 1), 0);
  EXPECT_EQ(granted_threads(), 1U);
  ASSERT_EQ(::setenv("OMP_NUM_THREADS", "100000", 1), 0);
  EXPECT_LE(granted_threads(), std::thread::hardware_concurrency());
  ASSERT_EQ(::unsetenv("OMP_NUM_THREADS"), 0);
  EXPECT_GE(granted_threads(), 1U);
}

}  // namespace
}  // namespace lyk::cpu::test
