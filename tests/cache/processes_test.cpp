// Several processes, and several threads, at work on one store.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

constexpr unsigned rounds = 20;

std::string shared_content(unsigned round) {
  return ptx(str("shared_", round));
}
std::string own_content(unsigned writer, unsigned round) {
  return ptx(str("own_", writer, "_", round));
}

Entry shared_entry(unsigned round) {
  return entry(str("build/shared_", round, ".ptx"), shared_content(round), 1);
}
Entry own_entry(unsigned writer, unsigned round) {
  return entry(str("build/own_", round, ".ptx"), own_content(writer, round), 100 + writer);
}

// Commits content that every writer commits, and content of its own; reads both back.
bool write_everything(Store& store, unsigned writer) {
  for (unsigned round = 0; round < rounds; ++round) {
    if (!put(store, shared_entry(round), shared_content(round)) ||
        !put(store, own_entry(writer, round), own_content(writer, round)))
      return false;
    const auto found = store.find(own_entry(writer, round).name);
    if (!found || !*found)
      return false;
  }
  return true;
}

// Evicts what it can and verifies what is there: whatever is found must be right.
bool prune_and_verify(Store& store) {
  store.set_pinned({{repo("kernels/relu"), commit_id(1)},
                    {repo("kernels/relu"), commit_id(100)},
                    {repo("kernels/relu"), commit_id(101)},
                    {repo("kernels/relu"), commit_id(102)}});
  for (unsigned round = 0; round < rounds; ++round) {
    const auto report = store.verify_all({}, {}, day_one);
    if (!report || !report->damaged.empty() || !store.prune(0) || !store.collect_orphans(day_one))
      return false;
  }
  return true;
}

bool evict_own(Store& store) {
  for (unsigned round = 0; round < rounds; ++round) {
    const Entry fleeting = entry("fleeting.ptx", shared_content(round), 7);
    if (!put(store, fleeting, shared_content(round)) || !store.remove(fleeting.name))
      return false;
  }
  return true;
}

void expect_everything(Store& store) {
  for (unsigned round = 0; round < rounds; ++round) {
    EXPECT_TRUE(store.find(shared_entry(round).name)->has_value());
    for (unsigned writer = 0; writer < 3; ++writer)
      EXPECT_TRUE(store.find(own_entry(writer, round).name)->has_value());
  }
  EXPECT_EQ(files_below(store.root() / "tmp"), 0U);
  EXPECT_EQ(store.images(origin(1))->size(), rounds);
  expect_clean(store);
}

TEST(Processes, ManyWritersAPrunerAndARemoverShareAStore) {
  lyk::test::TempDir folder;
  const auto root = folder.path() / "store";
  std::vector<pid_t> children;
  for (unsigned number = 0; number < 5; ++number) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::open(options(root));
      if (!store)
        ::_exit(2);
      const bool done = number < 3    ? write_everything(*store, number)
                        : number == 3 ? prune_and_verify(*store)
                                      : evict_own(*store);
      ::_exit(done ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  Store store = open_store(options(root));
  expect_everything(store);
}

TEST(Threads, ManyWritersAPrunerAndARemoverShareAStore) {
  lyk::test::TempDir folder;
  Store store = open_store(options(folder.path() / "store"));
  std::vector<std::thread> threads;
  std::array<bool, 5> done{};
  for (unsigned number = 0; number < 5; ++number)
    threads.emplace_back([&, number] {
      done[number] = number < 3    ? write_everything(store, number)
                     : number == 3 ? prune_and_verify(store)
                                   : evict_own(store);
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const bool one : done)
    EXPECT_TRUE(one);
  expect_everything(store);
}

}  // namespace
}  // namespace lyk::cache::test
