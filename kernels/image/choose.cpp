#include "kernels/image/choose.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <tuple>
#include <utility>

#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::image {

namespace {

// The families with more than one member, by the table "Family-Specific Compatibility" of the CUDA
// Programming Guide (5.1.2, CUDA 13): what is built for an `f` target runs on it and on the higher
// members of its family. An architecture that is not here is alone in its family.
struct Member {
  int architecture;
  int family;
};
constexpr std::array family_members{Member{100, 100}, Member{103, 100}, Member{107, 100},
                                    Member{120, 120}, Member{121, 120}};

int family_of(const Arch& arch) {
  const auto* const member =
      std::ranges::find(family_members, arch.number(), &Member::architecture);
  return member == family_members.end() ? arch.number() : member->family;
}

bool is_tegra(const Device& device) {
  return device.tegra || is_tegra_arch(device.arch);
}

// Why an image for `target` does not run on the device; empty if it does.
std::string architecture_refusal(Kind kind, const Arch& target, const Device& device) {
  const std::string what = str(kind == Kind::ptx ? "PTX for " : "built for ",
                               kind == Kind::ptx ? target.compute() : target.sm());
  if (target.variant == ArchVariant::specific)
    return target.number() == device.arch.number()
               ? std::string{}
               : str(what, ", which runs on ", target.capability(), " only");
  if (target.number() > device.arch.number())
    return str(what, ", above the device's ", device.arch.capability());
  if (target.variant == ArchVariant::family)
    return family_of(target) == family_of(device.arch)
               ? std::string{}
               : str(what, ", whose family does not include ", device.arch.capability());
  if (kind == Kind::ptx || target.number() == device.arch.number())
    return {};
  if (target.major != device.arch.major)
    return str(what, ", another major than the device's ", device.arch.capability());
  if (is_tegra_arch(target))
    return str(what, ", a Tegra chip: it runs on ", target.capability(), " only");
  if (is_tegra(device))
    return str(what, "; the device is a Tegra chip and needs machine code for exactly ",
               device.arch.capability());
  return {};
}

// Why the driver is too old for it; empty if it is not, or if its version is not known.
std::string driver_refusal(const Candidate& candidate, const Device& device) {
  if (!device.driver)
    return {};
  const CudaVersion driver = *device.driver;
  const Image& image = *candidate.image;
  for (const auto& version : {candidate.build, image.toolkit})
    if (version && version->major > driver.major)
      return str("built with CUDA ", version->text(), ", the driver knows ", driver.text());
  if (image.kind == Kind::ptx && image.ptx_version &&
      *image.ptx_version > newest_ptx_version(driver))
    return str("PTX ", image.ptx_version->text(), ", the driver compiles up to ",
               newest_ptx_version(driver).text());
  return {};
}

std::string refusal(const Candidate& candidate, const Device& device, const LaunchAbi* abi) {
  std::string reason = architecture_refusal(candidate.image->kind, candidate.image->arch, device);
  if (reason.empty())
    reason = driver_refusal(candidate, device);
  if (reason.empty() && abi != nullptr)
    reason = abi_mismatch(*candidate.image, *abi).value_or("");
  return reason;
}

// How well an image fits that runs at all; greater is better. Machine code before PTX, then the
// nearer architecture, then the narrower target.
auto fitness(const Image& image) {
  constexpr std::array<int, 3> narrowness{0, 2, 1};  // none, specific, family
  return std::tuple{image.kind == Kind::cubin, image.arch.number(),
                    narrowness[static_cast<std::size_t>(image.arch.variant)]};
}

// What decides among equals; less is better.
auto cost(const Candidate& candidate) {
  return std::tuple{candidate.file_bytes, candidate.file, candidate.image->location.offset};
}

bool is_better(const Candidate& a, const Candidate& b) {
  const auto order = fitness(*a.image) <=> fitness(*b.image);
  return std::is_eq(order) ? cost(a) < cost(b) : std::is_gt(order);
}

std::string why_chosen(const Image& image, const Device& device) {
  if (image.kind == Kind::ptx)
    return str("PTX for ", image.arch.compute(), ", which the driver compiles for ",
               device.arch.capability());
  if (image.arch.number() == device.arch.number())
    return str("machine code for exactly ", device.arch.capability(), " (", image.arch.sm(), ")");
  return str("machine code for ", image.arch.sm(), ", which runs on ", device.arch.capability());
}

std::string why_not(const Candidate& loser, const Candidate& winner) {
  if (fitness(*loser.image) != fitness(*winner.image))
    return str("runs here, but ", winner.image->kind == Kind::ptx ? "PTX for " : "",
               winner.image->arch.sm(), " fits better");
  if (loser.file_bytes != winner.file_bytes)
    return str("as good, but a larger download: ", loser.file_bytes, " bytes, not ",
               winner.file_bytes);
  return str("as good as the one in ", quoted(winner.file), ", which comes first");
}

}  // namespace

bool runs_on(Kind kind, const Arch& target, const Device& device) {
  return architecture_refusal(kind, target, device).empty();
}

CudaVersion newest_ptx_version(const CudaVersion& driver) {
  if (driver.major >= 13)  // 13.0 -> 9.0; the same step is assumed of later ones
    return {.major = driver.major - 4, .minor = driver.minor};
  if (driver.major == 12)  // 12.6 brought no new version
    return {.major = 8, .minor = driver.minor >= 6 ? driver.minor - 1 : driver.minor};
  if (driver.major == 11)
    return {.major = 7, .minor = driver.minor};
  if (driver.major == 10)
    return {.major = 6, .minor = driver.minor + 3};
  return {.major = 6, .minor = 0};
}

std::optional<std::string> abi_mismatch(const Image& image, const LaunchAbi& abi) {
  std::size_t missing = 0;
  std::string first_missing;
  for (const AbiKernel& wanted : abi.kernels) {
    const auto found = std::ranges::lower_bound(image.kernels, wanted.symbol, {}, &Kernel::symbol);
    if (found == image.kernels.end() || found->symbol != wanted.symbol) {
      if (missing++ == 0)
        first_missing = wanted.symbol;
    } else if (!std::ranges::equal(found->parameters, wanted.parameters)) {
      return str("kernel ", quoted(wanted.symbol), " has other parameters than launch ABI ",
                 abi.name, " (", found->parameters.size(), " of them, not ",
                 wanted.parameters.size(), ", or at other places)");
    }
  }
  if (missing == 0)
    return std::nullopt;
  return str("lacks ", missing, " of the ", abi.kernels.size(), " kernels of launch ABI ", abi.name,
             ", first ", quoted(first_missing));
}

Choice choose(std::span<const Candidate> candidates, const Device& device, const LaunchAbi* abi) {
  std::vector<std::string> reasons(candidates.size());
  Choice out;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    LYK_CHECK(candidates[i].image != nullptr);
    reasons[i] = refusal(candidates[i], device, abi);
    const bool leads =
        reasons[i].empty() && (!out.chosen || is_better(candidates[i], candidates[*out.chosen]));
    if (leads)
      out.chosen = i;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (out.chosen == i)
      continue;
    if (reasons[i].empty())
      reasons[i] = why_not(candidates[i], candidates[*out.chosen]);
    out.refused.push_back({.candidate = i, .reason = std::move(reasons[i])});
  }
  if (out.chosen)
    out.reason = why_chosen(*candidates[*out.chosen].image, device);
  return out;
}

std::string explain(const Choice& choice, std::span<const Candidate> candidates) {
  if (choice.refused.empty())
    return choice.chosen ? choice.reason : "there are no images";
  std::string out;
  for (const Refusal& refused : choice.refused) {
    const Candidate& candidate = candidates[refused.candidate];
    out += str(out.empty() ? "" : "; ", candidate.file, " ", candidate.image->arch.sm(),
               candidate.image->kind == Kind::ptx ? " (PTX)" : "", ": ", refused.reason);
  }
  return out;
}

std::optional<CudaVersion> build_cuda_version(std::string_view repo_path) {
  // build/<variant>/...: the variant's words are separated by '-', one is "cu" and digits.
  constexpr std::string_view prefix = "build/";
  if (!repo_path.starts_with(prefix))
    return std::nullopt;
  repo_path.remove_prefix(prefix.size());
  std::string_view variant = repo_path.substr(0, repo_path.find('/'));
  while (!variant.empty()) {
    const std::size_t end = std::min(variant.find('-'), variant.size());
    const std::string_view word = variant.substr(0, end);
    variant.remove_prefix(std::min(end + 1, variant.size()));
    if (word.size() != 5 && word.size() != 4)
      continue;
    const std::string_view digits = word.substr(2);
    const bool is_version = word.starts_with("cu") && std::ranges::all_of(digits, [](char c) {
                              return c >= '0' && c <= '9';
                            });
    if (!is_version)
      continue;
    int number = 0;
    for (const char c : digits)
      number = number * 10 + (c - '0');
    return CudaVersion{.major = number / 10, .minor = number % 10};
  }
  return std::nullopt;
}

}  // namespace lyk::image
