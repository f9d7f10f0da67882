#include "daemon/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

Notifier::Notifier(const fetcher::Environment& environment) {
  if (const auto found = environment.find("NOTIFY_SOCKET"); found != environment.end())
    address_ = found->second;
}

void Notifier::ready() const {
  tell("READY=1");
}

void Notifier::stopping() const {
  tell("STOPPING=1");
}

void Notifier::reloading() const {
  ::timespec clock{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &clock);  // this clock is always there
  const std::int64_t usec = clock.tv_sec * std::int64_t{1'000'000} + clock.tv_nsec / 1'000;
  tell(str("RELOADING=1\nMONOTONIC_USEC=", usec));
}

void Notifier::tell(std::string_view state) const {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (address_.size() < 2 || address_.size() > sizeof address.sun_path)
    return;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address.sun_path[0] == '@')
    address.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(::sockaddr_un, sun_path) + address_.size());
  const UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!fd)
    return;  // systemd's own timeout tells about it
  (void)::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const ::sockaddr*>(&address), size);
}

}  // namespace lyk::daemon
