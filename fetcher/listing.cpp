#include "fetcher/listing.hpp"

#include <algorithm>

namespace lyk::fetcher {

namespace {

constexpr std::string_view build_folder = "build/";
constexpr std::string_view images_folder = "images/";

bool is_device_file(std::string_view path) {
  return path.ends_with(".cubin") || path.ends_with(".fatbin") || path.ends_with(".ptx");
}

bool is_bytecode(std::string_view path) {
  return path.ends_with(".pyc") || path.find("/__pycache__/") != std::string_view::npos;
}

bool matches_variants(const Pin& pin, std::string_view variant) {
  return pin.variants.empty() ||
         std::any_of(pin.variants.begin(), pin.variants.end(),
                     [&](const std::string& glob) { return glob_matches(glob, variant); });
}

}  // namespace

std::string variant_of(const RepoPath& path) {
  std::string_view text = path.text();
  if (!text.starts_with(build_folder))
    return {};
  text.remove_prefix(build_folder.size());
  const auto slash = text.find('/');
  return slash == std::string_view::npos ? std::string{} : std::string{text.substr(0, slash)};
}

bool is_candidate(const Pin& pin, const RepoPath& path) {
  const std::string& text = path.text();
  const std::string variant = variant_of(path);
  if (!variant.empty() && !matches_variants(pin, variant))
    return false;
  if (!pin.abi)
    return !variant.empty() && !is_bytecode(text);
  if (text.starts_with(images_folder) || text.starts_with(build_folder)) {
    if (is_device_file(text))
      return true;
    const std::size_t file_begin = build_folder.size() + variant.size() + 1;
    return !variant.empty() && text.ends_with(".so") &&
           text.find('/', file_begin) == std::string::npos;
  }
  return false;
}

}  // namespace lyk::fetcher
