// Pins: which commit of which repo a slot's files come from (DESIGN section 9, docs/pins.md).
//
// A pin file is parsed strictly: an unknown key is a typing error and is refused with its line and
// the nearest right key. Every message is one line that begins with the file's name. Thread rule:
// values.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/device.hpp"
#include "proto/digest.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

enum class Pass { forward, backward };
std::string_view name(Pass pass);  // "forward", "backward"

// That the images were compared with the reference on a GPU, and how that went: for people, and
// written by `libreyolo-kernels pin` alone. Nothing is decided by it.
struct ParityRecord {
  Digest image;  // of the bytes that the driver was given
  Arch arch;     // of the GPU
  CudaVersion driver;
  std::string gpu;  // its name
  std::string set;  // of the cases: "whole", or "small" on a stand-in for a GPU
  double greatest_error = 0;

  bool operator==(const ParityRecord&) const = default;
};

struct Pin {
  SlotName slot;
  RepoId repo;
  std::vector<RepoType> repo_types;  // tried in this order; never empty, no type twice
  GitId revision;
  std::string license;              // SPDX expression as the repo states it, or empty
  std::optional<std::string> abi;   // absent: for files only, never loaded by us
  std::vector<Pass> deterministic;  // passes whose results do not change from run to run
  bool is_public = false;  // the key `public`: files of a gated repo may go to anybody here
  std::vector<std::string> variants;   // globs over build variants; empty: every variant
  std::map<RepoPath, Digest> digests;  // if not empty, the proof
  // With digests: what the repo says that a variant is built for. A hint that saves downloads, as
  // metadata.json is where git is the proof.
  std::map<std::string, std::vector<Arch>> archs;
  std::vector<ParityRecord> parity{};  // by kind of GPU

  // `source_name` is where the text came from, for messages. Fails with invalid_argument.
  static Result<Pin> parse(std::string_view toml, std::string_view source_name);
  // The text of a pin file; parse(format()) is an equal pin.
  std::string format() const;

  bool operator==(const Pin&) const = default;
};

// `*` is any run of characters, `?` any one. Time is bounded by the product of the lengths.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace lyk::fetcher
