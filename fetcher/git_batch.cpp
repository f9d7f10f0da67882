#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>

#include "fetcher/git_handles.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

namespace fs = std::filesystem;

// Under these names commits are kept that are complete here, so that a later fetch need not bring
// them again.
constexpr std::string_view kept_refs = "refs/lyk/";

Error filesystem_error(const std::error_code& error, std::string_view what) {
  return os_error(error.value(), what);
}

// A file, or with O_DIRECTORY a folder, reaches the disk.
Result<void> sync_path(const fs::path& path, int flags) {
  const UniqueFd fd{::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC)};
  if (!fd)
    return os_error(errno, str("open ", quoted(path.string())));
  if (::fsync(fd.get()) != 0)
    return os_error(errno, str("fsync ", quoted(path.string())));
  return {};
}

// Takes away what batches of processes that died have left beside the store.
void sweep(const fs::path& path) {
  const std::string prefix = str(".", path.filename().string(), ".");
  const auto newest = fs::file_time_type::clock::now() - limits::orphan_age;
  std::error_code ignored;  // a rest that cannot be removed is in nobody's way
  fs::directory_iterator at{path.parent_path(), ignored};
  for (; !ignored && at != fs::directory_iterator{}; at.increment(ignored)) {
    std::error_code unknown;
    if (at->path().filename().string().starts_with(prefix) &&
        at->last_write_time(unknown) < newest && !unknown)
      fs::remove_all(at->path(), unknown);
  }
}

}  // namespace

struct GitBatch::State {
  explicit State(GitWire remote_wire) : wire(std::move(remote_wire)) {}
  ~State() {
    remote.reset();
    objects.reset();
    std::error_code ignored;  // what cannot be removed is swept later, by its age
    fs::remove_all(folder, ignored);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  git_repository* repository() const { return objects->state_->repository.get(); }
  Result<void> make_folder();
  Result<void> see_old_objects();
  Result<void> connect();
  Result<void> download(const std::vector<std::string>& refspecs);
  bool holds(const GitId& id) const;
  Error failed(std::string_view what);

  GitWire wire;
  Old old = Old::used;
  fs::path path;    // of the store
  fs::path folder;  // of the temporary one
  std::optional<GitStore> objects;
  GitRemote remote;
  std::vector<RemoteRef> remote_refs;
  bool connected = false;
};

GitBatch::GitBatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
GitBatch::~GitBatch() = default;
GitBatch::GitBatch(GitBatch&&) noexcept = default;
GitBatch& GitBatch::operator=(GitBatch&&) noexcept = default;

// What went wrong in a call that may have asked the network: our own error first.
Error GitBatch::State::failed(std::string_view what) {
  if (wire.error) {
    Error error = std::move(*wire.error);
    wire.error.reset();
    return error;
  }
  return git_error(what);
}

// A bare store beside the real one, on the same file system.
Result<void> GitBatch::State::make_folder() {
  std::error_code error;
  const fs::path parent = path.parent_path();
  fs::create_directories(parent, error);
  if (error)
    return filesystem_error(error, str("create folder ", quoted(parent.string())));
  sweep(path);
  std::string pattern = (parent / str(".", path.filename().string(), ".XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return os_error(errno, str("create folder ", quoted(pattern)));
  folder = pattern;
  git_repository_init_options options{};
  // These initialisers fail only for a version that the library does not know.
  (void)git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
  options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT;
  git_repository* made = nullptr;
  if (git_repository_init_ext(&made, folder.c_str(), &options) < 0)
    return git_error(str("create ", quoted(folder.string())));
  git_repository_free(made);  // opened anew below, once it sees the old objects
  return {};
}

namespace {

// Gives `to` every kept ref of `from`.
Result<void> copy_kept_refs(git_repository* from, git_repository* to) {
  git_strarray names{};
  if (git_reference_list(&names, from) < 0)
    return git_error("list refs");
  Result<void> result;
  for (std::size_t i = 0; i < names.count && result; ++i) {
    const std::string_view name{names.strings[i]};
    git_oid oid{};
    git_reference* made = nullptr;
    if (!name.starts_with(kept_refs) || git_reference_name_to_id(&oid, from, names.strings[i]) < 0)
      continue;  // a ref that leads nowhere saves nothing
    if (git_reference_create(&made, to, names.strings[i], &oid, 1, nullptr) < 0)
      result = git_error(str("create ref ", name));
    const GitReference owned{made};
  }
  git_strarray_dispose(&names);
  return result;
}

}  // namespace

Result<void> GitBatch::State::see_old_objects() {
  auto store = old == Old::used ? GitStore::open(path)
                                : Result<GitStore>{Error{Code::not_cached, "not looked at"}};
  if (!store && store.error().code != Code::not_cached)
    return std::move(store).error();
  if (store) {
    std::ofstream alternates{folder / "objects" / "info" / "alternates"};
    alternates << (fs::absolute(path) / "objects").string() << '\n';
    alternates.close();
    if (!alternates)
      return Error{Code::io, str("write ", quoted((folder / "objects/info/alternates").string()))};
  }
  LYK_TRY_ASSIGN(objects, GitStore::open(folder));
  return store ? copy_kept_refs(store->state_->repository.get(), repository()) : Result<void>{};
}

Result<GitBatch> GitBatch::open(const fs::path& path, GitWire wire, Old old) {
  auto state = std::make_unique<State>(std::move(wire));
  state->old = old;
  state->path = path;
  LYK_TRY(state->make_folder());
  LYK_TRY(state->see_old_objects());
  state->wire.folder = state->folder;
  return GitBatch{std::move(state)};
}

const GitStore& GitBatch::store() const {
  return *state_->objects;
}

bool GitBatch::State::holds(const GitId& id) const {
  const git_oid oid = oid_of(id);
  return git_odb_exists(objects->state_->database.get(), &oid) == 1;
}

Result<void> GitBatch::State::connect() {
  if (connected)
    return {};
  // No rewriting of URLs by anybody's configuration. libgit2 1.5 also leaks at every pattern of the
  // configuration that does not match, which a daemon cannot afford.
  git_remote_create_options how{};
  (void)git_remote_create_options_init(&how, GIT_REMOTE_CREATE_OPTIONS_VERSION);
  how.repository = repository();
  how.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF | GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
  git_remote* made = nullptr;
  if (git_remote_create_with_opts(&made, wire.repo.text().c_str(), &how) < 0)
    return git_error("create remote");
  remote.reset(made);
  git_remote_connect_options options{};
  (void)git_remote_connect_options_init(&options, GIT_REMOTE_CONNECT_OPTIONS_VERSION);
  options.callbacks.transport = make_git_transport;
  options.callbacks.payload = &wire;
  if (git_remote_connect_ext(made, GIT_DIRECTION_FETCH, &options) < 0)
    return failed(str("connect to ", wire.repo.redacted()));
  const git_remote_head** heads = nullptr;
  std::size_t count = 0;
  if (git_remote_ls(&heads, &count, made) < 0)
    return failed("list refs");
  for (const git_remote_head* head : std::span{heads, count}) {
    const std::string_view ref_name{head->name};
    // A tag object is followed by what it leads to, named `refs/tags/x^{}`.
    if (ref_name.ends_with("^{}") && !remote_refs.empty()) {
      remote_refs.back().commit = id_of(head->oid);
      continue;
    }
    remote_refs.push_back({std::string{ref_name}, id_of(head->oid), id_of(head->oid)});
  }
  connected = true;
  return {};
}

Result<std::vector<RemoteRef>> GitBatch::refs() {
  LYK_TRY(state_->connect());
  return state_->remote_refs;
}

Result<void> GitBatch::State::download(const std::vector<std::string>& refspecs) {
  std::vector<char*> pointers;
  for (const std::string& refspec : refspecs)
    pointers.push_back(const_cast<char*>(refspec.c_str()));  // NOLINT: libgit2 only reads it
  const git_strarray specs{pointers.data(), pointers.size()};
  git_fetch_options options{};
  (void)git_fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION);
  options.callbacks.transport = make_git_transport;
  options.callbacks.payload = &wire;
  options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
  options.update_fetchhead = 0;
  if (git_remote_download(remote.get(), &specs, &options) < 0)
    return failed("fetch objects");
  return {};
}

Result<void> GitBatch::fetch(const GitId& commit) {
  State& state = *state_;
  LYK_TRY(state.connect());
  const std::string id = commit.hex();
  const auto can = [&](std::string_view capability) {
    const auto& all = state.wire.capabilities;
    return std::find(all.begin(), all.end(), capability) != all.end();
  };
  const auto tip = std::find_if(state.remote_refs.begin(), state.remote_refs.end(),
                                [&](const RemoteRef& ref) { return ref.commit == commit; });
  const bool is_tip = tip != state.remote_refs.end() && tip->name != "HEAD";
  std::vector<std::vector<std::string>> rounds;
  if (is_tip)
    rounds.push_back({tip->name});
  else if (can("allow-reachable-sha1-in-want") || can("allow-any-sha1-in-want"))
    rounds.push_back({id});
  const std::size_t exact_rounds = rounds.size();
  rounds.push_back({"refs/heads/*:refs/remotes/all/*", "refs/tags/*:refs/tags/*"});
  rounds.push_back({"refs/pr/*:refs/remotes/pr/*"});
  std::string refusal;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    auto downloaded = state.download(rounds[i]);
    // not_found: "not our ref", an answer to asking for an id that only the refs can overrule.
    if (!downloaded && downloaded.error().code != Code::not_found)
      return std::move(downloaded).error();
    if (!downloaded)
      refusal = str("; ", downloaded.error().message);
    else if (state.holds(commit))
      return {};
    else if (i < exact_rounds)
      return Error{Code::digest_mismatch,
                   str(state.wire.repo.redacted(), ": the server's pack does not hold commit ", id,
                       ", which it was asked for")};
  }
  return Error{Code::not_found,
               str("commit ", id, " is not reachable from any branch, tag or pull request of ",
                   state.wire.repo.redacted(), refusal)};
}

namespace {

// The index last: a pack without its index is not seen, so no reader meets half of a pair.
Result<void> move_packs(const fs::path& from, const fs::path& to) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator at{from, error};
  for (; !error && at != fs::directory_iterator{}; at.increment(error))
    if (at->path().extension() == ".pack" || at->path().extension() == ".idx")
      files.push_back(at->path());
  if (error)
    return filesystem_error(error, str("read folder ", quoted(from.string())));
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return a.extension() == ".pack" && b.extension() != ".pack";
  });
  for (const fs::path& file : files) {
    LYK_TRY(sync_path(file, 0));
    fs::rename(file, to / file.filename(), error);
    if (error)
      return filesystem_error(error, str("rename ", quoted(file.string())));
  }
  return sync_path(to, O_DIRECTORY);
}

Result<void> mark_kept(git_repository* repository, const GitId& commit) {
  const git_oid oid = oid_of(commit);
  const std::string ref = str(kept_refs, commit.hex());
  git_reference* made = nullptr;
  if (git_reference_create(&made, repository, ref.c_str(), &oid, 1, nullptr) < 0)
    return git_error(str("create ref ", ref));
  const GitReference owned{made};
  return {};
}

}  // namespace

Result<void> GitBatch::keep(const GitId& commit) {
  State& state = *state_;
  const fs::path packs = state.folder / "objects" / "pack";
  const fs::path old_packs = state.path / "objects" / "pack";
  auto old_store = state.old == Old::used
                       ? GitStore::open(state.path)
                       : Result<GitStore>{Error{Code::not_cached, "to be replaced"}};
  if (old_store) {
    LYK_TRY(move_packs(packs, old_packs));
    return mark_kept(old_store->state_->repository.get(), commit);
  }
  LYK_TRY(mark_kept(state.repository(), commit));
  LYK_TRY(move_packs(packs, packs));  // only brings them to the disk
  std::error_code error;
  // A store that cannot even be opened is out of the way first: a folder is not renamed onto one
  // that is not empty. Where there is none, there is nothing to move.
  if (!GitStore::open(state.path) || state.old == Old::replaced)
    fs::rename(state.path, state.folder / "replaced", error);
  if (error && error != std::errc::no_such_file_or_directory)
    return filesystem_error(error, str("rename ", quoted(state.path.string())));
  fs::rename(state.folder, state.path, error);
  const bool occupied = error == std::errc::directory_not_empty || error == std::errc::file_exists;
  if (occupied && GitStore::open(state.path))
    return move_packs(packs, old_packs);  // another process was first: its store gets our packs
  if (error)
    return filesystem_error(error, str("rename ", quoted(state.folder.string())));
  fs::remove_all(state.path / "replaced", error);  // a rest of it is in nobody's way
  return sync_path(state.path.parent_path(), O_DIRECTORY);
}

}  // namespace lyk::fetcher
