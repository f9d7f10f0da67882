#include "kernels/image/decompress.hpp"

#include <lz4.h>
#include <zstd.h>

#include "proto/limits.hpp"

namespace lyk::image {

namespace {

// Both libraries write at most `out.size()` bytes and read at most `stored.size()`.
bool fill(Bytes stored, Compression compression, std::vector<std::byte>& out) {
  switch (compression) {
    case Compression::none:
      return false;
    case Compression::lz4: {
      const int written = LZ4_decompress_safe(
          reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(out.data()),
          static_cast<int>(stored.size()), static_cast<int>(out.size()));
      return written >= 0 && static_cast<std::size_t>(written) == out.size();
    }
    case Compression::zstd:
      return ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size()) == out.size();
  }
  return false;
}

}  // namespace

Result<std::vector<std::byte>> decompress(Bytes stored,
                                          Compression compression,
                                          std::uint64_t bytes) {
  // Both limits fit an int, which is what LZ4 counts in.
  static_assert(limits::image_bytes_max <= 0x7fff'ffff);
  if (bytes > limits::image_bytes_max || stored.size() > limits::image_bytes_max)
    return too_much("image of ", bytes, " bytes, limit ", limits::image_bytes_max);
  if (compression == Compression::none) {
    if (stored.size() != bytes)
      return malformed("image: ", stored.size(), " bytes are stored for ", bytes);
    return std::vector<std::byte>{stored.begin(), stored.end()};
  }
  if (bytes / limits::image_compression_ratio_max > stored.size())
    return too_much("image: ", stored.size(), " bytes claim to hold ", bytes);
  std::vector<std::byte> out(bytes);
  if (!fill(stored, compression, out))
    return malformed("image: ", name(compression), " data of ", stored.size(),
                     " bytes does not decompress to ", bytes);
  return out;
}

}  // namespace lyk::image
