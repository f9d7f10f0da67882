// A Hub that takes connections and never says a word: a fetch from it lasts until it is cancelled.
#pragma once

#include <string>

#include "proto/unique.hpp"

namespace lyk::daemon::test {

class SilentHub {
public:
  SilentHub();
  // daemon.toml with this endpoint.
  std::string config() const;
  void wait_for_a_request() const;

private:
  UniqueFd fd_;
  int port_ = 0;
};

}  // namespace lyk::daemon::test
