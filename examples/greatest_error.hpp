// How far numbers are from those that were expected, for the example deform_attn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

// The greatest difference, as a share of the greatest expected number; infinite where something is
// no number. There are as many actual numbers as expected ones.
inline double greatest_error(const std::vector<float>& actual,
                             const std::vector<double>& expected) {
  double greatest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    greatest = std::max(greatest, std::abs(expected[i]));
    const double here = std::abs(actual[i] - expected[i]);
    if (!(here <= difference))  // so that NaN comes in, and stays
      difference = std::isnan(here) ? std::numeric_limits<double>::infinity() : here;
  }
  return greatest > 0 ? difference / greatest : difference;
}
