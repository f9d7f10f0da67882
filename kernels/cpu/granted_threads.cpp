#include "kernels/cpu/granted_threads.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/cpu/processor_set.hpp"

namespace lyk::cpu {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// The words of the first line; none if there is no such file.
std::vector<std::string> words_of(const fs::path& file) {
  std::ifstream stream{file};
  std::vector<std::string> words;
  for (std::string word; words.size() < 2 && stream >> word;)
    words.push_back(word);
  return words;
}

std::optional<std::size_t> processors(std::string_view quota, std::string_view period) {
  const auto quota_us = parse_integer(quota);  // "max" and -1 mean that there is none
  const auto period_us = parse_integer(period);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0)
    return std::nullopt;
  return static_cast<std::size_t>(*quota_us / *period_us + (*quota_us % *period_us == 0 ? 0 : 1));
}

std::optional<std::size_t> limit_of(const fs::path& group) {
  if (const auto words = words_of(group / "cpu.max"); words.size() == 2)
    return processors(words[0], words[1]);
  const auto quota = words_of(group / "cpu.cfs_quota_us");
  const auto period = words_of(group / "cpu.cfs_period_us");
  if (quota.empty() || period.empty())
    return std::nullopt;
  return processors(quota[0], period[0]);
}

// The folders where the hierarchy of a line of /proc/self/cgroup is mounted, by custom.
std::vector<fs::path> mounts_of(std::string_view controllers) {
  if (controllers.empty())
    return {"sys/fs/cgroup", "sys/fs/cgroup/unified"};
  if (controllers == "cpu" || controllers == "cpu,cpuacct" || controllers == "cpuacct,cpu")
    return {fs::path{"sys/fs/cgroup"} / controllers, "sys/fs/cgroup/cpu"};
  return {};
}

void lower(std::optional<std::size_t>& least, std::optional<std::size_t> limit) {
  if (limit && (!least || *limit < *least))
    least = limit;
}

// From the group up to the mount. In a container whose path the file tells as the host sees it,
// only the mount itself is there, and that is the container's group.
std::optional<std::size_t> least_limit(const fs::path& mount, fs::path group) {
  std::optional<std::size_t> least;
  for (; !group.empty(); group = group.parent_path())
    lower(least, limit_of(mount / group));
  lower(least, limit_of(mount));
  return least;
}

}  // namespace

std::optional<std::size_t> parse_omp_num_threads(std::string_view text) {
  text = text.substr(0, text.find(','));
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  const auto number = parse_integer(text);
  return number && *number > 0 ? std::optional{static_cast<std::size_t>(*number)} : std::nullopt;
}

std::optional<std::size_t> cgroup_processors(const fs::path& root) {
  // Each line is `number:controllers:/path`; version 2 has no controllers.
  std::ifstream stream{root / "proc/self/cgroup"};
  std::optional<std::size_t> least;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string_view controllers =
        std::string_view{line}.substr(first + 1, second - first - 1);
    const fs::path group = fs::path{line.substr(second + 1)}.relative_path();
    for (const fs::path& mount : mounts_of(controllers))
      lower(least, least_limit(root / mount, group));
  }
  return least;
}

std::size_t granted_threads(std::optional<std::size_t> wished) {
  std::size_t threads = ProcessorSet::of_process().count();
  if (const auto limit = cgroup_processors("/"))
    threads = std::min(threads, *limit);
  if (wished)
    threads = std::min(threads, *wished);
  return std::max<std::size_t>(threads, 1);
}

}  // namespace lyk::cpu
