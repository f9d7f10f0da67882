// From the store to a sealed image: which of a pin's images a device gets, and its proven bytes in
// memory. Thread rule: functions of their arguments; a Store may be used by any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "daemon/image_cache.hpp"
#include "fetcher/pin.hpp"
#include "kernels/image/choose.hpp"
#include "proto/device.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

// What the store has for a pin and a device.
struct StoredChoice {
  // No fetch would bring more: the choice is final. Where something fits, that is what the hints of
  // the repo say of this device; where nothing does they are not believed, and it is every file.
  bool is_complete = false;
  // Absent: nothing of the revision is here.
  std::optional<cache::StoredRevision> revision;
  std::vector<cache::StoredImage> images;
  image::Choice choice;  // among `images`

  const cache::StoredImage* chosen() const {
    return choice.chosen ? &images[*choice.chosen] : nullptr;
  }
};

// no_image: the pin names no ABI, or one that this release does not know; not_found: no file of the
// revision can hold device code.
Result<StoredChoice> choose_stored(const cache::Store& store,
                                   const fetcher::Pin& pin,
                                   const Device& device);

// Each refused candidate, by file, architecture and kind, with its reason; and all of them in one
// line.
std::vector<wire::RefusedImage> refusals(const StoredChoice& stored);
std::string explain(const StoredChoice& stored);

// Reads, decompresses, seals and hashes the image. not_cached: its file is gone. digest_mismatch,
// size_mismatch: its file, or what the index says of it, is damaged; nothing was handed out.
Result<std::shared_ptr<const SealedImage>> seal_stored(const cache::Store& store,
                                                       const cache::StoredImage& stored);

}  // namespace lyk::daemon
