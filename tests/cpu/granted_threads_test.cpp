#include "kernels/cpu/granted_threads.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.hpp"
#include "tests/support/threads.hpp"

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
  EXPECT_EQ(parse_omp_num_threads("4,2"), 4U);
  EXPECT_EQ(parse_omp_num_threads("999999999999"), 999999999999U);
  for (const char* ignored :
       {"", " ", "0", "-3", "abc", "4x", ",2", "0,4", "1e3", "99999999999999999999"})
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

TEST(GrantedThreads, AProcessOnOneProcessorHasOneThread) {
  const pid_t child = ::fork();
  if (child == 0) {
    lyk::test::pin_to_one_processor();
    ::_exit(granted_threads({}) == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(GrantedThreads, AThreadOnOneProcessorDoesNotSpeakForTheProcess) {
  const std::size_t of_process = granted_threads({});
  if (of_process == 1)
    GTEST_SKIP() << "this process is granted one thread";
  std::size_t of_pinned = 0;
  std::thread{[&of_pinned] {
    lyk::test::pin_to_one_processor();
    of_pinned = granted_threads({});
  }}.join();
  EXPECT_EQ(of_pinned, of_process);
}

TEST(GrantedThreads, AWishIsAnUpperBound) {
  EXPECT_EQ(granted_threads(1), 1U);
  EXPECT_EQ(granted_threads(999999999999), granted_threads({}));
  EXPECT_LE(granted_threads({}), std::thread::hardware_concurrency());
}

}  // namespace
}  // namespace lyk::cpu::test
