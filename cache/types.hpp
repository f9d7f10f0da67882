// The words of the store: what is kept, under which names, and what proves it.
//
// Thread rule: values.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "kernels/image/image.hpp"
#include "proto/digest.hpp"
#include "proto/names.hpp"

namespace lyk::cache {

// Wall clock, whole seconds: an argument wherever it matters, so that tests own it.
using Time = std::chrono::sys_seconds;

inline Time now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// A revision of a repo. The commit proves itself, so the repo type is part of the name only.
struct Origin {
  RepoType type = RepoType::kernel;
  RepoId repo;
  GitId commit;
  auto operator<=>(const Origin&) const = default;
};

// A revision that a pin names, whatever repo type it is found under.
struct PinnedRevision {
  RepoId repo;
  GitId commit;
  auto operator<=>(const PinnedRevision&) const = default;
};

// A name of a file. Many names may lead to one blob.
struct FileName {
  Origin origin;
  RepoPath path;
  auto operator<=>(const FileName&) const = default;
};

// What proves a file: at least one of the two hashes; the size where the source of the proof names
// it (a git tree or an LFS pointer does, a bare [digests] pin does not). All that is present must
// hold. `git_blob` is the id of the content itself, of a plain file; the id of an LFS pointer
// proves nothing here, its sha256 and size do.
struct Proof {
  std::optional<Digest> sha256;
  std::optional<GitId> git_blob;
  std::optional<std::uint64_t> bytes;
  auto operator<=>(const Proof&) const = default;
};

// Where the proof came from: the git objects of the pinned commit, or the [digests] of the pin.
enum class ProofKind : std::uint8_t { git, digests };
std::string_view name(ProofKind kind);  // "git", "digests"

// Whether the Hub gives the repo to everyone. A revision of which any file needed more is `gated`.
enum class Visibility : std::uint8_t { open, gated };

// A name together with what proves its content: what comes through the store's door.
struct Entry {
  FileName name;
  Proof proof;
  ProofKind kind = ProofKind::git;
  Visibility visibility = Visibility::open;
};

// Proven content.
struct Blob {
  Digest sha256;
  std::uint64_t bytes = 0;
  auto operator<=>(const Blob&) const = default;
};

struct StoredFile {
  FileName name;
  Blob blob;
  ProofKind kind = ProofKind::git;
  Time added;
  Time used;
};

struct StoredImage {
  RepoPath path;              // of the file in its revision
  Blob file;                  // that holds the image
  std::uint32_t ordinal = 0;  // place of the image in `image::read_images(file)`
  image::Image image;
};

struct StoredRevision {
  Origin origin;
  ProofKind kind = ProofKind::git;  // `digests` if any of its files is proven by digests alone
  Visibility visibility = Visibility::open;
  std::uint64_t files = 0;
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
};

struct QuarantinedFile {
  Digest expected;
  std::optional<Digest> actual;  // absent: no file, or the disk did not give it back
  std::uint64_t bytes = 0;
  Time since;
  std::filesystem::path path;
};

struct Stats {
  std::uint64_t bytes = 0;  // content of all blobs, each counted once
  std::uint64_t blobs = 0;
  std::uint64_t files = 0;  // names
  std::uint64_t images = 0;
  std::uint64_t quarantined = 0;
};

struct Removed {
  std::uint64_t files = 0;  // names
  std::uint64_t bytes = 0;  // content that is no longer there
};

}  // namespace lyk::cache
