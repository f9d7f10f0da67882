// What the environment says about who answers: read once, parsed once, and a value from then on.
// Nothing below reads the environment again, so that a test or a host can hand in another one.
// Thread rule: values.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/result.hpp"

namespace lyk::client {

struct Environment {
  std::vector<std::string> variables;  // "NAME=value"; what an activated service inherits

  // A copy of this process's environment. Empty in a program that runs with more rights than its
  // caller (set-user-ID, file capabilities): that environment is somebody else's. Must not run
  // while another thread changes the environment, as with getenv.
  static Environment of_process();

  // Empty where the variable is unset or empty: the two mean the same everywhere in this product.
  std::string_view value(std::string_view name) const;
};

enum class Activation { allowed, forbidden };

// Where a service may be found (DESIGN section 4, "Who answers"). An empty path is a place that
// this process does not have.
struct Settings {
  Environment environment;
  std::string socket;         // LIBREYOLO_KERNELS_SOCKET: if set, no other socket is tried
  std::string system_socket;  // of the system service
  std::string user_socket;    // in $XDG_RUNTIME_DIR
  Activation activation = Activation::allowed;    // LIBREYOLO_KERNELS_EXEC=0 forbids
  std::string program;                            // LIBREYOLO_KERNELS_EXEC=/path
  std::optional<uid_t> trusted_uid;               // LIBREYOLO_KERNELS_TRUST_UID
  std::optional<std::chrono::milliseconds> wait;  // LIBREYOLO_KERNELS_WAIT, in seconds there
  // "LIBREYOLO_HUB_KERNELS=0": a library then asks nobody, the command line only for what is
  // cached.
  std::string hub_forbidden;
};

// An invalid_argument error names the variable whose value means nothing.
Result<Settings> parse_settings(Environment environment);

// Settings::hub_forbidden, which no other variable can make unreadable.
std::string parse_hub_forbidden(const Environment& environment);

}  // namespace lyk::client
