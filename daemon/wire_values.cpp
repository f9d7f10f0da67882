#include "daemon/wire_values.hpp"

#include <map>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

wire::ImageKind to_wire(image::Kind kind) {
  switch (kind) {
    case image::Kind::cubin:
      return wire::ImageKind::cubin;
    case image::Kind::ptx:
      return wire::ImageKind::ptx;
  }
  LYK_CHECK(false);
}

wire::Kernel to_wire(const image::Kernel& kernel) {
  wire::Kernel out{.symbol = kernel.symbol, .name = kernel.name, .parameters = {}};
  out.parameters.reserve(kernel.parameters.size());
  for (const image::Parameter& parameter : kernel.parameters)
    out.parameters.push_back({.offset = parameter.offset, .size = parameter.size});
  return out;
}

}  // namespace

wire::Image to_wire(const image::Image& image, Kernels kernels) {
  wire::Image out{.container = std::string{image::name(image.container)},
                  .kind = to_wire(image.kind),
                  .arch = image.arch.sm(),
                  .compression = std::string{image::name(image.compression)},
                  .bytes = image.bytes,
                  .sha256 = image.sha256,
                  .kernels = {}};
  if (kernels == Kernels::described)
    for (const image::Kernel& kernel : image.kernels)
      out.kernels.push_back(to_wire(kernel));
  return out;
}

std::vector<std::string> to_wire(const std::vector<fetcher::Pass>& passes) {
  std::vector<std::string> out;
  out.reserve(passes.size());
  for (const fetcher::Pass pass : passes)
    out.emplace_back(fetcher::name(pass));
  return out;
}

wire::Pin to_wire(const fetcher::LoadedPin& loaded) {
  const fetcher::Pin& pin = loaded.pin;
  wire::Pin out;
  out.slot = pin.slot.text();
  out.repo = pin.repo.text();
  for (const RepoType type : pin.repo_types)
    out.repo_types.emplace_back(name(type));
  out.revision = pin.revision.hex();
  if (!pin.license.empty())
    out.license = pin.license;
  out.abi = pin.abi;
  out.deterministic = to_wire(pin.deterministic);
  out.is_public = pin.is_public;
  out.variants = pin.variants;
  out.digests = pin.digests.size();
  out.source = loaded.source;
  for (const fetcher::ParityRecord& record : pin.parity)
    out.parity.push_back({.image = record.image,
                          .arch = record.arch,
                          .driver = record.driver,
                          .gpu = record.gpu,
                          .set = record.set,
                          .greatest_error = shortest(record.greatest_error)});
  return out;
}

wire::ProofKind to_wire(cache::ProofKind kind) {
  switch (kind) {
    case cache::ProofKind::git:
      return wire::ProofKind::git;
    case cache::ProofKind::digests:
      return wire::ProofKind::digests;
  }
  LYK_CHECK(false);
}

wire::FetchStep to_wire(fetcher::Step step) {
  switch (step) {
    case fetcher::Step::proving:
      return wire::FetchStep::proving;
    case fetcher::Step::downloading:
      return wire::FetchStep::downloading;
    case fetcher::Step::adopting:
      return wire::FetchStep::adopting;
    case fetcher::Step::waiting:
      return wire::FetchStep::waiting;
  }
  LYK_CHECK(false);
}

wire::FetchProgress to_wire(const std::string& slot, const fetcher::Progress& progress) {
  wire::FetchProgress out{.slot = slot,
                          .step = to_wire(progress.step),
                          .file = std::nullopt,
                          .bytes_done = progress.bytes_done,
                          .bytes_total = progress.bytes_total,
                          .files_done = progress.files_done,
                          .files_total = progress.files_total};
  if (!progress.file.empty())
    out.file = progress.file;
  return out;
}

wire::Revision to_wire(const cache::StoredRevision& revision, const fetcher::PinSet& pins) {
  wire::Revision out{.slot = std::nullopt,
                     .repo = revision.origin.repo.text(),
                     .repo_type = std::string{name(revision.origin.type)},
                     .commit = revision.origin.commit.hex(),
                     .proof = to_wire(revision.kind),
                     .gated = revision.visibility == cache::Visibility::gated,
                     .files = revision.files,
                     .images = revision.images,
                     .bytes = revision.bytes};
  for (const auto& [slot, loaded] : pins.pins)
    if (loaded.pin.repo == revision.origin.repo && loaded.pin.revision == revision.origin.commit) {
      out.slot = slot.text();
      break;
    }
  return out;
}

std::vector<wire::RefusedPin> to_wire(const std::vector<fetcher::RefusedPin>& refused) {
  std::vector<wire::RefusedPin> out;
  out.reserve(refused.size());
  for (const fetcher::RefusedPin& each : refused)
    out.push_back({.source = each.source, .reason = each.error.message});
  return out;
}

wire::VerifyProgress to_wire(const cache::VerifyProgress& progress) {
  return {.files_done = progress.files_done,
          .files_total = progress.files_total,
          .bytes_done = progress.bytes_done,
          .bytes_total = progress.bytes_total};
}

std::vector<wire::File> to_wire(const std::vector<cache::StoredFile>& files,
                                const std::vector<cache::StoredImage>& images) {
  std::map<RepoPath, std::vector<wire::Image>> images_of;
  for (const cache::StoredImage& stored : images)
    images_of[stored.path].push_back(to_wire(stored.image, Kernels::described));
  std::vector<wire::File> out;
  out.reserve(files.size());
  for (const cache::StoredFile& file : files) {
    wire::File row{.path = file.name.path.text(),
                   .bytes = file.blob.bytes,
                   .sha256 = file.blob.sha256,
                   .images = {}};
    if (auto found = images_of.find(file.name.path); found != images_of.end())
      row.images = std::move(found->second);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace lyk::daemon
