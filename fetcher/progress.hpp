// What a running fetch tells, and how it is told to stop.
// Thread rule: the callback is called on the thread that fetches, at most about ten times a second
// and once at the end of each file.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace lyk::fetcher {

enum class Step { proving, downloading, adopting, waiting };

struct Progress {
  Step step = Step::proving;
  std::string file;  // path in the repo; empty while the commit is proven
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;  // of all files of this fetch, as far as known; 0: not known
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
};

using ProgressCallback = std::function<void(const Progress&)>;

// Asked in every callback of curl and libgit2 and during every pause; a fetch that was told to stop
// fails with `cancelled` and leaves nothing behind.
using CancelToken = std::stop_token;

}  // namespace lyk::fetcher
