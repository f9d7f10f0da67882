// What is told of a run of a parity set: a record for a pin, a document for scripts, a table for
// people. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/json_document.hpp"
#include "cli/output.hpp"
#include "cli/parity.hpp"
#include "proto/methods.hpp"

namespace lyk::cli {

// What a pin says of the runs of its images that passed: one for each image and kind of GPU, with
// the greatest error of them all.
std::vector<wire::ParityRecord> parity_records(const std::vector<ParityRun>& runs);

// "[[parity]]" tables for the pin file.
std::string parity_toml(const std::vector<wire::ParityRecord>& records);

// An array of them, for the key before.
void add_parity_records(JsonDocument& document, const std::vector<wire::ParityRecord>& records);

// The members "gpus" and, where the processors ran, "processors" of parity's document.
void add_parity_runs(JsonDocument& document, const std::vector<ParityRun>& runs);

// One GPU, or the processors, for people: the record, and a row for each output of each case.
std::string parity_text(const ParityRun& run, Colours colours);

// "1.19e-07", three digits.
std::string short_number(double number);

}  // namespace lyk::cli
