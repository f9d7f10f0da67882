#include "daemon/sealed.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/hash.hpp"
#include "proto/text.hpp"

#ifndef MFD_NOEXEC_SEAL
#  define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3; Debian 12's libc does not name it yet
#endif

namespace lyk::daemon {
namespace {

Result<UniqueFd> create_memfd(const std::string& name) {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd{::memfd_create(name.c_str(), flags | MFD_NOEXEC_SEAL)};
  if (!fd && errno == EINVAL)  // a kernel before 6.3 refuses the flag that it does not know
    fd = UniqueFd{::memfd_create(name.c_str(), flags)};
  if (!fd)
    return os_error(errno, "memfd_create");
  return fd;
}

Result<void> write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return os_error(errno, "write a memfd");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* address) const noexcept {
    (void)::munmap(address, bytes);  // fails only for a range that is none
  }
};

}  // namespace

Result<UniqueFd> seal_memory(const std::string& name,
                             std::span<const std::byte> bytes,
                             ClosingNul closing_nul) {
  LYK_TRY_ASSIGN(UniqueFd fd, create_memfd(name));
  LYK_TRY(write_all(fd.get(), bytes));
  if (closing_nul == ClosingNul::yes) {
    const std::byte nul{0};
    LYK_TRY(write_all(fd.get(), {&nul, 1}));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return os_error(errno, "seal a memfd");
  return fd;
}

Result<Digest> hash_sealed(int fd, std::size_t bytes) {
  if (bytes == 0)
    return sha256({});
  // Sealed against shrinking, so no access to the mapping can fault.
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED)
    return os_error(errno, "map a memfd");
  const std::unique_ptr<void, Unmap> mapping{address, Unmap{bytes}};
  return sha256({static_cast<const std::byte*>(mapping.get()), bytes});
}

}  // namespace lyk::daemon
