// The parity set of a slot on the GPUs of this machine: what `parity` prints and what `pin`
// demands. An image is compared that the caller has received beforehand, so that what is recorded
// is what was launched. Thread rule: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/json_document.hpp"
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

// On one GPU.
struct ParityRun {
  client::MachineGpu gpu;
  parity::Extent extent = parity::Extent::whole;
  std::optional<Digest> image;    // absent: there was none to run
  std::vector<ParityCase> cases;  // those that ran to their end
  Result<void> ran;               // why the others did not

  bool differs() const;  // in one of the cases that ran
  bool passed() const;
  double greatest_error() const;
};

struct ParityAsked {
  const Invocation& invocation;
  const parity::Set& set;
  std::string_view implementation;
  // What a process with that device would be handed.
  std::function<Result<client::ResolvedImage>(const Device& device)> resolve;
};

// Each GPU in the order of its number. Errors: as client::list_gpus.
Result<std::vector<ParityRun>> run_parity(const ParityAsked& asked);

// "device 1 (NVIDIA H100 PCIe)".
std::string device_text(const ParityRun& run);

// The worst that is wrong, as one line that begins with the GPU; ok where all is well. What differs
// is refused, and worse than what did not run, which is as it was.
Result<void> check_parity(const std::vector<ParityRun>& runs);

// What a pin says of the runs that passed: one for each image and kind of GPU, with the greatest
// error of them all.
std::vector<wire::ParityRecord> parity_records(const std::vector<ParityRun>& runs);

// "[[parity]]" tables for the pin file.
std::string parity_toml(const std::vector<wire::ParityRecord>& records);

// An array of them, for the key before.
void add_parity_records(JsonDocument& document, const std::vector<wire::ParityRecord>& records);

// The member "gpus" of parity's document.
void add_parity_runs(JsonDocument& document, const std::vector<ParityRun>& runs);

// One GPU for people: the record, and a row for each output of each case.
std::string parity_text(const ParityRun& run, Colours colours);

// "1.19e-07", three digits.
std::string short_number(double number);

}  // namespace lyk::cli
