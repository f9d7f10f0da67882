#include "proto/hash.hpp"

#include <openssl/evp.h>

#include <string>

#include "proto/check.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk {

namespace {

using MessageDigest = UniqueHandle<EVP_MD_CTX, EVP_MD_CTX_free>;

// OpenSSL fails here only without memory or with a broken installation: not something to go on
// from.
MessageDigest begin(const EVP_MD* algorithm) {
  MessageDigest context{EVP_MD_CTX_new()};
  LYK_CHECK(context != nullptr && EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1);
  return context;
}

void feed(EVP_MD_CTX* context, std::span<const std::byte> bytes) {
  LYK_CHECK(EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1);
}

void end(EVP_MD_CTX* context, std::span<std::uint8_t> out) {
  LYK_CHECK(static_cast<std::size_t>(EVP_MD_CTX_get_size(context)) == out.size());
  LYK_CHECK(EVP_DigestFinal_ex(context, out.data(), nullptr) == 1);
}

}  // namespace

struct Sha256::State {
  MessageDigest context = begin(EVP_sha256());
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  feed(state_->context.get(), bytes);
}

Digest Sha256::finish() {
  Digest out;
  end(state_->context.get(), out.bytes);
  reset();
  return out;
}

void Sha256::reset() {
  LYK_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hasher;
  hasher.update(bytes);
  return hasher.finish();
}

struct GitBlobHasher::State {
  MessageDigest context = begin(EVP_sha1());
};

GitBlobHasher::GitBlobHasher(std::uint64_t blob_bytes) : state_(std::make_unique<State>()) {
  const std::string header = str("blob ", blob_bytes, '\0');
  feed(state_->context.get(), std::as_bytes(std::span{header}));
}
GitBlobHasher::~GitBlobHasher() = default;
GitBlobHasher::GitBlobHasher(GitBlobHasher&&) noexcept = default;
GitBlobHasher& GitBlobHasher::operator=(GitBlobHasher&&) noexcept = default;

void GitBlobHasher::update(std::span<const std::byte> bytes) {
  feed(state_->context.get(), bytes);
}

GitId GitBlobHasher::finish() {
  GitId out;
  end(state_->context.get(), out.bytes);
  return out;
}

GitId git_blob_id(std::span<const std::byte> bytes) {
  GitBlobHasher hasher{bytes.size()};
  hasher.update(bytes);
  return hasher.finish();
}

}  // namespace lyk
