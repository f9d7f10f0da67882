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

double share_of(double error, double expected, const Gate& gate) {
  if (error == 0)
    return 0;
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
  out.expected = expected[0];
  out.got = got[0];
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = error_of(expected[i], got[i]);
    const double share = share_of(error, expected[i], gate);
    out.greatest_error = std::max(out.greatest_error, error);
    if (share > 1)
      ++out.wrong;
    if (share <= out.share)
      continue;
    out.share = share;
    out.worst = i;
    out.expected = expected[i];
    out.got = got[i];
  }
  return out;
}

}  // namespace lyk::parity
