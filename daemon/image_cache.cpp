#include "daemon/image_cache.hpp"

#include <utility>

#include "proto/check.hpp"
#include "proto/limits.hpp"

namespace lyk::daemon {

std::shared_ptr<const ResolvedImage> ImageCache::find(const ImageKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end())
    return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->resolved;
}

std::shared_ptr<const SealedImage> ImageCache::find_image(const Digest& sha256) const {
  const auto found = by_hash_.find(sha256);
  return found == by_hash_.end() ? nullptr : found->second.image;
}

void ImageCache::insert(const ImageKey& key,
                        std::shared_ptr<const ResolvedImage> resolved,
                        std::uint64_t generation) {
  LYK_CHECK(resolved && resolved->image);
  if (generation != generation_ || resolved->image->bytes > bytes_max_)
    return;
  if (const auto present = by_key_.find(key); present != by_key_.end())
    drop(present->second);
  const std::shared_ptr<const SealedImage> image = resolved->image;
  Shared& shared = by_hash_[image->sha256];
  if (shared.keys++ == 0) {
    shared.image = image;
    bytes_ += image->bytes;
  }
  entries_.push_front(Entry{key, std::move(resolved)});
  by_key_[key] = entries_.begin();
  shrink();
}

void ImageCache::clear() {
  ++generation_;
  by_key_.clear();
  by_hash_.clear();
  entries_.clear();
  bytes_ = 0;
}

void ImageCache::set_bytes_max(std::uint64_t bytes) {
  bytes_max_ = bytes;
  shrink();
}

void ImageCache::drop(Entries::iterator entry) {
  const auto shared = by_hash_.find(entry->resolved->image->sha256);
  LYK_CHECK(shared != by_hash_.end());
  if (--shared->second.keys == 0) {
    bytes_ -= shared->second.image->bytes;
    by_hash_.erase(shared);
  }
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void ImageCache::shrink() {
  while (!entries_.empty() &&
         (bytes_ > bytes_max_ || entries_.size() > limits::images_in_memory_max))
    drop(std::prev(entries_.end()));
}

}  // namespace lyk::daemon
