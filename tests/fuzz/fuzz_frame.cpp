// Framing: any stream, cut anywhere, with descriptors anywhere. Whatever the cuts are, the messages
// must be the same, no descriptor may be lost or doubled, and no message may pass the limit.
//
// Input: bytes of the stream, between them control bytes 0xF8 to 0xFF that end a read; its low bits
// say how many descriptors came with it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/check.hpp"
#include "proto/frame.hpp"

namespace {

using namespace lyk;

constexpr std::size_t message_bytes_max = 64;

struct Read {
  std::string bytes;
  std::size_t fd_count = 0;
};

std::vector<Read> parse_reads(std::span<const std::uint8_t> input) {
  std::vector<Read> out(1);
  for (const std::uint8_t byte : input) {
    if (byte < 0xf8) {
      out.back().bytes += static_cast<char>(byte);
      continue;
    }
    // Mostly none, as in real streams, so that the inputs get somewhere.
    constexpr std::array<std::size_t, 8> counts{0, 0, 0, 0, 0, 1, 1, 2};
    out.back().fd_count = counts[byte & 7U];
    out.emplace_back();
  }
  return out;
}

// A number that stands for a descriptor: the reader only keeps it, and it is taken back before it
// would be closed, so that fuzzing makes no system calls.
class Descriptors {
public:
  UniqueFd next() { return UniqueFd{first + static_cast<int>(given_++)}; }
  void take_back(UniqueFd fd) const {
    const int number = fd.release();
    LYK_CHECK(number >= first && number < first + static_cast<int>(given_));
  }

private:
  // Above RLIMIT_NOFILE: closing one that is left does nothing.
  static constexpr int first = 1 << 20;
  std::size_t given_ = 0;
};

struct Outcome {
  std::vector<std::string> texts;
  std::size_t fds = 0;
  bool is_good = true;
};

Outcome run(const std::vector<Read>& reads) {
  Descriptors descriptors;
  FrameReader reader{message_bytes_max};
  Outcome out;
  for (const Read& read : reads) {
    std::vector<UniqueFd> fds(read.fd_count);
    for (UniqueFd& fd : fds)
      fd = descriptors.next();
    out.is_good = static_cast<bool>(reader.feed(read.bytes, fds)) && out.is_good;
    LYK_CHECK(reader.partial_bytes() <= message_bytes_max);
    while (auto frame = reader.next()) {
      LYK_CHECK(!frame->text.empty() && frame->text.size() <= message_bytes_max);
      LYK_CHECK(frame->text.find('\0') == std::string::npos);
      out.texts.push_back(std::move(frame->text));
      if (frame->fd) {
        descriptors.take_back(std::move(frame->fd));
        ++out.fds;
      }
    }
  }
  return out;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<Read> reads = parse_reads({data, size});
  const Outcome cut = run(reads);
  Read whole;
  std::size_t fds = 0;
  for (const Read& read : reads) {
    whole.bytes += read.bytes;
    fds += read.fd_count;
  }
  const Outcome uncut = run({whole});
  LYK_CHECK(cut.fds <= fds && uncut.fds == 0);
  if (cut.is_good)  // then no descriptor was one too many, and the cuts made no difference
    LYK_CHECK(uncut.is_good && cut.texts == uncut.texts);
  return 0;
}
