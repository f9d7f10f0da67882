// PTX that a launch ABI accepts, without any compiler.
#pragma once

#include <string>
#include <string_view>

namespace lyk::daemon::test {

// Defines every kernel of `abi` with its parameters, for `target` ("sm_75"). The bodies are empty.
std::string ptx_of_abi(std::string_view abi, std::string_view target);

}  // namespace lyk::daemon::test
