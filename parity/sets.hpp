// The parity set of each slot: one file a slot, one row here.
// Thread rule: constants and pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "parity/case.hpp"

namespace lyk::parity {

struct Set {
  std::string_view slot;
  std::size_t cases = 0;
  // One at a time, since the large ones take some hundred MiB. REQUIRES: index < cases.
  Case (*make)(std::size_t index, Extent extent) = nullptr;
};

// In the order of DESIGN's slots.
std::span<const Set> sets();

// Null for a slot that has none.
const Set* find_set(std::string_view slot);

extern const Set ms_deform_attn_set;  // ms_deform_attn.cpp

}  // namespace lyk::parity
