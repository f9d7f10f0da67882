#include "fetcher/probe.hpp"

#include <algorithm>

#include "fetcher/git_walk.hpp"
#include "fetcher/prove.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::string_view heads = "refs/heads/";
constexpr std::string_view tags = "refs/tags/";

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

const RemoteRef* find_ref(std::span<const RemoteRef> refs, std::string_view name) {
  const auto at = std::find_if(refs.begin(), refs.end(),
                               [&](const RemoteRef& ref) { return ref.name == name; });
  return at == refs.end() ? nullptr : &*at;
}

std::string some_of(std::span<const std::string_view> names) {
  constexpr std::size_t shown_max = 6;
  std::string text;
  for (const std::string_view name : names.first(std::min(names.size(), shown_max)))
    text += str(text.empty() ? "" : ", ", quoted(name));
  if (names.size() > shown_max)
    text += str(" and ", names.size() - shown_max, " more");
  return text;
}

Error no_such_ref(std::span<const RemoteRef> refs, std::string_view revision) {
  std::vector<std::string_view> names;
  for (const RemoteRef& ref : refs) {
    const std::string_view name = ref.name;
    if (name.starts_with(heads))
      names.push_back(name.substr(heads.size()));
    else if (name.starts_with(tags))
      names.push_back(name.substr(tags.size()));
  }
  std::string text = str("no branch, tag or version ", quoted(revision));
  if (revision.size() >= 4 && is_hex(revision))
    text += "; a commit is written with all its 40 lower-case hex digits";
  else if (const std::string_view near = nearest(revision, names); !near.empty())
    text += str("; did you mean ", quoted(near));
  else if (names.empty())
    text += "; the repo is empty";
  else
    text += "; there is " + some_of(names);
  return Error{Code::not_found, std::move(text)};
}

Result<Probe> probe_type(cache::Store& store,
                         const ProbeRequest& request,
                         RepoType type,
                         const Context& context,
                         HttpClient& http) {
  Probe probe;
  probe.type = type;
  const auto use = [&](GitBatch& batch) -> Result<void> {
    if (const auto commit = GitId::parse(request.revision)) {
      probe.commit = *commit;
    } else {
      LYK_TRY_ASSIGN(const std::vector<RemoteRef> refs, batch.refs());
      LYK_TRY_ASSIGN(const RemoteRef ref, choose_ref(refs, request.revision));
      probe.commit = ref.commit;
      probe.reference = ref.name;
    }
    LYK_TRY(batch.fetch(probe.commit));
    LYK_TRY_ASSIGN(probe.license, license_of(batch.store(), probe.commit));
    return batch.keep(probe.commit);
  };
  LYK_TRY(with_git_batch(store, {type, request.repo}, context, http, use));
  return probe;
}

}  // namespace

Result<RemoteRef> choose_ref(std::span<const RemoteRef> refs, std::string_view revision) {
  if (is_version(revision))
    if (const RemoteRef* ref = find_ref(refs, str(heads, "v", revision)))
      return *ref;
  if (revision.starts_with("refs/")) {
    const RemoteRef* ref = find_ref(refs, revision);
    return ref != nullptr ? Result<RemoteRef>{*ref} : no_such_ref(refs, revision);
  }
  const RemoteRef* branch = find_ref(refs, str(heads, revision));
  const RemoteRef* tag = find_ref(refs, str(tags, revision));
  if (branch != nullptr && tag != nullptr && branch->commit != tag->commit)
    return Error{Code::invalid_argument,
                 str(quoted(revision), " is a branch and another commit's tag; write refs/heads/",
                     "... or refs/tags/...")};
  if (branch != nullptr)
    return *branch;
  if (tag != nullptr)
    return *tag;
  return no_such_ref(refs, revision);
}

Result<Probe> probe(cache::Store& store, const ProbeRequest& request, const Context& context) {
  LYK_TRY_ASSIGN(HttpClient http, HttpClient::open(context));
  if (context.progress)
    context.progress(Progress{});
  std::optional<Error> lacks;
  for (const RepoType type : request.repo_types) {
    auto found = probe_type(store, request, type, context, http);
    if (found) {
      found->warnings = http.warnings();
      return found;
    }
    Error error = std::move(found).error();
    if (error.code == Code::cancelled || error.code == Code::offline)
      return annotate(std::move(error), request.repo.text());
    error.message = str(name(type), " repo: ", error.message);
    if (lacks)
      lacks->message += "; " + error.message;
    else
      lacks = std::move(error);
  }
  if (!lacks)
    return Error{Code::invalid_argument, "no repo type to look for"};
  return annotate(std::move(*lacks), request.repo.text());
}

}  // namespace lyk::fetcher
