// List and Info: what is there.
#include <utility>

#include "daemon/handlers.hpp"
#include "daemon/wire_values.hpp"

namespace lyk::daemon {

Result<Answer> handle_list(Call& call) {
  LYK_TRY_ASSIGN(const wire::ListCall asked, wire::decode_parameters<wire::ListCall>(call.message));
  const std::shared_ptr<const Snapshot> snapshot = call.service.snapshot();
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  wire::ListReply reply;
  if (asked.slot) {
    call.error_fields.slot = asked.slot->text();
    LYK_TRY_ASSIGN(const fetcher::LoadedPin loaded, Service::find_pin(*snapshot, *asked.slot));
    for (const RepoType type : loaded.pin.repo_types) {
      LYK_TRY_ASSIGN(const std::optional<cache::StoredRevision> revision,
                     store->revision(origin_of(loaded.pin, type)));
      if (revision)
        reply.revisions.push_back(to_wire(*revision, snapshot->pins));
    }
  } else {
    LYK_TRY_ASSIGN(const std::vector<cache::StoredRevision> revisions, store->revisions());
    for (const cache::StoredRevision& revision : revisions)
      reply.revisions.push_back(to_wire(revision, snapshot->pins));
  }
  return Answer{wire::encode_reply(reply)};
}

Result<Answer> handle_info(Call& call) {
  LYK_TRY_ASSIGN(const wire::InfoCall asked, wire::decode_parameters<wire::InfoCall>(call.message));
  call.error_fields.slot = asked.slot.text();
  const std::shared_ptr<const Snapshot> snapshot = call.service.snapshot();
  LYK_TRY_ASSIGN(const fetcher::LoadedPin loaded, Service::find_pin(*snapshot, asked.slot));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  wire::InfoReply reply;
  reply.pin = to_wire(loaded);
  for (const RepoType type : loaded.pin.repo_types) {
    const cache::Origin origin = origin_of(loaded.pin, type);
    LYK_TRY_ASSIGN(const std::optional<cache::StoredRevision> revision, store->revision(origin));
    if (!revision)
      continue;
    reply.revision = to_wire(*revision, snapshot->pins);
    LYK_TRY_ASSIGN(const std::vector<cache::StoredFile> files, store->files(origin));
    LYK_TRY_ASSIGN(const std::vector<cache::StoredImage> images, store->images(origin));
    reply.files = to_wire(files, images);
    break;
  }
  return Answer{wire::encode_reply(reply)};
}

}  // namespace lyk::daemon
