#include "daemon/sealed.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "proto/hash.hpp"

namespace lyk::daemon {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

TEST(Sealed, HoldsExactlyTheBytesAndNobodyCanChangeThem) {
  const auto fd = seal_memory("lyk", bytes_of("machine code"), ClosingNul::no);
  ASSERT_TRUE(fd);
  struct ::stat found {};
  ASSERT_EQ(::fstat(fd->get(), &found), 0);
  EXPECT_EQ(found.st_size, 12);
  std::array<char, 16> read{};
  EXPECT_EQ(::pread(fd->get(), read.data(), read.size(), 0), 12);
  EXPECT_EQ(std::string_view(read.data(), 12), "machine code");

  EXPECT_EQ(::pwrite(fd->get(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd->get(), 1), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd->get(), 1000), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::mmap(nullptr, 12, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  EXPECT_EQ(errno, EPERM);
  constexpr int required = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  EXPECT_EQ(::fcntl(fd->get(), F_GET_SEALS) & required, required);
  EXPECT_EQ(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Sealed, PtxGetsANulBehindItsBytes) {
  const auto fd = seal_memory("lyk", bytes_of(".version 8.0"), ClosingNul::yes);
  ASSERT_TRUE(fd);
  std::array<char, 16> read{};
  read.fill('x');
  EXPECT_EQ(::pread(fd->get(), read.data(), read.size(), 0), 13);
  EXPECT_EQ(read[12], '\0');
}

TEST(Sealed, TheHashIsOfTheImageWithoutItsNul) {
  const auto fd = seal_memory("lyk", bytes_of(".version 8.0"), ClosingNul::yes);
  ASSERT_TRUE(fd);
  const auto digest = hash_sealed(fd->get(), 12);
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, sha256(bytes_of(".version 8.0")));
}

TEST(Sealed, NothingIsAnImageToo) {
  const auto fd = seal_memory("lyk", {}, ClosingNul::no);
  ASSERT_TRUE(fd);
  const auto digest = hash_sealed(fd->get(), 0);
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, sha256({}));
}

TEST(Sealed, AHashOfNoDescriptorIsAnError) {
  EXPECT_FALSE(hash_sealed(-1, 12));
}

}  // namespace
}  // namespace lyk::daemon
