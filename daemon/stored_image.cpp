#include "daemon/stored_image.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <span>
#include <utility>

#include "daemon/sealed.hpp"
#include "daemon/service.hpp"
#include "fetcher/prove.hpp"
#include "fetcher/wanted.hpp"
#include "proto/launch_abi.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

Result<const LaunchAbi*> abi_of(const fetcher::Pin& pin) {
  if (!pin.abi)
    return Error{Code::no_image,
                 str("slot ", quoted(pin.slot.text()),
                     ": its pin names no abi, so it is for files only and nothing of it ",
                     "is handed out as an image")};
  const LaunchAbi* abi = find_launch_abi(*pin.abi);
  if (abi == nullptr)
    return Error{Code::no_image, str("slot ", quoted(pin.slot.text()),
                                     ": this release knows no abi ", quoted(*pin.abi))};
  return abi;
}

bool is_here(const cache::Store& store, const fetcher::Pin& pin, const fetcher::ListedFile& file) {
  for (const RepoType type : pin.repo_types) {
    const auto blob = store.find({origin_of(pin, type), file.path}, &file.proof);
    if (blob && *blob)
      return true;
  }
  return false;
}

// Whether a fetch for these devices, or for every one if there are none, would find everything
// here.
Result<bool> has_all(const cache::Store& store,
                     const fetcher::Pin& pin,
                     const fetcher::Listing& listing,
                     std::span<const Device> devices) {
  LYK_TRY_ASSIGN(const std::vector<fetcher::ListedFile> wanted,
                 fetcher::choose_wanted(listing, pin, devices));
  for (const fetcher::ListedFile& file : wanted)
    if (!is_here(store, pin, file))
      return false;
  return true;
}

// Whether the pin itself proves the file.
Result<bool> is_of(const cache::Store& store,
                   const cache::Origin& origin,
                   const fetcher::Listing& listing,
                   const RepoPath& path) {
  const auto listed =
      std::find_if(listing.files.begin(), listing.files.end(),
                   [&](const fetcher::ListedFile& file) { return file.path == path; });
  if (listed == listing.files.end())
    return false;
  LYK_TRY_ASSIGN(const auto blob, store.find({origin, path}, &listed->proof));
  return blob.has_value();
}

// The images of the revision that the pin itself proves: another pin of it may have brought more.
Result<std::vector<cache::StoredImage>> images_of(const cache::Store& store,
                                                  const cache::Origin& origin,
                                                  const fetcher::Listing& listing) {
  LYK_TRY_ASSIGN(std::vector<cache::StoredImage> all, store.images(origin));
  std::vector<cache::StoredImage> own;
  std::map<RepoPath, bool> known;  // a file may hold many images
  for (cache::StoredImage& image : all) {
    auto at = known.find(image.path);
    if (at == known.end()) {
      LYK_TRY_ASSIGN(const bool is_own, is_of(store, origin, listing, image.path));
      at = known.emplace(image.path, is_own).first;
    }
    if (at->second)
      own.push_back(std::move(image));
  }
  return own;
}

std::vector<image::Candidate> candidates_of(const std::vector<cache::StoredImage>& images) {
  std::vector<image::Candidate> candidates;
  candidates.reserve(images.size());
  for (const cache::StoredImage& stored : images)
    candidates.push_back({.image = &stored.image,
                          .file = stored.path.text(),
                          .file_bytes = stored.file.bytes,
                          .build = image::build_cuda_version(stored.path.text())});
  return candidates;
}

Result<std::vector<std::byte>> read_piece(int fd, const image::Location& location) {
  std::vector<std::byte> bytes(location.stored_bytes);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(location.offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return os_error(errno, "read a stored file");
    if (count == 0)
      return Error{Code::size_mismatch, "the stored file ends within the image"};
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace

Result<StoredChoice> choose_stored(const cache::Store& store,
                                   const fetcher::Pin& pin,
                                   const Device& device) {
  LYK_TRY_ASSIGN(const LaunchAbi* abi, abi_of(pin));
  StoredChoice stored;
  const auto listing = fetcher::prove_offline(store, pin);
  if (listing) {  // a proof that cannot be read here is none
    LYK_TRY_ASSIGN(stored.is_complete, has_all(store, pin, *listing, std::span{&device, 1}));
  }
  for (const RepoType type : pin.repo_types) {
    const cache::Origin origin = origin_of(pin, type);
    LYK_TRY_ASSIGN(stored.revision, store.revision(origin));
    // Where the pin's own proof is not here, another pin's digests prove nothing to it.
    if (!listing && stored.revision && stored.revision->kind == cache::ProofKind::digests)
      continue;
    LYK_TRY_ASSIGN(stored.images,
                   listing ? images_of(store, origin, *listing) : store.images(origin));
    if (!stored.images.empty())
      break;
  }
  if (stored.images.empty())
    stored.revision.reset();
  stored.choice = image::choose(candidates_of(stored.images), device, abi);
  if (stored.is_complete && stored.chosen() == nullptr) {
    LYK_TRY_ASSIGN(stored.is_complete, has_all(store, pin, *listing, {}));
  }
  return stored;
}

std::vector<wire::RefusedImage> refusals(const StoredChoice& stored) {
  std::vector<wire::RefusedImage> refused;
  refused.reserve(stored.choice.refused.size());
  for (const image::Refusal& refusal : stored.choice.refused) {
    const cache::StoredImage& candidate = stored.images[refusal.candidate];
    refused.push_back({.image = str(candidate.path.text(), " ", candidate.image.arch.sm(), " ",
                                    image::name(candidate.image.kind)),
                       .reason = refusal.reason});
  }
  return refused;
}

std::string explain(const StoredChoice& stored) {
  return image::explain(stored.choice, candidates_of(stored.images));
}

Result<std::shared_ptr<const SealedImage>> seal_stored(const cache::Store& store,
                                                       const cache::StoredImage& stored) {
  image::Image image = stored.image;
  if (image.location.stored_bytes > stored.file.bytes || image.bytes > limits::image_bytes_max)
    return Error{Code::size_mismatch,
                 str("image ", image.sha256.hex(), ": larger than its file, or than may be")};
  LYK_TRY_ASSIGN(const UniqueFd blob, store.open_blob(stored.file.sha256));
  LYK_TRY_ASSIGN(const std::vector<std::byte> piece, read_piece(blob.get(), image.location));
  image.location.offset = 0;  // of the piece
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, image::extract(piece, image));
  const ClosingNul closing = image.kind == image::Kind::ptx ? ClosingNul::yes : ClosingNul::no;
  LYK_TRY_ASSIGN(
      UniqueFd fd,
      seal_memory(str("libreyolo-kernels:", image.sha256.hex().substr(0, 12)), bytes, closing));
  // What counts is what stands in the memfd, now that nobody can change it.
  LYK_TRY_ASSIGN(const Digest actual, hash_sealed(fd.get(), image.bytes));
  if (actual != image.sha256)
    return Error{Code::digest_mismatch,
                 str("image ", image.sha256.hex(), ": the sealed memory holds ", actual.hex())};
  return std::make_shared<const SealedImage>(
      SealedImage{.sha256 = actual, .bytes = image.bytes, .fd = std::move(fd)});
}

}  // namespace lyk::daemon
