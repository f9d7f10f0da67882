#include "kernels/cpu/instruction_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace lyk::cpu::test {
namespace {

TEST(InstructionSet, EveryMachineHasTheBaselineAndTheBestComesLast) {
  const auto available = available_instruction_sets();
  ASSERT_FALSE(available.empty());
  EXPECT_EQ(available.front(), InstructionSet::baseline);
  EXPECT_TRUE(std::ranges::is_sorted(available));
  EXPECT_EQ(best_instruction_set(), available.back());
}

#if defined(__x86_64__)
TEST(InstructionSet, IsWhatTheProcessorSaysItHas) {
  const auto available = available_instruction_sets();
  const auto has = [&available](InstructionSet set) {
    return std::ranges::find(available, set) != available.end();
  };
  // What /proc/cpuinfo calls them.
  std::ifstream cpuinfo{"/proc/cpuinfo"};
  const std::string text{std::istreambuf_iterator<char>{cpuinfo}, {}};
  const auto says = [&text](const char* flag) { return text.find(flag) != std::string::npos; };
  EXPECT_EQ(has(InstructionSet::avx2), says(" avx2 ") && says(" fma ") && says(" bmi2 "));
  EXPECT_EQ(has(InstructionSet::avx512),
            says(" avx512bw ") && says(" avx512vl ") && says(" avx512dq "));
}
#endif

}  // namespace
}  // namespace lyk::cpu::test
