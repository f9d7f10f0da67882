// What systemd wants to hear (sd_notify(3)): a datagram of VARIABLE=value lines to $NOTIFY_SOCKET.
// By hand, in twenty lines: libsystemd would bring five more libraries into an idle process. Thread
// rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "fetcher/settings.hpp"

namespace lyk::daemon {

class Notifier {
public:
  // Without NOTIFY_SOCKET nobody listens, and telling does nothing.
  explicit Notifier(const fetcher::Environment& environment);

  void ready() const;
  void reloading() const;
  void stopping() const;

private:
  void tell(std::string_view state) const;
  std::string address_;
};

}  // namespace lyk::daemon
