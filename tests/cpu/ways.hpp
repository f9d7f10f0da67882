// The ways to run a kernel of kernels/cpu: every instruction set of this machine, on several
// numbers of threads.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/cpu/execution.hpp"

namespace lyk::cpu::test {

// Threads that live as long as a test: one, two, and more than this machine may have.
struct Pools {
  std::array<Workers, 3> workers{Workers{1}, Workers{2}, Workers{5}};

  Execution best() { return {.workers = workers[2]}; }

  // Calls `check(execution)` with every instruction set and every number of threads.
  template <typename Check>
  void for_each_way(const Check& check) {
    for (const InstructionSet set : available_instruction_sets())
      for (Workers& pool : workers)
        run(set, pool, check);
  }

  // As above, but each set with only one number of threads, another one in each call.
  template <typename Check>
  void for_each_set(const Check& check) {
    for (const InstructionSet set : available_instruction_sets())
      run(set, workers[next_++ % workers.size()], check);
  }

private:
  template <typename Check>
  static void run(InstructionSet set, Workers& pool, const Check& check) {
    const std::string_view name = instruction_set_names[static_cast<std::size_t>(set)];
    const testing::ScopedTrace trace{
        __FILE__, __LINE__, std::string{name} + ", " + std::to_string(pool.threads()) + " threads"};
    check(Execution{.workers = pool, .instructions = set});
  }

  std::size_t next_ = 0;
};

}  // namespace lyk::cpu::test
