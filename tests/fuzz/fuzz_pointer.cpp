// The formats at the edge of the chain of proof: LFS pointers, git trees and commits, packs, the
// lines around them, and what the Hub says in JSON. The first byte chooses the parser. What a
// pointer parser accepts is the one valid encoding of its values.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fetcher/git_format.hpp"
#include "fetcher/hub_json.hpp"
#include "fetcher/pack_guard.hpp"
#include "fetcher/pointer.hpp"
#include "fetcher/upload_pack.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace {

using namespace lyk;
using namespace lyk::fetcher;

void check_pointer(std::string_view text) {
  const auto pointer = parse_pointer(text);
  if (!pointer)
    return;
  LYK_CHECK(looks_like_pointer(text));
  LYK_CHECK(text == str("version https://git-lfs.github.com/spec/v1\noid sha256:",
                        pointer->sha256.hex(), "\nsize ", pointer->bytes, "\n"));
}

void check_tree(std::string_view text) {
  const auto entries = parse_tree(text);
  if (!entries)
    return;
  for (const TreeEntry& entry : *entries)
    LYK_CHECK(!entry.name.empty() && entry.name != "." && entry.name != ".." &&
              entry.name.find_first_of(std::string_view{"/\0", 2}) == std::string::npos);
}

// Small limits, so that they are reached; the same bytes in pieces must give the same answer.
void check_pack(std::string_view text) {
  const PackLimits bounds{1U << 20U, 1U << 16U, 1U << 18U, 1000};
  const auto feed = [&](std::size_t step) {
    PackGuard guard{bounds};
    Result<void> result;
    for (std::size_t i = 0; i < text.size() && result; i += step)
      result =
          guard.feed(std::as_bytes(std::span{text}.subspan(i, std::min(step, text.size() - i))));
    return result && guard.finish();
  };
  LYK_CHECK(feed(text.size() + 1) == feed(7));
}

void check_lines(std::string_view text) {
  UploadPackReader reader{PackLimits{1U << 20U, 1U << 16U, 1U << 18U, 1000}};
  if (reader.feed(std::as_bytes(std::span{text})))
    (void)reader.finish();  // any answer will do
  (void)advertised_capabilities(text);
}

void check_json(std::string_view text) {
  (void)error_text(text);
  (void)metadata_archs(text);
  (void)parse_lfs_batch(text, Pointer{});
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string text{data + 1, data + size};
  switch (data[0] % 6) {
    case 0:
      check_pointer(text);
      break;
    case 1:
      check_tree(text);
      break;
    case 2:
      (void)parse_commit_tree(text);
      break;
    case 3:
      check_pack(text);
      break;
    case 4:
      check_lines(text);
      break;
    case 5:
      check_json(text);
      break;
  }
  return 0;
}
