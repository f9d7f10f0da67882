// Fatbin containers, as nvcc and clang write them: a header of 16 bytes and a row of entries, each
// with its own header (64 to some hundred bytes; the entry says) before its payload.
//
//   header  0 magic 0xBA55ED50  4 u16 version 1  6 u16 header bytes  8 u64 bytes after the header
//   entry   0 u16 kind  4 u32 header bytes  8 u64 payload bytes with padding
//           16 u32 compressed bytes  28 u32 architecture  40 u32 flags
//           56 u64 uncompressed bytes (0 if not compressed)
//
// Seen: entry headers of 64, 72 (CUDA 12.4), 80, 96, 104, 112 and 120 bytes; LZ4 up to CUDA 12 and
// zstd after. The architecture has no variant; `a` and `f` are flags.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/image/bytes.hpp"
#include "kernels/image/image.hpp"
#include "proto/device.hpp"
#include "proto/result.hpp"

namespace lyk::image {

struct FatbinEntry {
  std::uint64_t offset = 0;  // of the entry's header, in the bytes that were read
  Kind kind = Kind::cubin;
  Arch arch;
  Compression compression = Compression::none;
  Location payload;      // without padding
  std::string unusable;  // why it is no image for a driver; empty if it is one
};

bool is_fatbin(Bytes head);

// The entries of every container in `row`, which may have NULs between and after containers and
// nothing else. Offsets are in `row`.
Result<std::vector<FatbinEntry>> parse_fatbins(Bytes row);

}  // namespace lyk::image
