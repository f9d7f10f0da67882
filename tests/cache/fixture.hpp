// What the tests of the store share: a store in a fresh folder, entries made of content, and the
// question that matters after every one of them: is the store still clean.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cache/store.hpp"
#include "proto/hash.hpp"
#include "proto/text.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::cache::test {

inline constexpr Time day_one{std::chrono::seconds{1'700'000'000}};
inline constexpr std::chrono::hours one_day{24};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

inline Digest digest_of(std::string_view content) {
  return sha256(bytes_of(content));
}

// PTX is a device image that a test can write down.
inline std::string ptx(std::string_view kernel, std::string_view arch = "sm_80") {
  return str(".version 7.8\n.target ", arch, "\n.address_size 64\n.visible .entry ", kernel,
             "(.param .u64 a, .param .u32 b)\n{\nret;\n}\n");
}

inline GitId commit_id(unsigned number) {
  GitId id;
  id.bytes[0] = static_cast<std::uint8_t>(number >> 8U);
  id.bytes[1] = static_cast<std::uint8_t>(number);
  return id;
}

inline RepoId repo(std::string_view text) {
  return RepoId::parse(text).value();
}
inline RepoPath path(std::string_view text) {
  return RepoPath::parse(text).value();
}

inline Origin origin(unsigned commit = 1, std::string_view of = "kernels/relu") {
  return {RepoType::kernel, repo(of), commit_id(commit)};
}

inline FileName file_name(std::string_view at, unsigned commit = 1) {
  return {origin(commit), path(at)};
}

// As an LFS pointer proves a file.
inline Entry entry(std::string_view at, std::string_view content, unsigned commit = 1) {
  return {
      .name = file_name(at, commit),
      .proof = {.sha256 = digest_of(content), .git_blob = std::nullopt, .bytes = content.size()},
      .kind = ProofKind::git,
      .visibility = Visibility::open};
}

// As a git tree proves a plain file.
inline Entry plain_entry(std::string_view at, std::string_view content, unsigned commit = 1) {
  Entry out = entry(at, content, commit);
  out.proof = {
      .sha256 = std::nullopt, .git_blob = git_blob_id(bytes_of(content)), .bytes = content.size()};
  return out;
}

inline Options options(const std::filesystem::path& root) {
  return {.root = root,
          .bytes_max = 1'000'000,
          .access = Options::Access::read_write,
          .root_mode = 0700,
          .disk = std::nullopt};
}

inline Store open_store(const Options& with) {
  auto store = Store::open(with);
  if (!store)
    ADD_FAILURE() << store.error().message;
  return std::move(store).value();
}

// Stages and commits `content`, whatever the entry says about it.
inline Result<Blob> put(Store& store,
                        const Entry& entry,
                        std::string_view content,
                        Time now = day_one) {
  LYK_TRY_ASSIGN(Staging staging, store.stage(StageSize::exactly(content.size())));
  LYK_TRY(staging.write(bytes_of(content)));
  return store.commit(std::move(staging), entry, now);
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out{path, std::ios::binary};
  out << content;
}

inline std::filesystem::path blob_path(const std::filesystem::path& root, const Digest& sha256) {
  return root / "blobs" / "sha256" / sha256.hex().substr(0, 2) / sha256.hex();
}

// Changes one byte of a stored file, as a failing disk does.
inline void flip_byte(const std::filesystem::path& path) {
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::string content = read_file(path);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  std::ofstream{path, std::ios::binary | std::ios::in} << content;
}

// Everything of an index but its first page, so that it opens and cannot be read.
inline void damage_index(const std::filesystem::path& file) {
  constexpr std::size_t page_bytes = 4096;
  std::string content = read_file(file);
  ASSERT_GT(content.size(), page_bytes);
  std::fill(content.begin() + page_bytes, content.end(), 'x');
  write_file(file, content);
}

inline std::size_t files_below(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder))
    count += item.is_regular_file() ? 1U : 0U;
  return count;
}

// Every file in blobs/ has the hash of its name, every name leads to such a file or to none, and
// the index is sound.
inline void expect_clean(Store& store) {
  std::set<Digest> stored;
  for (const auto& item :
       std::filesystem::recursive_directory_iterator(store.root() / "blobs" / "sha256"))
    if (item.is_regular_file()) {
      EXPECT_EQ(digest_of(read_file(item.path())).hex(), item.path().filename().string());
      stored.insert(Digest::parse(item.path().filename().string()).value());
    }
  const auto revisions = store.revisions();
  ASSERT_TRUE(revisions) << revisions.error().message;
  for (const StoredRevision& revision : *revisions) {
    const auto files = store.files(revision.origin);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->size(), revision.files);
    for (const StoredFile& file : *files) {
      const auto found = store.find(file.name);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(found->has_value(), stored.contains(file.blob.sha256));
    }
    EXPECT_TRUE(store.images(revision.origin));
  }
  const auto report = store.verify_all({}, {}, day_one);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->damaged.empty());
}

}  // namespace lyk::cache::test
