// Git's commit and tree objects, as far as the chain of proof needs them: a commit names one tree,
// a tree names its entries. Strict: what git itself would not write is refused. Thread rule:
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/digest.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

enum class TreeEntryKind : std::uint8_t { file, folder, symlink, submodule };

struct TreeEntry {
  TreeEntryKind kind = TreeEntryKind::file;
  std::string name;
  GitId id;
};

// The tree of a commit object's content. Fails with refused.
Result<GitId> parse_commit_tree(std::string_view content);

// The entries of a tree object's content, in its order. Refused: names that are empty, ".", "..",
// ".git", hold a slash, or are not in git's order (so none comes twice); modes that git does not
// write.
Result<std::vector<TreeEntry>> parse_tree(std::string_view content);

}  // namespace lyk::fetcher
