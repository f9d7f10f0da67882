// The PTX of the Hub's kernels with the bodies of few: every entry of the launch ABI is there, with
// its parameters, but the others return at once. A test that starts hundreds of processes cannot
// wait for the stand-in driver to read half a megabyte in each.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "proto/launch_abi.hpp"

namespace lyk::test {

inline std::string trimmed_ptx(const std::string& ptx, const std::vector<std::string_view>& kept) {
  const auto kernels = find_launch_abi("ms_deform_im2col")->kernels;
  const auto names = [](std::string_view line, std::string_view symbol) {
    return line.find(std::string{symbol} + '(') != std::string_view::npos;
  };
  enum class Part { outside, header, kept_body, other_body, dropped } part = Part::outside;
  std::string out;
  bool is_kept = false;
  std::istringstream lines{ptx};
  for (std::string line; std::getline(lines, line);) {
    if (line.find(".entry") != std::string::npos) {
      const bool is_ours =
          std::any_of(kernels.begin(), kernels.end(),
                      [&](const AbiKernel& kernel) { return names(line, kernel.symbol); });
      is_kept = std::any_of(kept.begin(), kept.end(),
                            [&](std::string_view symbol) { return names(line, symbol); });
      part = is_ours ? Part::header : Part::dropped;
    }
    const bool is_end = line == "}";
    if (part == Part::header && line == "{") {
      part = is_kept ? Part::kept_body : Part::other_body;
      out += is_kept ? "{\n" : "{\n\tret;\n";
      continue;
    }
    const bool is_comment = line.find_first_not_of(" \t") == std::string::npos ||
                            line.find("//") == line.find_first_not_of(" \t");
    if (part != Part::dropped && (part != Part::other_body || is_end) && !is_comment)
      out += line + '\n';
    if (is_end)
      part = Part::outside;
  }
  return out;
}

}  // namespace lyk::test
