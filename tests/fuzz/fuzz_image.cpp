// The image reader on anything: it ends in a value or an Error, and what it says of an image holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/image/choose.hpp"
#include "kernels/image/image.hpp"
#include "proto/check.hpp"
#include "proto/launch_abi.hpp"
#include "proto/limits.hpp"

namespace {

using lyk::image::Candidate;
using lyk::image::Contents;
using lyk::image::Image;

void check_image(std::span<const std::byte> file, const Image& image) {
  const auto bytes = lyk::image::extract(file, image);
  LYK_CHECK(bytes);
  LYK_CHECK(bytes->size() == image.bytes);
  LYK_CHECK((image.kind == lyk::image::Kind::ptx) == image.ptx_version.has_value());
  LYK_CHECK(std::ranges::is_sorted(image.kernels, {}, &lyk::image::Kernel::symbol));
  LYK_CHECK(image.kernels.size() <= lyk::limits::kernels_per_image_max);
  for (const lyk::image::Kernel& kernel : image.kernels) {
    LYK_CHECK(!kernel.symbol.empty() && !kernel.name.empty());
    LYK_CHECK(kernel.parameters.size() <= lyk::limits::parameters_per_kernel_max);
  }
}

void choose_for(const Contents& contents, int architecture) {
  std::vector<Candidate> candidates;
  for (const Image& image : contents.images)
    candidates.push_back({.image = &image, .file = "build/v/a.so", .file_bytes = 1, .build = {}});
  lyk::Device device;
  device.arch = {.major = architecture / 10, .minor = architecture % 10};
  device.tegra = lyk::is_tegra_arch(device.arch);
  for (const lyk::LaunchAbi* abi :
       {static_cast<const lyk::LaunchAbi*>(nullptr), lyk::find_launch_abi("ms_deform_im2col")}) {
    const auto choice = lyk::image::choose(candidates, device, abi);
    LYK_CHECK(choice.refused.size() + (choice.chosen ? 1 : 0) == candidates.size());
    if (choice.chosen) {
      const Image& chosen = contents.images[*choice.chosen];
      LYK_CHECK(lyk::image::runs_on(chosen.kind, chosen.arch, device));
    }
    LYK_CHECK(!lyk::image::explain(choice, candidates).empty());
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span{data, size});
  const auto contents = lyk::image::read_contents(file);
  if (!contents) {
    LYK_CHECK(!contents.error().message.empty());
    return 0;
  }
  LYK_CHECK(lyk::image::recognise(file) == contents->container);
  for (const Image& image : contents->images)
    check_image(file, image);
  for (const int architecture : {75, 87, 90, 103, 121})
    choose_for(*contents, architecture);
  return 0;
}
