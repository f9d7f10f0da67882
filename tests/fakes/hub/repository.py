"""One bare git repository as the Hub's API shows it.

What a commit or blob id names never changes, so those answers are remembered; what a branch names is
read each time. Thread rule: any thread may call anything.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from .gitprocess import GitError, git
from .pointer import POINTER_BYTES_MAX, Pointer, parse_pointer

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,39}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")


@dataclass(frozen=True)
class Entry:
    mode: str
    kind: str  # "blob", "tree" or "commit" (a submodule)
    oid: str  # git's id: of the pointer where the file is in LFS
    size: int  # of the blob in git
    path: str
    pointer: Pointer | None = None

    @property
    def content_size(self) -> int:
        return self.pointer.size if self.pointer else self.size


@dataclass(frozen=True)
class Commit:
    id: str
    title: str
    message: str
    author: str
    date: str


class Repository:
    def __init__(self, path: Path):
        self.path = path

    def refs(self) -> dict:
        """Full reference name -> commit id, of branches, tags and pull requests."""
        lines = git(self.path, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")
        found = {}
        for line in lines.decode().splitlines():
            name, direct, peeled = (line.split(" ") + [""])[:3]
            found[name] = peeled or direct
        return found

    def resolve(self, revision: str) -> str | None:
        """The commit that a branch, tag, `refs/...` name, full or abbreviated commit id stands for."""
        if _COMMIT.fullmatch(revision):
            return revision if _is_commit(self.path, revision) else None
        if not _REVISION.fullmatch(revision):
            return None
        names = self.refs()
        for name in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            if name in names:
                return names[name]
        if not _ABBREVIATED.fullmatch(revision):
            return None
        try:
            return (
                git(self.path, "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
            )
        except GitError:
            return None

    def entries(self, commit: str) -> tuple:
        """Every file and folder of a commit, in git's order."""
        return _entries(self.path, commit)

    def entry(self, commit: str, path: str) -> Entry | None:
        return _by_path(self.path, commit).get(path)

    def blob(self, oid: str) -> bytes:
        return _blob(self.path, oid)

    def commits(self, commit: str) -> list:
        layout = "%H%x1f%s%x1f%b%x1f%an%x1f%aI%x1e"
        text = git(self.path, "log", f"--format={layout}", commit).decode("utf-8", "replace")
        rows = [row.lstrip("\n").split("\x1f") for row in text.split("\x1e")[:-1]]
        return [Commit(*row) for row in rows]


@functools.lru_cache(maxsize=4096)
def _known_commit(path: Path, commit: str) -> bool:
    if git(path, "cat-file", "-t", commit) != b"commit\n":
        raise GitError(f"'{commit}' is not a commit")
    return True


def _is_commit(path: Path, commit: str) -> bool:
    try:
        return _known_commit(
            path, commit
        )  # only success is remembered: a commit may be added later
    except GitError:
        return False


@functools.lru_cache(maxsize=256)
def _entries(path: Path, commit: str) -> tuple:
    rows = git(path, "ls-tree", "-r", "-t", "-l", "-z", commit).split(b"\0")[:-1]
    found = []
    for row in rows:
        description, _, name = row.partition(b"\t")
        mode, kind, oid, size = description.decode().split()
        found.append((mode, kind, oid, int(size) if size.isdigit() else 0, name))
    small = {oid for _, kind, oid, size, _ in found if kind == "blob" and size < POINTER_BYTES_MAX}
    blobs = _blobs(path, sorted(small))
    return tuple(
        Entry(
            mode,
            kind,
            oid,
            size,
            name.decode("utf-8", "surrogateescape"),
            parse_pointer(blobs[oid]) if oid in blobs else None,
        )
        for mode, kind, oid, size, name in found
    )


@functools.lru_cache(maxsize=256)
def _by_path(path: Path, commit: str) -> dict:
    return {entry.path: entry for entry in _entries(path, commit)}


@functools.lru_cache(maxsize=4096)
def _blob(path: Path, oid: str) -> bytes:
    return git(path, "cat-file", "blob", oid)


def _blobs(path: Path, oids: list) -> dict:
    """Many blobs with one process. A missing one is left out."""
    if not oids:
        return {}
    stream = git(path, "cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode())
    found, at = {}, 0
    while at < len(stream):
        end = stream.index(b"\n", at)
        words = stream[at:end].decode().split()
        at = end + 1
        if len(words) == 3:
            size = int(words[2])
            found[words[0]] = stream[at : at + size]
            at += size + 1
    return found
