-- The index of a store, format 1. docs/store_format.md tells what the files are; here is what is known
-- about them. Everything but `uses` can be made anew from the blobs, the git objects and the pins.
--
-- `STRICT` makes SQLite check the types. Times are seconds since 1970, hashes are raw bytes.

PRAGMA application_id = 1280920403;  -- 'LYKS'
PRAGMA user_version = 1;

CREATE TABLE revisions (
  id INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('kernel', 'model')),
  commit_id BLOB NOT NULL CHECK (length(commit_id) = 20),
  gated INTEGER NOT NULL CHECK (gated IN (0, 1)),  -- 1: the Hub asked for a token
  UNIQUE (repo, type, commit_id)
) STRICT;

-- Proven content. A row is written after its file blobs/sha256/ab/<sha256> is on the disk.
-- `inode` and `mtime_ns` are what the file had when it was last hashed: a hint for what to hash first.
CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
  git_blob BLOB CHECK (length(git_blob) = 20),  -- NULL: never computed
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  added_s INTEGER NOT NULL,
  verified_s INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX blobs_by_git_blob ON blobs (git_blob) WHERE git_blob IS NOT NULL;

-- The names of the content.
CREATE TABLE files (
  revision INTEGER NOT NULL REFERENCES revisions (id),
  path TEXT NOT NULL,
  blob INTEGER NOT NULL REFERENCES blobs (id),
  proof TEXT NOT NULL CHECK (proof IN ('git', 'digests')),
  added_s INTEGER NOT NULL,
  PRIMARY KEY (revision, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_blob ON files (blob);

-- The device images inside, as kernels/image read them. `place` counts from 0 in the file's own order.
-- `kernels` is a list of `symbol NUL name NUL offset:size,offset:size NUL`.
CREATE TABLE images (
  blob INTEGER NOT NULL REFERENCES blobs (id),
  place INTEGER NOT NULL,
  kind TEXT NOT NULL,
  container TEXT NOT NULL,
  arch TEXT NOT NULL,
  compression TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
  toolkit TEXT,
  ptx_version TEXT,
  stored_offset INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  unpacked_bytes INTEGER NOT NULL,
  kernels BLOB NOT NULL,
  UNIQUE (blob, place)
) STRICT;

-- When content was last handed out. Keyed by content, so that it outlives a rebuild of the rest.
CREATE TABLE uses (
  sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
  used_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
