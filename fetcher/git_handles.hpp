// What git_store.cpp and git_batch.cpp share of libgit2. Included by these two only.
#pragma once

#include <git2.h>

#include <string_view>

#include "fetcher/git_store.hpp"
#include "proto/unique.hpp"

namespace lyk::fetcher {

using GitRepository = UniqueHandle<git_repository, git_repository_free>;
using GitDatabase = UniqueHandle<git_odb, git_odb_free>;
using GitObject = UniqueHandle<git_odb_object, git_odb_object_free>;
using GitRemote = UniqueHandle<git_remote, git_remote_free>;
using GitReference = UniqueHandle<git_reference, git_reference_free>;

struct GitStore::State {
  GitRepository repository;
  GitDatabase database;
};

// The one place that turns libgit2's errors into ours; called on the line after the call that
// failed.
Error git_error(std::string_view what);

git_oid oid_of(const GitId& id);
GitId id_of(const git_oid& oid);

}  // namespace lyk::fetcher
