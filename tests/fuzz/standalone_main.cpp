// Replays a corpus without a fuzzer: calls the target with the content of every file given, and of
// every file in the folders given. A target that finds a fault ends the program. No files at all is
// a failure: a corpus that moved must not look like one that passed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(std::span<char*> arguments) {
  std::vector<fs::path> out;
  for (const fs::path argument : arguments) {
    if (!fs::is_directory(argument)) {
      out.push_back(argument);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator{argument})
      if (entry.is_regular_file())
        out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

bool replay(const fs::path& path) {
  std::ifstream stream{path, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{stream}, {}};
  if (!stream) {
    std::cerr << path << ": cannot be read\n";
    return false;
  }
  // Copied to the end of its own allocation, so that a sanitizer sees a read beyond it.
  const std::vector<std::uint8_t> input{bytes.begin(), bytes.end()};
  return LLVMFuzzerTestOneInput(input.data(), input.size()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files =
      files_of(std::span{argv, static_cast<std::size_t>(argc)}.subspan(1));
  for (const fs::path& path : files)
    if (!replay(path))
      return 1;
  std::cout << files.size() << " inputs replayed\n";
  return files.empty() ? 1 : 0;
}
