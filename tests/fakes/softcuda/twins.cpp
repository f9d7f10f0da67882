#include "tests/fakes/softcuda/twins.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

using lyk::quoted;
using lyk::str;
using lyk::image::Image;
using lyk::image::Kind;

// Why `ptx` is no twin of `cubin`; empty if it is.
std::string mismatch(const Image& cubin, const Image& ptx) {
  for (const auto& wanted : cubin.kernels) {
    const auto found =
        std::ranges::lower_bound(ptx.kernels, wanted.symbol, {}, &lyk::image::Kernel::symbol);
    if (found == ptx.kernels.end() || found->symbol != wanted.symbol)
      return str("lacks kernel ", quoted(wanted.symbol));
    if (found->parameters != wanted.parameters)
      return str("kernel ", quoted(wanted.symbol), " has other parameters");
  }
  return ptx.arch.number() > cubin.arch.number() ? str("is for ", ptx.arch.sm()) : std::string{};
}

}  // namespace

void Twins::read_file(const std::string& path) {
  std::ifstream stream{path, std::ios::binary};
  const std::vector<char> chars{std::istreambuf_iterator<char>{stream}, {}};
  const auto file = std::as_bytes(std::span{chars});
  const auto images = lyk::image::read_images(file);
  if (!stream.is_open() || !images) {
    unreadable_ += str("; ", quoted(path), ": ",
                       stream.is_open() ? images.error().message : "cannot be opened");
    return;
  }
  for (const Image& image : *images) {
    if (image.kind != Kind::ptx)
      continue;
    const auto bytes = lyk::image::extract(file, image);
    if (!bytes)
      continue;
    std::string text(bytes->size(), '\0');
    std::ranges::transform(*bytes, text.begin(), [](std::byte b) { return static_cast<char>(b); });
    candidates_.push_back(
        {.path = path, .image = image, .text = std::move(text), .module = nullptr});
  }
}

void Twins::read_files() {
  if (std::exchange(are_read_, true))
    return;
  for (const std::string& path : paths_)
    read_file(path);
  std::ranges::stable_sort(candidates_, std::ranges::greater{}, [](const Candidate& candidate) {
    return candidate.image.arch.number();
  });
}

Status Twins::parsed(Candidate& candidate, std::shared_ptr<const ptx::Module>& out) {
  if (candidate.module == nullptr) {
    auto module = ptx::parse(candidate.text);
    if (!module)
      return refuse(Status::not_supported,
                    str("twin ", quoted(candidate.path), ": ", module.error().message));
    candidate.module = std::make_shared<const ptx::Module>(std::move(*module));
  }
  out = candidate.module;
  return Status::success;
}

Status Twins::find(const Image& cubin, std::shared_ptr<const ptx::Module>& out) {
  const std::scoped_lock lock{mutex_};
  read_files();
  std::string why = "no PTX in SOFTCUDA_PTX_PATH";
  for (Candidate& candidate : candidates_) {
    std::string reason = mismatch(cubin, candidate.image);
    if (reason.empty())
      return parsed(candidate, out);
    why = str(quoted(candidate.path), " ", reason);
  }
  return refuse(Status::not_supported, str("no PTX twin of the cubin: ", why, unreadable_));
}

}  // namespace softcuda
