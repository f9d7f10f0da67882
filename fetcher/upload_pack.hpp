// Git's smart HTTP answers, read while they arrive and before libgit2 sees them: the capabilities
// of an advertisement, and the lines and the pack of an upload-pack answer (protocol v0). Thread
// rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fetcher/pack_guard.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

// The capabilities that an `info/refs` answer names on its first ref. protocol: it is no whole
// advertisement; refused: of a repo whose object ids are not SHA-1; else what the server says in
// place of one.
Result<std::vector<std::string>> advertised_capabilities(std::string_view advertisement);

// Follows an answer to a POST of git-upload-pack: pkt-lines, then perhaps a pack, in side-band or
// bare.
class UploadPackReader {
public:
  explicit UploadPackReader(const PackLimits& bounds) : guard_(bounds) {}

  // not_found: the server has not what was asked for; protocol: it answers otherwise than git does;
  // refused: the pack breaks a limit.
  Result<void> feed(std::span<const std::byte> bytes);
  // Nothing more comes. protocol: the answer is empty or ends in the middle.
  Result<void> finish() const;

private:
  Result<void> begin_line();  // its length is read
  Result<void> add_line();

  PackGuard guard_;
  std::string length_;  // the four hex digits of a line, as they come
  std::string line_;    // its content, or its beginning
  std::size_t line_left_ = 0;
  std::size_t other_bytes_ = 0;  // of lines that are not the pack
  bool in_line_ = false;
  bool bare_pack_ = false;  // what comes is the pack itself, without lines
  bool any_line_ = false;
  bool pack_begun_ = false;
};

}  // namespace lyk::fetcher
