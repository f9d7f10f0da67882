#include "tests/daemon/house.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "proto/hash.hpp"
#include "proto/text.hpp"
#include "tests/daemon/abi_ptx.hpp"

namespace lyk::daemon::test {
namespace {

constexpr std::string_view repo = "ns/kernels";
constexpr std::string_view commit = "0123456789abcdef0123456789abcdef01234567";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

}  // namespace

House::House() {
  std::filesystem::create_directories(path() / "pins");
  write_config("endpoint = \"http://127.0.0.1:9\"\n");
}

void House::write_pin(const std::string& slot, const std::string& toml) {
  std::ofstream{path() / "pins" / (slot + ".toml")} << toml;
}

void House::write_config(const std::string& toml) {
  std::ofstream{path() / "daemon.toml"} << toml;
}

std::string House::pin_text(const std::string& slot,
                            const std::vector<NamedFile>& files,
                            const std::string& more) {
  std::string toml =
      str("slot = \"", slot, "\"\nrepo = \"", repo, "\"\nrepo_types = [\"kernel\"]\nrevision = \"",
          commit, "\"\nabi = \"ms_deform_im2col\"\n", more, "[digests]\n");
  for (const NamedFile& file : files)
    toml += str("\"", file.path, "\" = \"", sha256(bytes_of(file.content)).hex(), "\"\n");
  return toml;
}

void House::pin(const std::string& slot,
                const std::vector<NamedFile>& files,
                const std::string& more) {
  write_pin(slot, pin_text(slot, files, more));
}

House::NamedFile House::kernel() {
  return {"images/kernel.ptx", ptx_of_abi("ms_deform_im2col", "sm_75")};
}

void House::pin_kernel(const std::string& more) {
  pin("ms_deform_attn", {kernel()}, more);
}

void House::store(const NamedFile& file, cache::Visibility visibility) {
  cache::Options options;
  options.root = cache();
  auto store = cache::Store::open(options);
  ASSERT_TRUE(store) << store.error().message;
  auto staging = store->stage(cache::StageSize::exactly(file.content.size()));
  ASSERT_TRUE(staging) << staging.error().message;
  ASSERT_TRUE(staging->write(bytes_of(file.content)));
  cache::Proof proof;
  proof.sha256 = sha256(bytes_of(file.content));
  const cache::Entry entry{.name = {.origin = {.type = RepoType::kernel,
                                               .repo = RepoId::parse(repo).value(),
                                               .commit = GitId::parse(commit).value()},
                                    .path = RepoPath::parse(file.path).value()},
                           .proof = proof,
                           .kind = cache::ProofKind::digests,
                           .visibility = visibility};
  auto blob = store->commit(std::move(staging).value(), entry, cache::now());
  ASSERT_TRUE(blob) << blob.error().message;
}

std::shared_ptr<Service> House::open(wire::Mode mode) {
  Service::Setup setup{.household = {.mode = mode, .own_uid = ::geteuid()},
                       .places = {.config = path() / "daemon.toml",
                                  .missing_config = MissingFile::is_empty,
                                  .cache = cache(),
                                  .pins = {path() / "pins"},
                                  .socket = socket()},
                       .environment = {{"HOME", path().string()}},
                       .log = Log(-1, Level::debug)};
  auto service = Service::open(std::move(setup));
  EXPECT_TRUE(service) << service.error().message;
  return std::move(service).value();
}

}  // namespace lyk::daemon::test
