// What tests about one launch begin with, and how they say what they expected.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "proto/text.hpp"
#include "tests/client/launch_world.hpp"

namespace lyk::test {

inline const DeformShape tiny{
    .batch = 1, .heads = 1, .channels = 4, .queries = 1, .points = 1, .levels = {2, 3}};

// A GPU, a registry and a call, with what was said of them.
struct Scene {
  explicit Scene(LaunchOptions options = {}) : world(std::move(options)), call(gpu, tiny, 1) {}

  SoftGpu gpu;
  LaunchWorld world;
  GpuCall call;
};

inline std::string expect(const std::string& actual, const std::string& expected) {
  return actual == expected ? "" : "said '" + actual + "', expected '" + expected + "'; ";
}
inline std::string expect_prefix(const std::string& actual, const std::string& expected) {
  return actual.starts_with(expected) ? "" : "said '" + actual + "', expected '" + expected + "'; ";
}
inline std::string expect_count(const std::vector<std::string>& texts, std::size_t count) {
  if (texts.size() == count)
    return {};
  std::string out = str(texts.size(), " warnings, expected ", count, ": ");
  for (const std::string& text : texts)
    out += text + "; ";
  return out;
}

inline constexpr const char* off = "ms_deform_attn: hub is off for the rest of this process: ";

}  // namespace lyk::test
