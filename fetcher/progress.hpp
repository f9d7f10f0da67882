// What a running fetch tells, and how it is told to stop.
// Thread rule: the callback is called on the thread that fetches: at every change of step or file,
// at the end of each file, and for bytes alone at most about ten times a second.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace lyk::fetcher {

enum class Step { proving, downloading, adopting, waiting };

struct Progress {
  Step step = Step::proving;
  std::string file;  // that the step is about: path in the repo; empty while the commit is proven
  std::uint64_t bytes_done = 0;
  // Of all files of this fetch, as far as known; 0: not known. For people: where the proof says no
  // size, this is what a server announced.
  std::uint64_t bytes_total = 0;
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
};

using ProgressCallback = std::function<void(const Progress&)>;

// Asked in every callback of curl and libgit2 and during every pause; a fetch that was told to stop
// fails with `cancelled` and leaves nothing behind.
using CancelToken = std::stop_token;

}  // namespace lyk::fetcher
