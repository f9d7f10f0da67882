// The two compressions of fatbins: LZ4 blocks (CUDA 11 and 12) and zstd frames (12.4 and later).
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/image/bytes.hpp"
#include "kernels/image/image.hpp"
#include "proto/result.hpp"

namespace lyk::image {

// `stored` as its original `bytes`, which must come out exactly. Refuses more than
// limits::image_bytes_max or limits::image_compression_ratio_max before it allocates anything.
Result<std::vector<std::byte>> decompress(Bytes stored,
                                          Compression compression,
                                          std::uint64_t bytes);

}  // namespace lyk::image
