#include "daemon/preparing.hpp"

#include <utility>
#include <vector>

#include "proto/message.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

// A damaged file is in the quarantine after this, and the next choice does not see it. An error if
// it is the index that is wrong.
Result<void> deal_with_damage(Service& service,
                              const Wanted& wanted,
                              const cache::StoredImage& stored,
                              const Error& damage) {
  LYK_TRY_ASSIGN(const cache::Verdict verdict,
                 wanted.store->verify(stored.file.sha256, cache::now()));
  if (verdict == cache::Verdict::good)
    return Error{Code::corrupt_store, str("image ", stored.image.sha256.hex(), ": ", damage.message,
                                          ", though its file is intact: the index is wrong; run "
                                          "`libreyolo-kernels rebuild-index`")};
  if (verdict == cache::Verdict::damaged) {
    ++service.tally.lock()->counters.quarantined_files;
    service.log().error(
        event::quarantine,
        {{"slot", wanted.key.slot},
         {"file", service.log().shown(stored.file.sha256)},
         {"error", damage.message},
         {"then", wanted.store->writable() ? "it is in the quarantine and is fetched again"
                                           : "the store is read only: mend it by hand"}});
  }
  return {};
}

bool is_damage(const Error& error) {
  return error.code == Code::digest_mismatch || error.code == Code::size_mismatch ||
         error.code == Code::no_image || error.code == Code::not_cached;
}

wire::ResolveReply reply_for(const Wanted& wanted, const StoredChoice& stored) {
  const cache::StoredImage& chosen = *stored.chosen();
  return {.slot = wanted.key.slot,
          .image = to_wire(chosen.image, wanted.kernels),
          .repo = stored.revision->origin.repo.text(),
          .repo_type = std::string{name(stored.revision->origin.type)},
          .commit = stored.revision->origin.commit.hex(),
          .proof = to_wire(stored.revision->kind),
          .file = chosen.path.text(),
          .pin = wanted.pin.source,
          .refused = wanted.kernels == Kernels::described ? refusals(stored)
                                                          : std::vector<wire::RefusedImage>{},
          .deterministic = to_wire(wanted.pin.pin.deterministic)};
}

}  // namespace

Result<std::shared_ptr<const ResolvedImage>> prepare(Service& service,
                                                     const Wanted& wanted,
                                                     const StoredChoice& stored) {
  const cache::StoredImage& chosen = *stored.chosen();
  std::shared_ptr<const SealedImage> image = service.images.lock()->find_image(chosen.image.sha256);
  if (!image) {
    auto sealed = seal_stored(*wanted.store, chosen);
    if (!sealed && is_damage(sealed.error())) {
      LYK_TRY(deal_with_damage(service, wanted, chosen, sealed.error()));
      return std::shared_ptr<const ResolvedImage>{};
    }
    if (!sealed)
      return std::move(sealed).error();
    image = std::move(sealed).value();
  }
  (void)wanted.store->record_use(chosen.file.sha256, cache::now());  // a hint for eviction, no more
  const wire::ResolveReply reply = reply_for(wanted, stored);
  const bool is_gated =
      stored.revision->visibility == cache::Visibility::gated && !wanted.pin.pin.is_public;
  auto resolved = std::make_shared<const ResolvedImage>(ResolvedImage{
      .image = std::move(image), .reply = wire::encode_reply(reply), .is_gated = is_gated});
  // What is not the final choice must not hide a better one that is still to come.
  if (stored.is_complete && wanted.kernels == Kernels::left_out &&
      wanted.origin == PinOrigin::in_force)
    service.images.lock()->insert(wanted.key, resolved, wanted.generation);
  return resolved;
}

}  // namespace lyk::daemon
