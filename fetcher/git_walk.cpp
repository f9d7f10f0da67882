#include "fetcher/git_walk.hpp"

#include <algorithm>
#include <utility>

#include "fetcher/git_format.hpp"
#include "fetcher/hub_json.hpp"
#include "fetcher/pointer.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

struct Folder {
  std::string path;  // with its closing slash; empty at the root
  GitId id;
  int depth = 0;
};

// The folders of a repo that can hold candidates.
bool is_worth_entering(const std::string& path) {
  return path == "build/" || path == "images/" || path.starts_with("build/") ||
         path.starts_with("images/");
}

bool is_metadata(std::string_view path) {
  return path.starts_with("build/") && path.ends_with("/metadata.json") &&
         std::count(path.begin(), path.end(), '/') == 2;
}

// What a candidate's blob proves of its content.
Result<cache::Proof> proof_of(const GitStore& store, const GitId& blob) {
  LYK_TRY_ASSIGN(const std::uint64_t bytes, store.size(blob, ObjectKind::blob));
  if (bytes <= limits::pointer_bytes_max) {
    LYK_TRY_ASSIGN(const std::string content,
                   store.read(blob, ObjectKind::blob, limits::pointer_bytes_max));
    if (looks_like_pointer(content)) {
      LYK_TRY_ASSIGN(const Pointer pointer, parse_pointer(content));
      return cache::Proof{pointer.sha256, std::nullopt, pointer.bytes};
    }
  }
  return cache::Proof{std::nullopt, blob, bytes};
}

class Walk {
public:
  Walk(const GitStore& store, const Pin& pin) : store_(store), pin_(pin) {}

  Result<Listing> run() {
    LYK_TRY_ASSIGN(const std::string commit,
                   store_.read(pin_.revision, ObjectKind::commit, limits::api_bytes_max));
    LYK_TRY_ASSIGN(const GitId root, parse_commit_tree(commit));
    folders_.push_back({"", root, 0});
    while (!folders_.empty()) {
      const Folder folder = std::move(folders_.back());
      folders_.pop_back();
      LYK_TRY(enter(folder));
    }
    std::sort(listing_.files.begin(), listing_.files.end(),
              [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
    return std::move(listing_);
  }

private:
  Result<void> enter(const Folder& folder) {
    if (folder.depth > limits::tree_depth_max)
      return Error{Code::refused, str("git tree ", quoted(folder.path), ": deeper than ",
                                      limits::tree_depth_max, " folders")};
    LYK_TRY_ASSIGN(const std::string content,
                   store_.read(folder.id, ObjectKind::tree, limits::git_object_bytes_max));
    LYK_TRY_ASSIGN(const std::vector<TreeEntry> entries, parse_tree(content));
    entries_ += entries.size();
    if (entries_ > limits::tree_entries_max)
      return Error{Code::refused,
                   str("git tree: more than ", limits::tree_entries_max, " entries in all")};
    for (const TreeEntry& entry : entries)
      LYK_TRY(add(folder, entry));
    return {};
  }

  Result<void> add(const Folder& folder, const TreeEntry& entry) {
    const std::string path = folder.path + entry.name;
    if (entry.kind == TreeEntryKind::folder) {
      if (is_worth_entering(path + '/'))
        folders_.push_back({path + '/', entry.id, folder.depth + 1});
      return {};
    }
    const auto repo_path = RepoPath::parse(path);
    if (!repo_path)
      return {};  // a name that we would never write is never a candidate
    if (is_metadata(path) && entry.kind == TreeEntryKind::file)
      LYK_TRY(add_metadata(*repo_path, entry.id));
    if (!is_candidate(pin_, *repo_path))
      return {};
    if (entry.kind != TreeEntryKind::file)
      return Error{Code::refused,
                   str(quoted(path), " is a ",
                       entry.kind == TreeEntryKind::symlink ? "symbolic link" : "submodule",
                       " in the commit, not a file")};
    auto proof = proof_of(store_, entry.id);
    if (!proof)
      return annotate(std::move(proof).error(), quoted(path));
    listing_.files.push_back({*repo_path, *proof});
    return {};
  }

  // A hint: whatever is wrong with it, it is just not there.
  Result<void> add_metadata(const RepoPath& path, const GitId& blob) {
    const auto content = store_.read(blob, ObjectKind::blob, limits::metadata_bytes_max);
    if (!content)
      return {};
    std::vector<Arch> archs = metadata_archs(*content);
    if (!archs.empty())
      listing_.variant_archs.emplace(variant_of(path), std::move(archs));
    return {};
  }

  const GitStore& store_;
  const Pin& pin_;
  std::vector<Folder> folders_;
  std::size_t entries_ = 0;
  Listing listing_;
};

// Takes one line off the front of `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

// Without blanks and quotation marks around it; empty if it is no licence's name.
std::string license_name(std::string_view value) {
  constexpr std::string_view around = " \t\"'";
  constexpr std::size_t license_bytes_max = 64;
  const auto begin = value.find_first_not_of(around);
  if (begin == std::string_view::npos)
    return {};
  value = value.substr(begin, value.find_last_not_of(around) - begin + 1);
  const bool good =
      value.size() <= license_bytes_max &&
      std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  return good ? std::string{value} : std::string{};
}

// The value of `license:` between the two lines `---` at the beginning.
std::string front_matter_license(std::string_view readme) {
  constexpr std::string_view key = "license:";
  constexpr std::string_view fence = "---";
  if (take_line(readme) != fence)
    return {};
  while (!readme.empty()) {
    const std::string_view line = take_line(readme);
    if (line == fence)
      break;
    if (line.starts_with(key))
      return license_name(line.substr(key.size()));
  }
  return {};
}

}  // namespace

Result<Listing> list_commit(const GitStore& store, const Pin& pin) {
  return Walk{store, pin}.run();
}

Result<std::string> license_of(const GitStore& store, const GitId& commit) {
  LYK_TRY_ASSIGN(const std::string content,
                 store.read(commit, ObjectKind::commit, limits::api_bytes_max));
  LYK_TRY_ASSIGN(const GitId root, parse_commit_tree(content));
  LYK_TRY_ASSIGN(const std::string tree,
                 store.read(root, ObjectKind::tree, limits::git_object_bytes_max));
  LYK_TRY_ASSIGN(const std::vector<TreeEntry> entries, parse_tree(tree));
  const auto readme = std::find_if(entries.begin(), entries.end(), [](const TreeEntry& entry) {
    return entry.kind == TreeEntryKind::file && entry.name == "README.md";
  });
  if (readme == entries.end())
    return std::string{};
  const auto text = store.read(readme->id, ObjectKind::blob, limits::metadata_bytes_max);
  return text ? front_matter_license(*text) : std::string{};
}

}  // namespace lyk::fetcher
