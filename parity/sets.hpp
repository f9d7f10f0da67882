// The parity set of each slot: one file a slot or family, one row here.
// Thread rule: constants and pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "parity/case.hpp"

namespace lyk::parity {

struct Set {
  std::string_view slot;
  std::size_t (*count)(Implementation implementation) = nullptr;
  // One at a time, since the large ones take some hundred MiB. REQUIRES: index < count.
  Case (*make)(std::size_t index, Extent extent, Implementation implementation) = nullptr;
};

// In the order of lyk.h: of every slot that the library has code for.
std::span<const Set> sets();

// Null for a slot that has none.
const Set* find_set(std::string_view slot);

extern const Set ms_deform_attn_set;
extern const Set fake_quant_int8_per_channel_set;
extern const Set fake_quant_int8_affine_set;
extern const Set fake_quant_fp8_set;
extern const Set fake_quant_int_grouped_set;
extern const Set fake_quant_nvfp4_weight_set;  // fake_quant_fp4.cpp, with the next three
extern const Set fake_quant_nvfp4_dynamic_set;
extern const Set fake_quant_mxfp4_weight_set;
extern const Set fake_quant_mxfp4_dynamic_set;
extern const Set unpack_int_grouped_set;  // unpack.cpp, with the next
extern const Set unpack_nvfp4_set;

}  // namespace lyk::parity
