// Cases of a set, run by a Runner, as what the tests of every implementation expect.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "parity/run.hpp"
#include "parity/sets.hpp"

namespace lyk::parity::test {

inline void expect_reference(Runner& runner, const Case& made) {
  const auto verdicts = runner.run(made);
  ASSERT_TRUE(verdicts) << made.name << ": " << verdicts.error().message;
  for (const Verdict& verdict : *verdicts)
    EXPECT_TRUE(verdict.difference.passed()) << made.name << ": " << describe(verdict);
}

// Each small case. `runner` runs that implementation.
inline void expect_reference(Runner& runner, const Set& set, Implementation implementation) {
  const testing::ScopedTrace trace{__FILE__, __LINE__, std::string{set.slot}};
  for (std::size_t index = 0; index < set.count(implementation); ++index)
    expect_reference(runner, set.make(index, Extent::small, implementation));
}

}  // namespace lyk::parity::test
