#include "fetcher/wanted.hpp"

#include <algorithm>
#include <compare>
#include <set>
#include <tuple>

#include "fetcher/variant.hpp"
#include "kernels/image/choose.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

// Libraries of which the repo says the same: one of them is as good as another.
struct Group {
  std::optional<CudaVersion> cuda;
  std::vector<Arch> archs;              // sorted; empty: not known
  std::vector<const ListedFile*> best;  // the files of one variant
  std::uint64_t best_bytes = 0;
  bool best_x86_64 = false;
};

struct VariantFiles {
  Variant variant;
  std::string name;
  std::vector<Arch> archs;
  std::vector<const ListedFile*> files;
  std::uint64_t bytes = 0;
};

bool is_library(const ListedFile& file) {
  return file.path.text().ends_with(".so");
}

// The libraries of each CUDA variant, variants in the order of their names.
std::vector<VariantFiles> variants_of(const Listing& listing) {
  std::map<std::string, VariantFiles> by_name;
  for (const ListedFile& file : listing.files) {
    if (!is_library(file))
      continue;
    const std::string name = variant_of(file.path);
    const Variant variant = parse_variant(name);
    if (!variant.may_hold_cuda)
      continue;
    VariantFiles& entry = by_name[name];
    entry.name = name;
    entry.variant = variant;
    entry.files.push_back(&file);
    entry.bytes += file.proof.bytes.value_or(0);
  }
  std::vector<VariantFiles> variants;
  for (auto& [name, entry] : by_name) {
    if (const auto hint = listing.variant_archs.find(name); hint != listing.variant_archs.end())
      entry.archs = hint->second;
    std::sort(entry.archs.begin(), entry.archs.end());
    variants.push_back(std::move(entry));
  }
  return variants;
}

// Rule 3: one variant for each group.
std::vector<Group> group(const std::vector<VariantFiles>& variants) {
  std::vector<Group> groups;
  for (const VariantFiles& each : variants) {
    auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
      return known.cuda == each.variant.cuda && known.archs == each.archs;
    });
    if (at == groups.end())
      at = groups.insert(groups.end(), Group{each.variant.cuda, each.archs, {}, 0, false});
    const auto rank = [](std::uint64_t bytes, bool x86_64) {
      return std::tuple{bytes, x86_64 ? 0 : 1};
    };
    if (at->best.empty() ||
        rank(each.bytes, each.variant.x86_64) < rank(at->best_bytes, at->best_x86_64)) {
      at->best = each.files;
      at->best_bytes = each.bytes;
      at->best_x86_64 = each.variant.x86_64;
    }
  }
  return groups;
}

int major_of(const Group& group) {
  return group.cuda ? group.cuda->major : 0;
}

// Rule 4: whether nothing is lost without `less`.
bool covers(const Group& more, const Group& less) {
  if (more.archs.empty() || less.archs.empty() || !more.cuda || !less.cuda ||
      major_of(more) > major_of(less))
    return false;
  return std::includes(more.archs.begin(), more.archs.end(), less.archs.begin(), less.archs.end());
}

std::vector<Group> without_covered(std::vector<Group> groups) {
  std::vector<Group> kept;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bool covered = false;
    for (std::size_t j = 0; j < groups.size() && !covered; ++j) {
      // Of two groups that cover each other the first one stays.
      const bool both = covers(groups[i], groups[j]) && covers(groups[j], groups[i]);
      covered = i != j && covers(groups[j], groups[i]) && (!both || j < i);
    }
    if (!covered)
      kept.push_back(groups[i]);
  }
  return kept;
}

// How well a group serves a device by the hint: 0 exactly, 1 by a lower minor, 2 not known.
std::optional<int> service(const Group& group, const Device& device) {
  if (device.driver && major_of(group) > device.driver->major)
    return std::nullopt;
  if (group.archs.empty())
    return 2;
  std::optional<int> best;
  for (const Arch& each : group.archs) {
    if (each.number() == device.arch.number())
      return 0;
    if (image::runs_on(image::Kind::cubin, each, device))
      best = 1;
  }
  return best;
}

// Rule 5: for each device the group that serves it best; unknown groups always.
std::vector<Group> serving(const std::vector<Group>& groups, std::span<const Device> devices) {
  std::set<std::size_t> chosen;
  for (const Device& device : devices) {
    std::optional<std::tuple<int, int, std::uint64_t, std::size_t>> best;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto rank = service(groups[i], device);
      if (!rank)
        continue;
      if (*rank == 2)
        chosen.insert(i);
      const std::tuple key{*rank, major_of(groups[i]), groups[i].best_bytes, i};
      if (!best || key < *best)
        best = key;
    }
    if (!best)
      return groups;  // the hint knows nothing of this device: PTX may still serve it
    chosen.insert(std::get<3>(*best));
  }
  std::vector<Group> kept;
  kept.reserve(chosen.size());
  for (const std::size_t i : chosen)
    kept.push_back(groups[i]);
  return kept;
}

Error nothing_wanted(const Listing& listing, const Pin& pin) {
  std::set<std::string> names;
  for (const ListedFile& file : listing.files)
    if (std::string name = variant_of(file.path); !name.empty())
      names.insert(std::move(name));
  std::string text;
  for (const std::string& name : names) {
    if (text.size() > 300) {
      text += ", ...";
      break;
    }
    text += str(text.empty() ? "" : ", ", quoted(name));
  }
  return Error{Code::not_found,
               str(pin.repo.text(), " at ", pin.revision.hex().substr(0, 12),
                   pin.abi ? ": no file can hold CUDA device code" : ": no file matches 'variants'",
                   text.empty() ? "" : "; variants there: ", text)};
}

Result<std::vector<ListedFile>> checked(std::vector<ListedFile> files) {
  for (const ListedFile& file : files)
    if (file.proof.bytes.value_or(0) > limits::file_bytes_max)
      return Error{Code::refused,
                   str(quoted(file.path.text()), ": its proof says ", *file.proof.bytes,
                       " bytes, and more than ", limits::file_bytes_max, " are never fetched")};
  std::sort(files.begin(), files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
  return files;
}

std::vector<ListedFile> candidates_of(const Listing& listing, const Pin& pin) {
  std::vector<ListedFile> out;
  for (const ListedFile& file : listing.files)
    if (is_candidate(pin, file.path))
      out.push_back(file);
  return out;
}

// The libraries that serve `devices`, and every plain image, which names its architecture only
// inside.
std::vector<ListedFile> with_device_code(const Listing& candidates,
                                         std::span<const Device> devices) {
  std::vector<Group> groups = without_covered(group(variants_of(candidates)));
  if (!devices.empty())
    groups = serving(groups, devices);
  std::vector<ListedFile> out;
  for (const Group& each : groups)
    for (const ListedFile* file : each.best)
      out.push_back(*file);
  for (const ListedFile& file : candidates.files)
    if (!is_library(file))
      out.push_back(file);
  return out;
}

}  // namespace

Result<std::vector<ListedFile>> choose_wanted(const Listing& listing,
                                              const Pin& pin,
                                              std::span<const Device> devices) {
  const Listing candidates{listing.kind, listing.type, candidates_of(listing, pin),
                           listing.variant_archs};
  std::vector<ListedFile> wanted =
      pin.abi ? with_device_code(candidates, devices) : candidates.files;
  if (wanted.empty())
    return nothing_wanted(listing, pin);
  return checked(std::move(wanted));
}

}  // namespace lyk::fetcher
