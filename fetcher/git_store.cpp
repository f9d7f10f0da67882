#include "fetcher/git_store.hpp"

#include <cstring>

#include "fetcher/git_handles.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

namespace fs = std::filesystem;

git_object_t type_of(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::commit:
      return GIT_OBJECT_COMMIT;
    case ObjectKind::tree:
      return GIT_OBJECT_TREE;
    case ObjectKind::blob:
      return GIT_OBJECT_BLOB;
  }
  LYK_CHECK(false);
}

}  // namespace

Error git_error(std::string_view what) {
  const ::git_error* last = git_error_last();  // thread-local; NULL if none was set
  std::string words;
  if (last != nullptr && last->message != nullptr)
    for (const char* at = last->message; *at != '\0' && words.size() < 240; ++at)
      words += *at >= 0x20 && *at < 0x7f ? *at : ' ';
  const int klass = last == nullptr ? GIT_ERROR_NONE : last->klass;
  const Code code =
      klass == GIT_ERROR_OS ? Code::io
      // The network itself is ours: what libgit2 calls so is an answer it cannot read.
      : klass == GIT_ERROR_NET ? Code::protocol
      // PackGuard has seen the structure; what is left are checksums.
      : klass == GIT_ERROR_INDEXER ? Code::digest_mismatch
                                   : Code::corrupt_store;
  return Error{code, str("git: ", what, ": ", words.empty() ? "unknown error" : words)};
}

git_oid oid_of(const GitId& id) {
  git_oid oid{};
  static_assert(sizeof oid.id == sizeof id.bytes);
  std::memcpy(oid.id, id.bytes.data(), id.bytes.size());
  return oid;
}

GitId id_of(const git_oid& oid) {
  GitId id;
  std::memcpy(id.bytes.data(), oid.id, id.bytes.size());
  return id;
}

std::string_view name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::commit:
      return "commit";
    case ObjectKind::tree:
      return "tree";
    case ObjectKind::blob:
      return "blob";
  }
  LYK_CHECK(false);
}

Result<void> init_git() {
  if (git_libgit2_init() < 0)
    return git_error("start");
  // No user's or system's git configuration may reach us: url.insteadOf, credentials, proxies.
  for (const int level : {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
                          GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL})
    if (git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "") < 0)
      return git_error("cut off the git configuration");
  if (git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1) < 0 ||
      git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS, limits::git_objects_max) < 0)
    return git_error("set limits");
  return {};
}

GitStore::GitStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
GitStore::~GitStore() = default;
GitStore::GitStore(GitStore&&) noexcept = default;
GitStore& GitStore::operator=(GitStore&&) noexcept = default;

Result<GitStore> GitStore::open(const fs::path& path) {
  auto state = std::make_unique<State>();
  git_repository* repository = nullptr;
  const int opened = git_repository_open_bare(&repository, path.c_str());
  if (opened == GIT_ENOTFOUND)
    return Error{Code::not_cached, str("no git objects at ", quoted(path.string()))};
  if (opened < 0)
    return git_error(str("open ", quoted(path.string())));
  state->repository.reset(repository);
  git_odb* database = nullptr;
  if (git_repository_odb(&database, repository) < 0)
    return git_error(str("open the objects of ", quoted(path.string())));
  state->database.reset(database);
  return GitStore{std::move(state)};
}

Result<std::uint64_t> GitStore::size(const GitId& id, ObjectKind kind) const {
  const git_oid oid = oid_of(id);
  const std::string noun = str(name(kind), " ", id.hex());
  std::size_t bytes = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  const int found = git_odb_read_header(&bytes, &type, state_->database.get(), &oid);
  if (found == GIT_ENOTFOUND)
    return Error{Code::not_cached, str("git ", noun, " is not there")};
  if (found < 0)
    return git_error(noun);
  if (type != type_of(kind))
    return Error{Code::refused,
                 str("git ", noun, " is of another kind: ", git_object_type2string(type))};
  return bytes;
}

Result<std::string> GitStore::read(const GitId& id,
                                   ObjectKind kind,
                                   std::uint64_t bytes_max) const {
  LYK_TRY_ASSIGN(const std::uint64_t bytes, size(id, kind));
  const std::string noun = str(name(kind), " ", id.hex());
  if (bytes > bytes_max)
    return Error{Code::refused, str("git ", noun, " has ", bytes, " bytes, more than ", bytes_max)};
  const git_oid oid = oid_of(id);
  git_odb_object* raw = nullptr;
  const int found = git_odb_read(&raw, state_->database.get(), &oid);
  const GitObject object{raw};
  if (found == GIT_EMISMATCH)
    return Error{Code::digest_mismatch, str("git ", noun, " has content of another id")};
  if (found < 0)
    return git_error(noun);
  const auto* data = static_cast<const char*>(git_odb_object_data(raw));
  std::string content{data, git_odb_object_size(raw)};
  git_oid actual{};
  if (git_odb_hash(&actual, content.data(), content.size(), git_odb_object_type(raw)) < 0)
    return git_error(noun);
  if (git_oid_equal(&actual, &oid) == 0 || git_odb_object_type(raw) != type_of(kind))
    return Error{Code::digest_mismatch,
                 str("git ", noun, " has content of id ", id_of(actual).hex())};
  return content;
}

}  // namespace lyk::fetcher
