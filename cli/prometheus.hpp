// `status --format prometheus`: the text exposition format, for node_exporter's textfile collector.
// Names and labels are a contract, listed in docs/cli.md.
// Thread rule: a pure function.
#pragma once

#include <string>

#include "cli/outlook.hpp"
#include "proto/methods.hpp"

namespace lyk::cli {

std::string prometheus(const wire::StatusReply& status, const Outlooks& outlooks);

}  // namespace lyk::cli
