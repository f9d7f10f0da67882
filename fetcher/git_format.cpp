#include "fetcher/git_format.hpp"

#include <algorithm>
#include <optional>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

Error refuse(std::string_view what, std::string_view why) {
  return Error{Code::refused, str("git ", what, ": ", why)};
}

std::optional<TreeEntryKind> kind_of(std::string_view mode) {
  // 100664 is what very old versions of git wrote.
  if (mode == "100644" || mode == "100755" || mode == "100664")
    return TreeEntryKind::file;
  if (mode == "40000")
    return TreeEntryKind::folder;
  if (mode == "120000")
    return TreeEntryKind::symlink;
  if (mode == "160000")
    return TreeEntryKind::submodule;
  return std::nullopt;
}

bool is_dot_git(std::string_view name) {
  return name.size() == 4 && name[0] == '.' && (name[1] == 'g' || name[1] == 'G') &&
         (name[2] == 'i' || name[2] == 'I') && (name[3] == 't' || name[3] == 'T');
}

bool is_good_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && !is_dot_git(name) &&
         name.find('/') == std::string_view::npos;
}

// Git orders a folder as if its name ended in '/'.
std::string order_key(const TreeEntry& entry) {
  return entry.kind == TreeEntryKind::folder ? entry.name + '/' : entry.name;
}

}  // namespace

Result<GitId> parse_commit_tree(std::string_view content) {
  constexpr std::string_view key = "tree ";
  constexpr std::size_t line_end = key.size() + 40;
  if (!content.starts_with(key) || content.size() <= line_end || content[line_end] != '\n')
    return refuse("commit", "it does not begin with the line of its tree");
  auto id = GitId::parse(content.substr(key.size(), 40));
  if (!id)
    return refuse("commit", "the id of its tree is not 40 hex digits");
  return *id;
}

Result<std::vector<TreeEntry>> parse_tree(std::string_view content) {
  constexpr std::size_t id_bytes = 20;
  std::vector<TreeEntry> entries;
  while (!content.empty()) {
    const auto space = content.find(' ');
    const auto nul = content.find('\0');
    if (space == std::string_view::npos || nul == std::string_view::npos || nul < space ||
        content.size() - nul - 1 < id_bytes)
      return refuse("tree", "it ends inside an entry");
    const auto kind = kind_of(content.substr(0, space));
    const std::string_view name = content.substr(space + 1, nul - space - 1);
    if (!kind)
      return refuse("tree", str("entry ", quoted(name), " has the unknown mode ",
                                quoted(content.substr(0, space))));
    if (!is_good_name(name))
      return refuse("tree", str("entry ", quoted(name), " has a name that no file may have"));
    TreeEntry entry{*kind, std::string{name}, {}};
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(nul + 1), id_bytes,
                entry.id.bytes.begin());
    if (!entries.empty() && order_key(entries.back()) >= order_key(entry))
      return refuse("tree", str("entry ", quoted(name), " is out of order or there twice"));
    entries.push_back(std::move(entry));
    if (entries.size() > limits::tree_entries_max)
      return refuse("tree", str("more than ", limits::tree_entries_max, " entries"));
    content.remove_prefix(nul + 1 + id_bytes);
  }
  return entries;
}

}  // namespace lyk::fetcher
