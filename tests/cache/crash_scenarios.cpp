#include "tests/cache/crash_scenarios.hpp"

#include <memory>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {

namespace {

namespace fs = std::filesystem;

const std::string kept = ptx("kept");                // pinned, in every prepared store
const std::string content = ptx("fresh", "sm_90a");  // what a scenario brings

Result<Store> open(const fs::path& root) {
  return Store::open(options(root));
}

void prepare_nothing(const fs::path&) {}

void prepare_store(const fs::path& root) {
  Store store = open_store(options(root));
  EXPECT_TRUE(put(store, entry("build/kept.ptx", kept, 1), kept));
  EXPECT_TRUE(put(store, plain_entry("README.md", "text", 1), "text"));
}

void prepare_full(const fs::path& root) {
  prepare_store(root);
  Store store = open_store(options(root));
  for (unsigned i = 0; i < 4; ++i) {
    const std::string image = ptx(str("old_", i));
    EXPECT_TRUE(put(store, entry(str("build/old_", i, ".ptx"), image, 2), image,
                    day_one - one_day * (i + 1)));
  }
}

void prepare_damage(const fs::path& root) {
  prepare_full(root);
  flip_byte(blob_path(root, digest_of(ptx("old_1"))));
}

void prepare_orphans(const fs::path& root) {
  prepare_store(root);
  write_file(blob_path(root, digest_of(content)), content);
  write_file(root / "tmp" / "1-0123456789abcdef", "half");
}

Result<void> act_open(const fs::path& root) {
  LYK_TRY(open(root));
  return {};
}

// Ends without closing: SQLite's files stay beside the index.
Result<void> act_leave_open(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  (void)std::make_unique<Store>(std::move(store)).release();
  return {};
}

Result<void> act_commit(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  LYK_TRY_ASSIGN(Staging staging, store.stage(StageSize::exactly(content.size())));
  LYK_TRY(staging.write(bytes_of(content).first(10)));
  LYK_TRY(staging.restart());
  LYK_TRY(staging.write(bytes_of(content).first(20)));
  LYK_TRY(staging.write(bytes_of(content).subspan(20)));
  LYK_TRY(store.commit(std::move(staging), entry("build/fresh.ptx", content, 3), day_one));
  return {};
}

Result<void> act_commit_plain(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  LYK_TRY(put(store, plain_entry("LICENSE", "licence", 3), "licence"));
  return {};
}

Result<void> act_commit_again(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  LYK_TRY(put(store, entry("build/kept.ptx", kept, 1), kept));
  return {};
}

Result<void> act_commit_with_eviction(const fs::path& root) {
  Options small = options(root);
  small.bytes_max = 4 * content.size();
  LYK_TRY_ASSIGN(Store store, Store::open(small));
  store.set_pinned({{repo("kernels/relu"), commit_id(1)}});
  const Entry fresh = entry("build/fresh.ptx", content, 3);
  LYK_TRY_ASSIGN(const auto found, store.find(fresh.name));
  if (!found)  // as every fetch asks first
    LYK_TRY(put(store, fresh, content));
  return {};
}

Result<void> act_link(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  LYK_TRY(store.link(entry("build/fresh.ptx", content, 3), day_one));
  LYK_TRY(store.link(entry("build/again.ptx", kept, 3), day_one));
  return {};
}

Result<void> act_remove(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  LYK_TRY(store.remove(origin(2)));
  return {};
}

Result<void> act_prune(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  store.set_pinned({{repo("kernels/relu"), commit_id(1)}});
  LYK_TRY(store.prune(0));
  return {};
}

Result<void> act_verify(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  LYK_TRY(store.verify_all({}, {}, day_one));
  LYK_TRY(store.record_use(digest_of(kept), day_one));
  return {};
}

Result<void> act_collect(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  store.set_pinned({});
  LYK_TRY(store.collect_orphans(
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()) +
      2 * one_day));
  return {};
}

Result<void> act_rebuild(const fs::path& root) {
  LYK_TRY_ASSIGN(Store store, open(root));
  std::vector<Entry> known{entry("build/kept.ptx", kept, 1), plain_entry("README.md", "text", 1)};
  for (unsigned i = 0; i < 4; ++i)
    known.push_back(entry(str("build/old_", i, ".ptx"), ptx(str("old_", i)), 2));
  LYK_TRY(store.rebuild_index(known, day_one));
  return {};
}

// As act_commit, where the index is for one process alone if nothing can be locked: what is there
// already is found by its proof.
Result<void> act_network(const fs::path& root) {
  Options network = options(root);
  network.disk = Options::Disk::network;
  LYK_TRY_ASSIGN(Store store, Store::open(network));
  LYK_TRY_ASSIGN(const Lock lock, store.lock("relu", {std::chrono::steady_clock::now(), {}}));
  const Entry fresh = entry("build/fresh.ptx", content, 3);
  LYK_TRY_ASSIGN(const auto linked, store.link(fresh, day_one));
  if (!linked)
    LYK_TRY(put(store, fresh, content));
  LYK_TRY_ASSIGN(const auto found, store.find(fresh.name));
  LYK_TRY_ASSIGN(const auto images, store.images(fresh.name.origin));
  if (!found || images.size() != 1)
    return Error{Code::internal, "what was committed is not found"};
  return {};
}

}  // namespace

const std::map<std::string, Scenario>& scenarios() {
  static const std::map<std::string, Scenario> all{
      {"open", {prepare_nothing, act_open}},
      {"reopen", {prepare_store, act_open}},
      {"commit_first", {prepare_nothing, act_commit}},
      {"commit", {prepare_store, act_commit}},
      {"commit_plain", {prepare_store, act_commit_plain}},
      {"commit_again", {prepare_store, act_commit_again}},
      {"commit_with_eviction", {prepare_full, act_commit_with_eviction}},
      {"leave_open", {prepare_store, act_leave_open}},
      {"link", {prepare_orphans, act_link}},
      {"network", {prepare_nothing, act_network}},
      {"remove", {prepare_full, act_remove}},
      {"prune", {prepare_full, act_prune}},
      {"verify", {prepare_damage, act_verify}},
      {"collect", {prepare_orphans, act_collect}},
      {"rebuild", {prepare_damage, act_rebuild}},
  };
  return all;
}

}  // namespace lyk::cache::test
