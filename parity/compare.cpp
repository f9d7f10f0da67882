#include "parity/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/check.hpp"

namespace lyk::parity {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double error_of(double expected, double got) {
  if (expected == got || (std::isnan(expected) && std::isnan(got)))
    return 0;  // two equal infinities have no difference that is a number
  const double error = std::abs(got - expected);
  if (std::isnan(error))
    return infinity;
  return error;
}

// A NaN has no sign that says anything.
double told(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

bool are_zeros_apart(double expected, double got) {
  return expected == 0 && got == 0 && std::signbit(expected) != std::signbit(got);
}

double share_of(double error, double expected, double got, const Gate& gate) {
  if (error == 0)
    return gate.zeros == Zeros::apart && are_zeros_apart(expected, got) ? infinity : 0;
  const double tolerance = gate.absolute + gate.relative * std::abs(expected);
  // Beside an infinity or NaN nothing else is near.
  return tolerance > 0 && std::isfinite(tolerance) ? error / tolerance : infinity;
}

}  // namespace

Difference compare(std::span<const double> expected,
                   std::span<const double> got,
                   const Gate& gate) {
  LYK_CHECK(expected.size() == got.size());
  Difference out;
  out.elements = expected.size();
  if (expected.empty())
    return out;
  out.expected = told(expected[0]);
  out.got = told(got[0]);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = error_of(expected[i], got[i]);
    const double share = share_of(error, expected[i], got[i], gate);
    out.greatest_error = std::max(out.greatest_error, error);
    if (share > 1)
      ++out.wrong;
    if (share <= out.share)
      continue;
    out.share = share;
    out.worst = i;
    out.expected = told(expected[i]);
    out.got = told(got[i]);
  }
  return out;
}

}  // namespace lyk::parity
