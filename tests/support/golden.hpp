// Golden files: what a program wrote once, looked at by a person, and must write again byte for
// byte. LYK_UPDATE_GOLDEN=1 rewrites them; the difference is then reviewed like any other.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace lyk::test {

inline std::filesystem::path data_path(std::string_view name) {
  return std::filesystem::path{LYK_SOURCE_DIR} / "tests" / "data" / name;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>{file}, {}};
}

// A golden file without its last newline, which is there for editors.
inline std::string read_golden(std::string_view name) {
  std::string text = read_text(data_path(name));
  if (text.ends_with('\n'))
    text.pop_back();
  return text;
}

// `name` is below tests/data: "wire/resolve_call.json".
inline void expect_golden(std::string_view name, std::string_view text) {
  const char* update = std::getenv("LYK_UPDATE_GOLDEN");
  if (update != nullptr && *update == '1') {
    std::filesystem::create_directories(data_path(name).parent_path());
    std::ofstream{data_path(name), std::ios::binary} << text << '\n';
    return;
  }
  EXPECT_EQ(read_golden(name), text) << "LYK_UPDATE_GOLDEN=1 rewrites tests/data/" << name;
}

}  // namespace lyk::test
