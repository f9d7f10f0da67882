// image_dump FILE [FOLDER]: the images of a file as `libreyolo-kernels inspect --json` prints them,
// with what was skipped; with FOLDER, also the bytes of each image as <FOLDER>/<number>.cubin or
// .ptx. The tests that compare with NVIDIA's tools use it. Exit 1 and the message on stderr if it
// cannot be read.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/image/image.hpp"

namespace {

using lyk::image::Image;

std::vector<char> read_file(const std::filesystem::path& path) {
  std::ifstream stream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

nlohmann::json describe(const Image& image) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const lyk::image::Kernel& kernel : image.kernels) {
    nlohmann::json parameters = nlohmann::json::array();
    for (const lyk::image::Parameter& parameter : kernel.parameters)
      parameters.push_back({parameter.offset, parameter.size});
    kernels.push_back(
        {{"symbol", kernel.symbol}, {"name", kernel.name}, {"parameters", parameters}});
  }
  const auto version = image.toolkit ? image.toolkit : image.ptx_version;
  return {{"container", lyk::image::name(image.container)},
          {"kind", lyk::image::name(image.kind)},
          {"arch", image.arch.sm()},
          {"compression", lyk::image::name(image.compression)},
          {"bytes", image.bytes},
          {"sha256", image.sha256.hex()},
          {"version", version ? version->text() : ""},
          {"kernels", kernels}};
}

int fail(const lyk::Error& error) {
  std::cerr << lyk::info(error.code).name << ": " << error.message << '\n';
  return 1;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a tool of the tests; an exception may end it
int main(int argc, char** argv) {
  const std::vector<std::string> arguments{argv + 1, argv + argc};
  if (arguments.empty() || arguments.size() > 2) {
    std::cerr << "usage: image_dump FILE [FOLDER]\n";
    return 2;
  }
  const std::vector<char> file = read_file(arguments[0]);
  const auto contents = lyk::image::read_contents(std::as_bytes(std::span{file}));
  if (!contents)
    return fail(contents.error());

  nlohmann::json images = nlohmann::json::array();
  for (std::size_t i = 0; i < contents->images.size(); ++i) {
    const Image& image = contents->images[i];
    images.push_back(describe(image));
    if (arguments.size() == 1)
      continue;
    const auto bytes = lyk::image::extract(std::as_bytes(std::span{file}), image);
    if (!bytes)
      return fail(bytes.error());
    const auto path = std::filesystem::path{arguments[1]} /
                      (std::to_string(i) + "." + std::string{lyk::image::name(image.kind)});
    std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(bytes->data()),
                                                static_cast<std::streamsize>(bytes->size()));
  }
  nlohmann::json skipped = nlohmann::json::array();
  for (const lyk::image::Skipped& entry : contents->skipped)
    skipped.push_back({{"offset", entry.offset}, {"reason", entry.reason}});
  std::cout << nlohmann::json{{"images", images}, {"skipped", skipped}}.dump(1) << '\n';
  return 0;
}
