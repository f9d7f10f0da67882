// Cubins: ELF64 files of machine EM_CUDA. What is known of the format, from files of CUDA 11.8
// to 13.0:
//
//   OS ABI 0x33, ABI version 7    up to CUDA 12: architecture in e_flags bits 0-7, `a` in bit 11,
//                                 e_version is ten times the toolkit's version (0x76 = 11.8)
//   OS ABI 0x41, ABI version 8    12.8 and later for sm_100 and above, 13 for all: architecture
//                                 in bits 8-15, `a` in bit 3 (12.x) or in attribute 9 of
//                                 .nv.compat (13)
//   kernels                       defined functions whose st_other has STO_CUDA_ENTRY (0x10)
//   .nv.info.<kernel>             attributes: 4 bytes, and the value's own bytes for format 4
//     0x17 KPARAM_INFO            u32 index, u16 ordinal, u16 offset, u32 with the size from
//                                 bit 18 on
//     0x45 KPARAM_INFO_V2         u32 index, u16 ordinal, u16 offset, u16 size and one u16 not
//                                 read here: large parameters
//     0x37 CUDA_API_VERSION       ten times the toolkit's version
//
// A family (`f`) cubin says so nowhere: only the fatbin entry around it does.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/image/bytes.hpp"
#include "kernels/image/image.hpp"
#include "proto/device.hpp"
#include "proto/result.hpp"

namespace lyk::image {

struct Cubin {
  Arch arch;
  std::optional<CudaVersion> toolkit;
  std::vector<Kernel> kernels;  // by symbol, each once
  std::string unusable;         // why a driver cannot load it as it is; empty if it can
};

Result<Cubin> parse_cubin(Bytes file);

}  // namespace lyk::image
