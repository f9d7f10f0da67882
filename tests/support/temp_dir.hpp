// A fresh folder for one test, removed with everything in it when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace lyk::test {

class TempDir {
public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lyk_test.XXXXXX").string();
    if (const char* made = ::mkdtemp(pattern.data()))
      path_ = made;
    else
      std::abort();
  }
  ~TempDir() {
    std::error_code ignored;  // a folder that a test made unreadable is left behind
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
};

}  // namespace lyk::test
