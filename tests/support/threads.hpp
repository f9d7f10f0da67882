// What tests do to threads, and what they see of those that the library starts.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace lyk::test {

// Lets the calling thread run on the processor that it is on, and on no other.
inline void pin_to_one_processor() {
  std::array<cpu_set_t, 64> one{};  // of 1,024 processors each: as many as ProcessorSet knows
  CPU_SET_S(static_cast<std::size_t>(::sched_getcpu()), sizeof(one), one.data());
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), one.data()), 0);
}

// The threads that Workers of this process have started since this was made, and that live. They
// are told by their name, as a sanitizer may start threads of its own; and by their number from
// those of earlier Workers, as a thread that was joined is still listed for a moment.
class StartedThreads {
public:
  std::size_t count() const {
    const std::set<std::string> now = numbers();
    return static_cast<std::size_t>(std::ranges::count_if(
        now, [this](const std::string& number) { return !before_.contains(number); }));
  }

private:
  static std::set<std::string> numbers() {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/task"}) {
      std::string name;
      std::getline(std::ifstream{entry.path() / "comm"}, name);  // none of one that has just ended
      if (name == "lyk-cpu")
        out.insert(entry.path().filename().string());
    }
    return out;
  }

  const std::set<std::string> before_ = numbers();
};

}  // namespace lyk::test
