// Device images in memory: sealed memfds, each with the reply that announces it, so that a warm
// Resolve touches neither the disk nor SQLite and builds no JSON.
//
// Invariants
//   - What stands here was hashed after it was sealed, and was the image that the pins of its time
//     named: `clear` empties the cache and outdates every image that is still on its way in.
//   - At most `bytes_max` of images (one that several keys share counts once) and
//     limits::images_in_memory_max keys; the least recently used go first. A holder of a descriptor
//     keeps its pages whatever is evicted here.
//
// Thread rule: none of its own; the owner keeps it in a Guarded.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "proto/device.hpp"
#include "proto/digest.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

struct SealedImage {
  Digest sha256;
  std::uint64_t bytes = 0;
  UniqueFd fd;
};

// A complete answer to a Resolve.
struct ResolvedImage {
  std::shared_ptr<const SealedImage> image;
  std::string reply;      // the message, without its closing NUL
  bool is_gated = false;  // for our own user and root alone
};

struct ImageKey {
  std::string slot;
  Device device;
  auto operator<=>(const ImageKey&) const = default;
};

class ImageCache {
public:
  explicit ImageCache(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Null if it is not here. A hit becomes the most recently used.
  std::shared_ptr<const ResolvedImage> find(const ImageKey& key);
  // The image of this hash, if any key has it: its memfd is shared.
  std::shared_ptr<const SealedImage> find_image(const Digest& sha256) const;

  // Changes with every `clear`. Read before the work whose result is inserted.
  std::uint64_t generation() const { return generation_; }
  // Does nothing if the cache was cleared since `generation`, or if the image alone is too large.
  void insert(const ImageKey& key,
              std::shared_ptr<const ResolvedImage> resolved,
              std::uint64_t generation);

  void clear();
  void set_bytes_max(std::uint64_t bytes);

  std::uint64_t images() const { return by_hash_.size(); }
  std::uint64_t bytes() const { return bytes_; }

private:
  struct Entry {
    ImageKey key;
    std::shared_ptr<const ResolvedImage> resolved;
  };
  struct Shared {
    std::shared_ptr<const SealedImage> image;
    std::size_t keys = 0;
  };
  using Entries = std::list<Entry>;

  void drop(Entries::iterator entry);
  void shrink();

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t generation_ = 0;
  Entries entries_;  // most recently used first
  std::map<ImageKey, Entries::iterator> by_key_;
  std::map<Digest, Shared> by_hash_;
};

}  // namespace lyk::daemon
