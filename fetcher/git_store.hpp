// The bare git object stores under the cache. libgit2 is used by git_store.cpp, git_batch.cpp and
// git_transport.cpp, and nowhere else.
//
// Objects are read through one door, `read`, which checks kind, size and id. New objects come into
// a Batch: a temporary store that sees the old objects and whose packs are moved into place only
// once they have proven a commit. So a fetch that fails, or a process that dies, leaves the store
// as it was.
// Thread rule: one thread at a time for each object; several processes may add to one store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fetcher/git_transport.hpp"
#include "proto/digest.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

enum class ObjectKind : std::uint8_t { commit, tree, blob };
std::string_view name(ObjectKind kind);

struct RemoteRef {
  std::string name;  // "refs/heads/v1"
  GitId id;          // of an annotated tag: of the tag object
  GitId commit;      // what it leads to
};

class GitStore {
public:
  // not_cached: there is none.
  static Result<GitStore> open(const std::filesystem::path& path);
  ~GitStore();
  GitStore(GitStore&&) noexcept;
  GitStore& operator=(GitStore&&) noexcept;
  GitStore(const GitStore&) = delete;
  GitStore& operator=(const GitStore&) = delete;

  // An object's content. not_cached: it is not here; refused: larger than `bytes_max`, or of
  // another kind; digest_mismatch: its content has another id; corrupt_store: it cannot be read.
  Result<std::string> read(const GitId& id, ObjectKind kind, std::uint64_t bytes_max) const;
  // Its size, without reading it. not_cached, refused: as above.
  Result<std::uint64_t> size(const GitId& id, ObjectKind kind) const;

private:
  friend class GitBatch;
  struct State;
  explicit GitStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// New objects for the store at a path, from one remote repo.
class GitBatch {
public:
  // What is done with the objects that are there: used, or not even looked at because they are
  // damaged and to be replaced.
  enum class Old : std::uint8_t { used, replaced };

  // `path` need not exist yet; its folder is made. The wire's HTTP client must outlive `refs` and
  // `fetch`.
  static Result<GitBatch> open(const std::filesystem::path& path, GitWire wire, Old old);
  ~GitBatch();
  GitBatch(GitBatch&&) noexcept;
  GitBatch& operator=(GitBatch&&) noexcept;
  GitBatch(const GitBatch&) = delete;
  GitBatch& operator=(const GitBatch&) = delete;

  // Asks for the refs; later calls give the same list.
  Result<std::vector<RemoteRef>> refs();

  // Fetches the objects of one commit: by its id where the server allows that or a ref leads to it,
  // else with all branches and tags, else with all pull requests. not_found: no ref reaches it.
  Result<void> fetch(const GitId& commit);

  // What is there: old and new objects.
  const GitStore& store() const;

  // Moves the new objects into place, or the whole new store if the old one is to be replaced, and
  // remembers that `commit` is complete.
  Result<void> keep(const GitId& commit);

private:
  struct State;
  explicit GitBatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// libgit2's global state, for init_libraries.
Result<void> init_git();

}  // namespace lyk::fetcher
