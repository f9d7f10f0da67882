// From a choice among stored images to an answer in memory: the image sealed, its reply written.
// Thread rule: any thread; a Wanted is an immutable value.
#pragma once

#include <cstdint>
#include <memory>

#include "cache/store.hpp"
#include "daemon/image_cache.hpp"
#include "daemon/service.hpp"
#include "daemon/stored_image.hpp"
#include "daemon/wire_values.hpp"
#include "fetcher/pin_set.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

// A pin of the call alone: its images are not what the next caller is to get.
enum class PinOrigin { in_force, of_the_call };

// What a Resolve wants, of which pin and store.
struct Wanted {
  ImageKey key;
  PinOrigin origin = PinOrigin::in_force;
  Kernels kernels = Kernels::left_out;
  std::uint64_t generation = 0;  // of the image cache, before anything else was read
  fetcher::LoadedPin pin;
  std::shared_ptr<cache::Store> store;
};

// Seals the chosen image, which there must be, and keeps it in memory if the choice is final. Empty
// if its file turned out to be damaged, and is in the quarantine now, or gone. corrupt_store: the
// file is good and the index is wrong about it.
Result<std::shared_ptr<const ResolvedImage>> prepare(Service& service,
                                                     const Wanted& wanted,
                                                     const StoredChoice& stored);

}  // namespace lyk::daemon
