"""Repositories that are wrong in themselves: bad pointers, evil trees, libraries that are none.

A variant is a repository beside the honest one, `<namespace>/<name>.<variant>`, whose branches main and v1
have one commit: the honest tree with one defect. Its commit id is the same on every machine for the same
honest branch. git_service.py sends its objects as they are, since git refuses to pack some of them.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import packs
from .gitprocess import commit_bytes, create_repository, git, tree_bytes, write_object
from .kernel_repo import store_lfs
from .pointer import Pointer
from .repository import Entry, Repository
from .root import Root

_TIB = 1024**4
_DEEP, _WIDE = 600, 20_000


@dataclass
class Draft:
    """The commit that a variant spoils."""

    root: Root
    repository: Path
    entries: tuple  # of the honest commit

    @property
    def libraries(self) -> list:
        """The LFS files: most variants spoil every one, so that it does not matter which a reader wants."""
        return [entry for entry in self.entries if entry.pointer is not None]

    @property
    def target(self) -> Entry:
        return self.libraries[0]

    def content(self, library: Entry) -> bytes:
        return self.root.lfs_file(library.pointer.oid).read_bytes()

    def write_blob(self, content: bytes) -> str:
        return write_object(self.repository, "blob", content)

    def files(self) -> dict:
        """Path -> (mode, id), of the honest commit."""
        return {
            entry.path: (entry.mode, entry.oid) for entry in self.entries if entry.kind != "tree"
        }

    def with_files(self, files: dict) -> str:
        """The honest tree with these files put in or replaced; the id of the new root tree."""
        return _write_tree(self.repository, self.files() | files)

    def with_libraries(self, blob: Callable[[Entry], bytes], mode: str = "100644") -> str:
        """The honest tree with another blob in place of every library's pointer."""
        return self.with_files(
            {one.path: (mode, self.write_blob(blob(one))) for one in self.libraries}
        )

    def with_pointers(self, text: Callable[[Pointer], bytes]) -> str:
        return self.with_libraries(lambda one: text(one.pointer))

    def with_contents(self, content: Callable[[bytes], bytes]) -> str:
        """Honest pointers to spoiled contents."""
        return self.with_libraries(
            lambda one: store_lfs(self.root.path, content(self.content(one))).text()
        )

    def with_root_entry(self, mode: str, name, oid: str) -> str:
        """The honest root tree with one entry more, which git itself might not make."""
        return write_object(
            self.repository, "tree", tree_bytes(_in_order([*self.root_rows(), (mode, name, oid)]))
        )

    def root_rows(self) -> list:
        roots = [entry for entry in self.entries if "/" not in entry.path]
        return [(entry.mode.lstrip("0"), entry.path, entry.oid) for entry in roots]


@dataclass(frozen=True)
class Variant:
    name: str
    text: str
    build: Callable[[Draft], str]


_catalogue: dict = {}


def variant(name: str, text: str):
    def register(function):
        if name in _catalogue or any(text == other.text for other in _catalogue.values()):
            raise ValueError(f"variant '{name}' repeats a name or a text")
        _catalogue[name] = Variant(name, text, function)
        return function

    return register


def catalogue() -> dict:
    return _catalogue


def make(root: Root, key: str, name: str) -> dict:
    """Writes the repository `<key>.<name>` and says which commit it has."""
    if name not in _catalogue:
        raise ValueError(f"no variant is called '{name}'; --list prints them")
    plural, _, repo_id = key.partition("/")
    path = root.repository_path(plural, repo_id)
    if path is None:
        raise ValueError(f"no repository '{key}'")
    honest = Repository(path)
    refs = honest.refs()
    commit = refs.get("refs/heads/v1") or refs["refs/heads/main"]
    entries = honest.entries(commit)
    if all(entry.pointer is None for entry in entries):
        raise ValueError(f"'{key}' has no LFS file to spoil")
    spoiled = create_repository(root.path / f"{key}.{name}.git")
    for one in packs.objects(path, [commit]):
        if one.kind != "commit":
            write_object(spoiled, one.kind, one.content)
    tree = _catalogue[name].build(Draft(root, spoiled, entries))
    made = write_object(spoiled, "commit", commit_bytes(tree, [], f"Variant {name}"))
    for branch in ("main", "v1"):
        git(spoiled, "update-ref", f"refs/heads/{branch}", made)
    (spoiled / packs.VERBATIM).touch()
    return {"repository": f"{key}.{name}", "id": f"{repo_id}.{name}", "name": name, "commit": made}


def is_variant(root: Root, key: str) -> bool:
    return (root.path / f"{key}.git" / packs.VERBATIM).exists()


def _in_order(rows: list) -> list:
    """As git sorts a tree: a folder as if its name ended with a slash."""

    def sort_key(row: tuple) -> bytes:
        name = row[1] if isinstance(row[1], bytes) else row[1].encode()
        return name + (b"/" if row[0] == "40000" else b"")

    return sorted(rows, key=sort_key)


def _write_tree(repository: Path, files: dict) -> str:
    """Nested trees, in git's order, from path -> (mode, id)."""
    here, below = {}, {}
    for path, entry in files.items():
        head, _, rest = path.partition("/")
        if rest:
            below.setdefault(head, {})[rest] = entry
        else:
            here[head] = entry
    rows = [(mode, name, oid) for name, (mode, oid) in here.items()]
    rows += [("40000", name, _write_tree(repository, inner)) for name, inner in below.items()]
    return write_object(repository, "tree", tree_bytes(_in_order(rows)))


# Pointers.


@variant(
    "pointer-other-hash",
    "pointers name the hash of another content of the same length, which exists",
)
def pointer_other_hash(draft):
    def other(pointer: Pointer) -> bytes:
        return store_lfs(
            draft.root.path, hashlib.shake_256(pointer.oid.encode()).digest(pointer.size)
        ).text()

    return draft.with_pointers(other)


@variant("pointer-no-content", "pointers name a hash of which no content exists")
def pointer_no_content(draft):
    return draft.with_pointers(lambda pointer: Pointer("5" * 64, pointer.size).text())


@variant("pointer-other-size", "pointers name one byte more than the content has")
def pointer_other_size(draft):
    return draft.with_pointers(lambda pointer: Pointer(pointer.oid, pointer.size + 1).text())


@variant("pointer-smaller-size", "pointers name one byte less than the content has")
def pointer_smaller_size(draft):
    return draft.with_pointers(lambda pointer: Pointer(pointer.oid, pointer.size - 1).text())


@variant("pointer-terabyte", "pointers say that their content is 1 TiB long")
def pointer_terabyte(draft):
    return draft.with_pointers(lambda pointer: Pointer(pointer.oid, _TIB).text())


@variant("pointer-size-overflow", "a pointer's size does not fit into 64 bits")
def pointer_size_overflow(draft):
    return draft.with_pointers(lambda pointer: Pointer(pointer.oid, 10**30).text())


@variant("pointer-size-negative", "a pointer's size is negative")
def pointer_size_negative(draft):
    return draft.with_pointers(lambda pointer: Pointer(pointer.oid, -pointer.size).text())


@variant("pointer-extension", "a pointer has an extension line")
def pointer_extension(draft):
    line = b"ext-0-scramble sha256:" + b"6" * 64 + b"\noid "
    return draft.with_pointers(lambda pointer: pointer.text().replace(b"oid ", line, 1))


@variant("pointer-upper-case", "a pointer's hash has capital letters")
def pointer_upper_case(draft):
    return draft.with_pointers(lambda pointer: Pointer(pointer.oid.upper(), pointer.size).text())


@variant("pointer-crlf", "a pointer's lines end with CR LF")
def pointer_crlf(draft):
    return draft.with_pointers(lambda pointer: pointer.text().replace(b"\n", b"\r\n"))


@variant("pointer-unended", "a pointer's last line has no end")
def pointer_unended(draft):
    return draft.with_pointers(lambda pointer: pointer.text()[:-1])


@variant("pointer-unknown-version", "a pointer is of version v9")
def pointer_unknown_version(draft):
    return draft.with_pointers(lambda pointer: pointer.text().replace(b"spec/v1", b"spec/v9"))


@variant("pointer-sha1", "a pointer's hash is a SHA-1")
def pointer_sha1(draft):
    return draft.with_pointers(
        lambda pointer: pointer.text().replace(
            b"sha256:" + pointer.oid.encode(), b"sha1:" + b"7" * 40
        )
    )


@variant("pointer-twice", "a pointer names two hashes")
def pointer_twice(draft):
    return draft.with_pointers(
        lambda pointer: pointer.text().replace(b"size ", b"oid sha256:" + b"8" * 64 + b"\nsize ")
    )


@variant("pointer-to-pointer", "the content of an LFS file is itself a pointer")
def pointer_to_pointer(draft):
    return draft.with_pointers(lambda pointer: store_lfs(draft.root.path, pointer.text()).text())


# Trees.


@variant("tree-symlink", "every library is a symbolic link to /etc/passwd")
def tree_symlink(draft):
    return draft.with_libraries(lambda one: b"/etc/passwd", "120000")


@variant("tree-symlink-folder", "build/ is a symbolic link to a folder outside")
def tree_symlink_folder(draft):
    rows = [row for row in draft.root_rows() if row[1] != "build"]
    link = ("120000", "build", draft.write_blob(b"/tmp"))
    return write_object(draft.repository, "tree", tree_bytes(_in_order([*rows, link])))


@variant("tree-submodule", "every library is a submodule")
def tree_submodule(draft):
    return draft.with_files({one.path: ("160000", "9" * 40) for one in draft.libraries})


@variant("tree-dotdot", "the root tree has an entry called '..'")
def tree_dotdot(draft):
    return draft.with_root_entry("100644", "..", draft.target.oid)


@variant("tree-dot-git", "the root tree has a folder called .git with a hook in it")
def tree_dot_git(draft):
    hook = draft.write_blob(b"#!/bin/sh\ntouch /tmp/owned\n")
    folder = write_object(draft.repository, "tree", tree_bytes([("100755", "post-checkout", hook)]))
    return draft.with_root_entry("40000", ".git", folder)


@variant("tree-slash", "an entry's name holds slashes and dots: ../../evil.so")
def tree_slash(draft):
    return draft.with_root_entry("100644", "../../evil.so", draft.target.oid)


@variant("tree-absolute", "an entry's name is /tmp/evil.so")
def tree_absolute(draft):
    return draft.with_root_entry("100644", "/tmp/evil.so", draft.target.oid)


@variant("tree-empty-name", "an entry has an empty name")
def tree_empty_name(draft):
    return draft.with_root_entry("100644", "", draft.target.oid)


@variant("tree-control", "an entry's name holds a line break and a terminal escape")
def tree_control(draft):
    return draft.with_root_entry("100644", "images\n\x1b[2J.cubin", draft.target.oid)


@variant("tree-not-utf8", "an entry's name is not UTF-8")
def tree_not_utf8(draft):
    return draft.with_root_entry("100644", b"\xff\xfe.cubin", draft.target.oid)


@variant("tree-twice", "two entries have the same name")
def tree_twice(draft):
    return draft.with_root_entry("100644", "README.md", draft.target.oid)


@variant("tree-case", "two entries differ only in case")
def tree_case(draft):
    return draft.with_files({"readme.MD": ("100644", draft.target.oid)})


@variant("tree-unsorted", "the entries of the root tree are in the wrong order")
def tree_unsorted(draft):
    return write_object(draft.repository, "tree", tree_bytes(draft.root_rows()[::-1]))


@variant("tree-odd-mode", "an entry's mode is one that git does not know")
def tree_odd_mode(draft):
    return draft.with_root_entry("104755", "zz.cubin", draft.target.oid)


@variant("tree-cut", "the root tree ends in the middle of an entry")
def tree_cut(draft):
    content = git(draft.repository, "cat-file", "tree", draft.with_files({}))
    return write_object(draft.repository, "tree", content[:-5])


@variant("tree-missing-blob", "an entry names an object that is nowhere")
def tree_missing_blob(draft):
    return draft.with_root_entry("100644", "zz.cubin", "a" * 40)


@variant("tree-deep", f"folders {_DEEP} deep")
def tree_deep(draft):
    inner, mode, name = draft.target.oid, "100644", "deep.cubin"
    for _ in range(_DEEP):
        inner = write_object(draft.repository, "tree", tree_bytes([(mode, name, inner)]))
        mode, name = "40000", "d"
    return draft.with_root_entry("40000", "d", inner)


@variant("tree-wide", f"{_WIDE} files in one folder")
def tree_wide(draft):
    rows = [("100644", f"{number:06d}.cubin", draft.target.oid) for number in range(_WIDE)]
    folder = write_object(draft.repository, "tree", tree_bytes(rows))
    return draft.with_root_entry("40000", "zz", folder)


@variant("tree-long-name", "an entry's name is 5000 characters long")
def tree_long_name(draft):
    return draft.with_root_entry("100644", "z" * 5000 + ".cubin", draft.target.oid)


# Contents.


@variant("library-text", "every library is a text file")
def library_text(draft):
    return draft.with_contents(lambda content: b"This is not a shared library.\n" * 40)


@variant("library-cut", "every library is the first half of one")
def library_cut(draft):
    return draft.with_contents(lambda content: content[: len(content) // 2])


@variant("library-scrambled", "every library has other bytes in its second half")
def library_scrambled(draft):
    return draft.with_contents(
        lambda content: content[: len(content) // 2]
        + bytes(byte ^ 0x5A for byte in content[len(content) // 2 :])
    )


@variant("library-empty", "every library has no bytes")
def library_empty(draft):
    return draft.with_libraries(lambda one: b"")


@variant("library-plain", "the libraries are in git itself, without LFS (which is no defect)")
def library_plain(draft):
    return draft.with_libraries(draft.content)


@variant("build-missing", "the commit has a card and nothing else")
def build_missing(draft):
    return _write_tree(draft.repository, {"README.md": draft.files()["README.md"]})


def _with_metadata(draft, text: bytes) -> str:
    spoiled = ("100644", draft.write_blob(text))
    return draft.with_files(
        {path: spoiled for path in draft.files() if path.endswith("/metadata.json")}
    )


@variant("metadata-garbage", "every metadata.json is broken JSON")
def metadata_garbage(draft):
    return _with_metadata(draft, b'{"name": "deformable-detr", "backend": ')


@variant("metadata-lies", "every metadata.json lists only architecture 1.0")
def metadata_lies(draft):
    return _with_metadata(
        draft,
        b'{"name":"deformable-detr","id":"_x","version":1,"license":"Apache-2.0",'
        b'"python-depends":[],"backend":{"type":"cuda","archs":["1.0"]}}',
    )


@variant("metadata-old", "every metadata.json has the form from before names and ids")
def metadata_old(draft):
    return _with_metadata(draft, b'{"version":0,"license":"Apache-2.0","python-depends":[]}')


@variant("redirected", "a kernel-status.toml sends readers to another repository")
def redirected(draft):
    text = b'kind = "redirect"\ndestination = "somebody-else/deformable-detr"\nrevision = "main"\n'
    return draft.with_files({"kernel-status.toml": ("100644", draft.write_blob(text))})
