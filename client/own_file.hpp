// The file that this code is in, the library or a program, beside which others are installed.
// Thread rule: safe from any thread.
#pragma once

#include <string>

namespace lyk::client {

// Its path; empty if it cannot be told, or only by the current folder.
std::string own_file();

}  // namespace lyk::client
