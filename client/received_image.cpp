#include "client/received_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "proto/device.hpp"
#include "proto/digest.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

Result<void> check_values(const SlotName& asked, const wire::ResolveReply& reply) {
  if (reply.slot != asked.text())
    return Error{Code::protocol,
                 str("slot ", quoted(reply.slot), ": ", quoted(asked.text()), " was asked for")};
  if (reply.image.bytes == 0 || reply.image.bytes > limits::image_bytes_max)
    return Error{Code::protocol, str("image: ", reply.image.bytes, " bytes, at most ",
                                     limits::image_bytes_max, " are possible")};
  LYK_TRY(Arch::parse(reply.image.arch));
  LYK_TRY(RepoId::parse(reply.repo));
  LYK_TRY(RepoPath::parse(reply.file));
  LYK_TRY(GitId::parse(reply.commit));
  return {};
}

// Newer kernels add seals of their own (F_SEAL_EXEC): ours must be among them.
Result<void> check_seals(int fd) {
  constexpr int wanted = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    return Error{Code::protocol, os_error(errno, "image: its descriptor has no seals").message};
  if ((seals & wanted) != wanted)
    return Error{Code::protocol, str("image: its descriptor has seals ", seals, ", not all of ",
                                     wanted, ", and could be changed")};
  return {};
}

Result<void> check_size(int fd, const wire::Image& image) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return os_error(errno, "image: its descriptor");
  const bool is_ptx = image.kind == wire::ImageKind::ptx;
  const std::uint64_t expected = image.bytes + (is_ptx ? 1 : 0);
  const auto actual = static_cast<std::uint64_t>(status.st_size);
  if (actual != expected)
    return Error{Code::size_mismatch,
                 str("image: expected ", expected, " bytes, received ", actual)};
  if (!is_ptx)
    return {};
  // The driver reads PTX up to its NUL.
  char last = 1;
  if (::pread(fd, &last, 1, static_cast<off_t>(image.bytes)) != 1 || last != '\0')
    return Error{Code::protocol, "image: its PTX does not end in NUL"};
  return {};
}

}  // namespace

Result<void> check_reply(const SlotName& asked, const wire::ResolveReply& reply) {
  if (auto checked = check_values(asked, reply); !checked)
    return Error{Code::protocol, str("reply to Resolve: ", checked.error().message)};
  return {};
}

Result<void> check_descriptor(const UniqueFd& fd, const wire::Image& image) {
  if (!fd)
    return Error{Code::protocol, "reply to Resolve: no descriptor is attached"};
  LYK_TRY(check_seals(fd.get()));
  return check_size(fd.get(), image);
}

}  // namespace lyk::client
