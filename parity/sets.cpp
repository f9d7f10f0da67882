#include "parity/sets.hpp"

#include <algorithm>
#include <array>

namespace lyk::parity {

std::span<const Set> sets() {
  static const std::array<Set, 11> table{ms_deform_attn_set,
                                         fake_quant_int8_per_channel_set,
                                         fake_quant_int8_affine_set,
                                         fake_quant_fp8_set,
                                         fake_quant_int_grouped_set,
                                         fake_quant_nvfp4_weight_set,
                                         fake_quant_nvfp4_dynamic_set,
                                         fake_quant_mxfp4_weight_set,
                                         fake_quant_mxfp4_dynamic_set,
                                         unpack_int_grouped_set,
                                         unpack_nvfp4_set};
  return table;
}

const Set* find_set(std::string_view slot) {
  const auto all = sets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Set& set) { return set.slot == slot; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lyk::parity
