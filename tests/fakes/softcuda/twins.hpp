// The PTX twins of cubins: in the files of SOFTCUDA_PTX_PATH, found by their kernels.
//
// Thread rule: any thread. The files are read once, when the first cubin asks.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/image/image.hpp"
#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"

namespace softcuda {

class Twins {
public:
  explicit Twins(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // The PTX that defines all kernels of the cubin with the same parameters; of several the one with
  // the highest target that is not above the cubin's.
  Status find(const lyk::image::Image& cubin, std::shared_ptr<const ptx::Module>& out);

private:
  struct Candidate {
    std::string path;
    lyk::image::Image image;
    std::string text;
    std::shared_ptr<const ptx::Module> module;  // null until it is wanted
  };
  void read_files();
  void read_file(const std::string& path);
  static Status parsed(Candidate& candidate, std::shared_ptr<const ptx::Module>& out);

  const std::vector<std::string> paths_;
  std::mutex mutex_;  // guards the rest
  bool are_read_ = false;
  std::vector<Candidate> candidates_;
  std::string unreadable_;  // of the files, for the answer
};

}  // namespace softcuda
