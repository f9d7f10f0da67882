#include "kernels/image/fatbin.hpp"

#include <array>

#include "proto/limits.hpp"

namespace lyk::image {

namespace {

constexpr std::uint32_t container_magic = 0xBA55ED50;

struct RawContainer {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};
static_assert(sizeof(RawContainer) == 16);

struct RawEntry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint16_t minor;  // of the code's own version: PTX ISA, or 1.7 and 1.8 for cubins
  std::uint16_t major;
  std::uint32_t arch;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t uncompressed_bytes;
};
static_assert(sizeof(RawEntry) == 64);

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_cubin = 2;
constexpr std::uint16_t kind_ir = 8;

constexpr std::uint64_t flag_64_bit = 0x1;
constexpr std::uint64_t flag_lz4 = 0x2000;
constexpr std::uint64_t flag_zstd = 0x8000;
constexpr std::uint64_t flag_specific = 0x10'0000;
constexpr std::uint64_t flag_family = 0x20'0000;

constexpr std::uint32_t arch_max = 999;

Arch arch_of(const RawEntry& raw) {
  Arch out{.major = static_cast<int>(raw.arch / 10), .minor = static_cast<int>(raw.arch % 10)};
  if ((raw.flags & flag_specific) != 0)
    out.variant = ArchVariant::specific;
  else if ((raw.flags & flag_family) != 0)
    out.variant = ArchVariant::family;
  return out;
}

// Why a driver cannot be given this entry; empty if it can.
std::string unusable(const RawEntry& raw) {
  if (raw.kind == kind_ir)
    return "link-time IR, not device code";
  if (raw.kind != kind_ptx && raw.kind != kind_cubin)
    return str("entry of unknown kind ", raw.kind);
  if ((raw.flags & flag_64_bit) == 0)
    return "32-bit device code";
  if (raw.arch < 10 || raw.arch > arch_max)
    return str("architecture ", raw.arch, " is none");
  if ((raw.flags & flag_lz4) != 0 && (raw.flags & flag_zstd) != 0)
    return "two compressions at once";
  const bool compressed = (raw.flags & (flag_lz4 | flag_zstd)) != 0;
  if (!compressed && raw.uncompressed_bytes != 0)
    return "compressed in a way that is not known";
  return {};
}

// `raw` stands at `offset`; its header and its payload were checked to lie in the container.
Result<FatbinEntry> entry_of(const RawEntry& raw, std::uint64_t offset) {
  FatbinEntry out;
  out.offset = offset;
  out.kind = raw.kind == kind_ptx ? Kind::ptx : Kind::cubin;
  out.unusable = unusable(raw);
  if (!out.unusable.empty())
    return out;
  out.arch = arch_of(raw);
  out.payload.offset = offset + raw.header_bytes;
  if ((raw.flags & (flag_lz4 | flag_zstd)) == 0) {
    out.payload.stored_bytes = raw.payload_bytes;
    out.payload.unpacked_bytes = raw.payload_bytes;
    return out;
  }
  if (raw.compressed_bytes > raw.payload_bytes)
    return malformed("fatbin: entry at ", offset, " holds ", raw.payload_bytes, " bytes, not ",
                     raw.compressed_bytes);
  out.compression = (raw.flags & flag_lz4) != 0 ? Compression::lz4 : Compression::zstd;
  out.payload.stored_bytes = raw.compressed_bytes;
  out.payload.unpacked_bytes = raw.uncompressed_bytes;
  return out;
}

// Appends the entries of the container at `begin`; returns the offset behind it.
Result<std::uint64_t> parse_container(Bytes row,
                                      std::uint64_t begin,
                                      std::vector<FatbinEntry>& out) {
  const auto container = load<RawContainer>(row, begin);
  if (!container || container->magic != container_magic)
    return malformed("fatbin: no container at ", begin);
  if (container->version != 1 || container->header_bytes < sizeof(RawContainer))
    return malformed("fatbin: container at ", begin, " has unknown version ", container->version);
  if (!piece(row, begin, container->header_bytes) ||
      !piece(row, begin + container->header_bytes, container->bytes))
    return malformed("fatbin: container at ", begin, " of ", container->bytes,
                     " bytes is outside the file");
  const std::uint64_t end = begin + container->header_bytes + container->bytes;
  std::uint64_t offset = begin + container->header_bytes;
  while (offset < end) {
    const Bytes rest = row.subspan(offset, end - offset);
    const auto raw = load<RawEntry>(rest, 0);
    if (!raw || raw->header_bytes < sizeof(RawEntry) || !piece(rest, 0, raw->header_bytes) ||
        !piece(rest, raw->header_bytes, raw->payload_bytes))
      return malformed("fatbin: entry at ", offset, " is outside its container");
    if (out.size() == limits::images_per_file_max)
      return too_much("fatbin: more than ", limits::images_per_file_max, " images");
    LYK_TRY_ASSIGN(FatbinEntry entry, entry_of(*raw, offset));
    out.push_back(std::move(entry));
    offset += raw->header_bytes + raw->payload_bytes;
  }
  return end;
}

}  // namespace

bool is_fatbin(Bytes head) {
  return load<std::uint32_t>(head, 0) == container_magic;
}

Result<std::vector<FatbinEntry>> parse_fatbins(Bytes row) {
  std::vector<FatbinEntry> out;
  std::uint64_t offset = 0;
  while (offset < row.size()) {
    if (row[offset] == std::byte{0}) {  // alignment between containers
      ++offset;
      continue;
    }
    LYK_TRY_ASSIGN(offset, parse_container(row, offset, out));
  }
  return out;
}

}  // namespace lyk::image
