#include "parity/sets.hpp"

#include <algorithm>
#include <array>

namespace lyk::parity {

std::span<const Set> sets() {
  static const std::array<Set, 1> table{ms_deform_attn_set};
  return table;
}

const Set* find_set(std::string_view slot) {
  const auto all = sets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Set& set) { return set.slot == slot; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lyk::parity
