#include "fetcher/pack_guard.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>

#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::uint64_t header_bytes = 12;   // "PACK", version, number of objects
constexpr std::uint64_t trailer_bytes = 20;  // sha1 of everything before
constexpr unsigned type_offset_delta = 6;
constexpr unsigned type_reference_delta = 7;

Error bad_pack(std::string_view why) {
  return Error{Code::protocol, str("git pack: ", why)};
}

Error too_large(std::string_view what, std::uint64_t most) {
  return Error{Code::refused, str("git pack: ", what, ", and more than ", most, " is refused")};
}

// Little-endian base-128, as in entry headers and deltas; at most 64 bits.
struct Varint {
  std::uint64_t value = 0;
  unsigned shift = 0;

  // True once the last byte was added.
  Result<bool> add(unsigned byte, unsigned bits) {
    const std::uint64_t part = byte & ((1U << bits) - 1U);
    if (shift > 63 || (part << shift) >> shift != part)
      return bad_pack("a size has more than 64 bits");
    value |= part << shift;
    shift += bits;
    return (byte & 0x80U) == 0;
  }
};

enum class Stage { header, entry, offset, reference, data, trailer, end };

}  // namespace

struct PackGuard::State {
  explicit State(const PackLimits& bounds) : limits(bounds) {}
  ~State() {
    if (inflating)
      (void)inflateEnd(&stream);  // frees; there is nothing to report
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  Result<void> add_header(unsigned byte);
  Result<void> add_entry(unsigned byte);
  Result<void> begin_data();
  Result<std::size_t> add_data(std::span<const std::byte> bytes);
  Result<void> add_unpacked(std::span<const unsigned char> bytes);
  Result<void> end_data();
  Result<void> count(std::uint64_t bytes);

  PackLimits limits;
  Stage stage = Stage::header;
  std::uint64_t pack_bytes = 0;
  std::uint64_t stage_bytes = 0;  // of the header, a reference or the trailer, so far
  std::array<unsigned char, header_bytes> header{};
  std::uint64_t objects_left = 0;
  std::uint64_t unpacked_bytes = 0;
  // The entry that is being read.
  Varint size;
  unsigned type = 0;
  std::uint64_t out_bytes = 0;
  Varint delta_size;         // first the base's, then the result's
  int delta_sizes_left = 0;  // of those two
  z_stream stream{};
  bool inflating = false;
};

// Adds to what the pack unpacks to.
Result<void> PackGuard::State::count(std::uint64_t bytes) {
  if (bytes > limits.object_bytes_max)
    return too_large(str("an object of ", bytes, " bytes"), limits.object_bytes_max);
  unpacked_bytes += bytes;
  if (unpacked_bytes > limits.unpacked_bytes_max)
    return too_large("its objects are too many bytes unpacked", limits.unpacked_bytes_max);
  return {};
}

Result<void> PackGuard::State::add_header(unsigned byte) {
  header[stage_bytes++] = static_cast<unsigned char>(byte);
  if (stage_bytes < header_bytes)
    return {};
  const auto number = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8U | header[at + i];
    return value;
  };
  static constexpr std::array<unsigned char, 4> magic{'P', 'A', 'C', 'K'};
  if (!std::equal(magic.begin(), magic.end(), header.begin()))
    return bad_pack("it does not begin with PACK");
  if (number(4) != 2)
    return bad_pack(str("version ", number(4), " is not 2"));
  objects_left = number(8);
  if (objects_left > limits.objects_max)
    return too_large(str(objects_left, " objects"), limits.objects_max);
  stage = objects_left == 0 ? Stage::trailer : Stage::entry;
  stage_bytes = 0;
  return {};
}

// The variable-length header: three bits of type, then the unpacked size.
Result<void> PackGuard::State::add_entry(unsigned byte) {
  bool last = (byte & 0x80U) == 0;
  if (stage_bytes++ == 0) {
    type = (byte >> 4U) & 7U;
    size = Varint{byte & 15U, 4};
  } else {
    LYK_TRY_ASSIGN(last, size.add(byte, 7));
  }
  if (!last)
    return {};
  stage_bytes = 0;
  if (type == 0 || type == 5)
    return bad_pack(str("an entry has the unknown type ", type));
  LYK_TRY(count(size.value));
  if (type == type_offset_delta)
    stage = Stage::offset;
  else if (type == type_reference_delta)
    stage = Stage::reference;
  else
    return begin_data();
  return {};
}

Result<void> PackGuard::State::begin_data() {
  stage = Stage::data;
  stage_bytes = 0;
  out_bytes = 0;
  delta_size = Varint{};
  delta_sizes_left = type == type_offset_delta || type == type_reference_delta ? 2 : 0;
  const int status = inflating ? inflateReset(&stream) : inflateInit(&stream);
  if (status != Z_OK)
    return Error{Code::internal, "git pack: zlib cannot be started"};
  inflating = true;
  return {};
}

// What came out of an entry: only its length matters, and the two sizes at the start of a delta.
Result<void> PackGuard::State::add_unpacked(std::span<const unsigned char> bytes) {
  out_bytes += bytes.size();
  if (out_bytes > size.value)
    return bad_pack("an entry unpacks to more than its header says");
  for (std::size_t i = 0; i < bytes.size() && delta_sizes_left > 0; ++i) {
    LYK_TRY_ASSIGN(const bool last, delta_size.add(bytes[i], 7));
    if (!last)
      continue;
    if (--delta_sizes_left == 0)
      LYK_TRY(count(delta_size.value));
    delta_size = Varint{};
  }
  return {};
}

Result<void> PackGuard::State::end_data() {
  if (out_bytes != size.value)
    return bad_pack("an entry unpacks to less than its header says");
  if (delta_sizes_left > 0)
    return bad_pack("a delta is too short");
  stage = --objects_left == 0 ? Stage::trailer : Stage::entry;
  stage_bytes = 0;
  return {};
}

// Inflates; answers how many of `bytes` belonged to the entry.
Result<std::size_t> PackGuard::State::add_data(std::span<const std::byte> bytes) {
  std::array<unsigned char, 32 * 1024> out;  // NOLINT: written by zlib before it is read
  // zlib's interface is not const-correct; it does not write to its input.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));  // NOLINT
  const std::size_t offered = std::min<std::size_t>(bytes.size(), 1U << 30U);
  stream.avail_in = static_cast<uInt>(offered);
  while (true) {
    stream.next_out = out.data();
    stream.avail_out = out.size();
    const int status = inflate(&stream, Z_NO_FLUSH);
    LYK_TRY(add_unpacked(std::span{out}.first(out.size() - stream.avail_out)));
    if (status == Z_STREAM_END) {
      LYK_TRY(end_data());
      break;
    }
    if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out != 0))
      break;  // the rest comes later
    if (status != Z_OK)
      return bad_pack("an entry cannot be inflated");
  }
  return offered - stream.avail_in;
}

PackGuard::PackGuard(const PackLimits& bounds) : state_(std::make_unique<State>(bounds)) {}
PackGuard::~PackGuard() = default;
PackGuard::PackGuard(PackGuard&&) noexcept = default;
PackGuard& PackGuard::operator=(PackGuard&&) noexcept = default;

Result<void> PackGuard::feed(std::span<const std::byte> bytes) {
  State& state = *state_;
  state.pack_bytes += bytes.size();
  if (state.pack_bytes > state.limits.pack_bytes_max)
    return too_large("it is too long", state.limits.pack_bytes_max);
  while (!bytes.empty()) {
    const auto byte = std::to_integer<unsigned>(bytes.front());
    std::size_t used = 1;
    switch (state.stage) {
      case Stage::header:
        LYK_TRY(state.add_header(byte));
        break;
      case Stage::entry:
        LYK_TRY(state.add_entry(byte));
        break;
      case Stage::offset:
        if (++state.stage_bytes > 10)
          return bad_pack("a delta's offset is too long");
        if ((byte & 0x80U) == 0)
          LYK_TRY(state.begin_data());
        break;
      case Stage::reference:
        if (++state.stage_bytes == trailer_bytes)
          LYK_TRY(state.begin_data());
        break;
      case Stage::data: {
        LYK_TRY_ASSIGN(used, state.add_data(bytes));
        if (used == 0)
          return bad_pack("an entry cannot be inflated");
        break;
      }
      case Stage::trailer:
        if (++state.stage_bytes == trailer_bytes)
          state.stage = Stage::end;
        break;
      case Stage::end:
        return bad_pack("bytes come after its end");
    }
    bytes = bytes.subspan(used);
  }
  return {};
}

Result<void> PackGuard::finish() const {
  if (state_->stage != Stage::end)
    return bad_pack("it ends in the middle");
  return {};
}

}  // namespace lyk::fetcher
