// The parity set of a slot on the GPUs of this machine, or on its processors: what `parity` prints
// and what `pin` demands. Of `hub` an image is compared that the caller has received beforehand, so
// that what is recorded is what was launched. Thread rule: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "client/connection.hpp"
#include "client/machine.hpp"
#include "parity/run.hpp"
#include "parity/sets.hpp"
#include "proto/digest.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::cli {

struct ParityCase {
  std::string name;
  std::vector<parity::Verdict> verdicts;

  bool passed() const;
};

// On one GPU, or on the processors.
struct ParityRun {
  parity::Implementation implementation = parity::Implementation::hub;
  std::optional<client::MachineGpu> gpu;  // absent: `processors`
  client::Processors processors;
  parity::Extent extent = parity::Extent::whole;
  std::optional<Digest> image;    // of `hub`; absent: there was none to run
  std::optional<Digest> fatbin;   // of `cuda`: the file; absent: it could not be read
  std::vector<ParityCase> cases;  // those that ran to their end
  Result<void> ran;               // why the others did not

  bool differs() const;  // in one of the cases that ran
  bool passed() const;
  double greatest_error() const;
};

struct ParityAsked {
  const Invocation& invocation;
  const parity::Set& set;
  parity::Implementation implementation;
  parity::Extent extent = parity::Extent::whole;
  // Of `hub`: what a process with that device would be handed.
  std::function<Result<client::ResolvedImage>(const Device& device)> resolve{};
};

// The option --set of commands that run a set, and what was asked by it.
inline constexpr Option set_option{
    .name = "set",
    .value = "whole|small",
    .help = "how much of the parity set; default: whole. small is for a stand-in for a GPU"};
Result<parity::Extent> parse_extent(const Arguments& arguments);

// Each GPU in the order of its number; of `cpu`, which needs none, the processors. Errors: as
// client::list_gpus.
Result<std::vector<ParityRun>> run_parity(const ParityAsked& asked);

// "device 1 (NVIDIA H100 PCIe)", "processors (avx512, 8 threads)".
std::string device_text(const ParityRun& run);
std::string processors_text(const client::Processors& processors);

// The worst that is wrong, as one line that begins with the place; ok where all is well. What
// differs is refused, and worse than what did not run, which is as it was.
Result<void> check_parity(const std::vector<ParityRun>& runs);

}  // namespace lyk::cli
