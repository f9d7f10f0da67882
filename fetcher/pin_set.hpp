// The pins in force: every `<slot>.toml` of some folders, where a file in a later folder takes the
// place of one for the same slot in an earlier folder.
//
// A file that cannot be read or understood does not stop the others. It does take its slot out of
// force: whoever wrote it meant to change that pin, and going on with the old one would hide the
// mistake. Thread rule: values.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fetcher/pin.hpp"

namespace lyk::fetcher {

struct LoadedPin {
  Pin pin;
  std::string source;  // the path of the file
};

struct RefusedPin {
  std::string source;
  Error error;
};

struct PinSet {
  std::map<SlotName, LoadedPin> pins;
  std::vector<RefusedPin> refused;  // in the order of the folders, then by name

  // Null if no pin in force names the slot.
  const LoadedPin* find(const SlotName& slot) const;
  // The refusal of `<slot>.toml`, if that is why the slot has no pin; else null.
  const RefusedPin* find_refused(const SlotName& slot) const;
};

// A folder that does not exist holds no pins.
PinSet load_pins(std::span<const std::filesystem::path> folders);

}  // namespace lyk::fetcher
