// Two lists of numbers against a gate: how far apart they are, and where most.
// Thread rule: a pure function.
#pragma once

#include <cstddef>
#include <span>

#include "parity/case.hpp"

namespace lyk::parity {

struct Difference {
  std::size_t elements = 0;
  std::size_t wrong = 0;      // elements that the gate does not let through
  double greatest_error = 0;  // |got - expected| of all elements; infinite for NaN beside none,
                              // and none between zeros of either sign, which may be wrong all the
                              // same
  std::size_t worst = 0;      // the element that uses most of its tolerance, and of it:
  double expected = 0;
  double got = 0;
  double share = 0;  // the error as a part of the tolerance: above 1 it is wrong

  bool passed() const { return wrong == 0; }
};

// REQUIRES: as many of the one as of the other.
Difference compare(std::span<const double> expected, std::span<const double> got, const Gate& gate);

}  // namespace lyk::parity
