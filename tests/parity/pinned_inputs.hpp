// The CRC-32 of what every set hands in: the same bytes on every machine and with every compiler,
// or records of two of them do not tell of the same. Who changes a set changes these in the same
// commit.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parity/case.hpp"
#include "parity/random.hpp"

namespace lyk::parity::test {

struct PinnedInputs {
  std::string_view slot;
  std::uint32_t small = 0;
  std::uint32_t whole = 0;
};

// Of the cases for `cuda`, which are all that there are.
inline constexpr std::array<PinnedInputs, 11> pinned_inputs{{
    {"ms_deform_attn", 0x08f63447, 0xbf999d90},
    {"fake_quant_int8_per_channel", 0x5bbf2256, 0xbc8e9e4c},
    {"fake_quant_int8_affine", 0xfe31a4fa, 0xf2e6131e},
    {"fake_quant_fp8", 0x00bce838, 0xdec9b58a},
    {"fake_quant_int_grouped", 0x95d7ab15, 0xeb4d571e},
    {"fake_quant_nvfp4_weight", 0xa429b3f8, 0x4fb2535e},
    {"fake_quant_nvfp4_dynamic", 0xc44144db, 0xb5c7db2c},
    {"fake_quant_mxfp4_weight", 0xdf95673b, 0x4f6c6d19},
    {"fake_quant_mxfp4_dynamic", 0x5a8fcf48, 0xeafadad2},
    {"unpack_int_grouped", 0xfa9769e6, 0x6f2bf116},
    {"unpack_nvfp4", 0x22f89c3d, 0x51413c39},
}};

// Goes on with the bytes of every tensor that a call reads.
inline std::uint32_t crc_of_inputs(const Case& made, std::uint32_t before) {
  for (const Call& call : made.calls)
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      const bool is_written = std::any_of(call.expected.begin(), call.expected.end(),
                                          [&](const Expected& each) { return each.tensor == i; });
      if (is_written || !call.tensors[i])
        continue;
      const auto& bytes = call.tensors[i]->bytes;
      before = crc32({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, before);
    }
  return before;
}

}  // namespace lyk::parity::test
