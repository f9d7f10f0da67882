"""Packs that must not be believed: damaged, incomplete, of other objects, or far larger than they look."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from .exchange import Response
from .misbehaviours import misbehaviour
from .packs import (
    TYPES,
    Object,
    bomb,
    delta_bomb,
    entry_header,
    objects,
    pack,
    split_answer,
    wanted,
)
from .pointer import parse_pointer

_PACK = ("git-pack",)


def _spoil_pack(exchange, proceed, spoil: Callable[[bytes], bytes], ended: bool = True) -> Response:
    """The honest answer with its pack's bytes changed; unchanged while the sides still negotiate."""
    response = proceed()
    answer = split_answer(response.content()) if response.status == 200 else None
    if answer is not None:
        response.body = answer.with_pack(spoil(answer.pack), ended)
    return response


@dataclass(frozen=True)
class Wanted:
    """What was asked for, by id: every commit, and the tree that each names."""

    commits: frozenset
    trees: frozenset


def _spoil_objects(
    exchange, proceed, change: Callable[[Object, Wanted], Object | None]
) -> Response:
    """The honest answer with its pack rebuilt: each object as `change` gives it, or without it."""
    commits = frozenset(wanted(exchange.request.body))

    def rebuild(_: bytes) -> bytes:
        found = objects(exchange.find().repository.path, sorted(commits))
        trees = frozenset(one.content[5:45].decode() for one in found if one.id in commits)
        changed = [change(one, Wanted(commits, trees)) for one in found]
        return pack([one.packed() for one in changed if one is not None])

    return _spoil_pack(exchange, proceed, rebuild)


def _add_entries(exchange, proceed, entries: list) -> Response:
    """The honest objects with further entries behind them."""
    wants = wanted(exchange.request.body)

    def rebuild(_: bytes) -> bytes:
        found = objects(exchange.find().repository.path, wants)
        return pack([*(one.packed() for one in found), *entries])

    return _spoil_pack(exchange, proceed, rebuild)


@misbehaviour("git-pack-checksum", "the checksum at the pack's end is wrong", _PACK)
def pack_checksum(exchange, proceed, value):
    return _spoil_pack(exchange, proceed, lambda data: data[:-1] + bytes([data[-1] ^ 1]))


@misbehaviour(
    "git-pack-flip", "one bit inside the pack is flipped; the checksum is the honest one", _PACK
)
def pack_flip(exchange, proceed, value):
    def flip(data: bytes) -> bytes:
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]

    return _spoil_pack(exchange, proceed, flip)


@misbehaviour("git-pack-cut", "half of the pack arrives and the answer ends properly", _PACK)
def pack_cut(exchange, proceed, value):
    return _spoil_pack(exchange, proceed, lambda data: data[: len(data) // 2])


@misbehaviour("git-pack-dropped", "half of the pack arrives, then the connection closes", _PACK)
def pack_dropped(exchange, proceed, value):
    response = proceed()
    content = response.content()
    response.set("Content-Length", len(content)).close = True
    response.body = content[: len(content) // 2]
    return response


@misbehaviour(
    "git-pack-stall",
    "half of the pack arrives, then nothing for VALUE seconds",
    _PACK,
    value="3600",
)
def pack_stall(exchange, proceed, value):
    response = proceed()
    content = response.content()

    def halves():
        yield content[: len(content) // 2]
        exchange.pause(float(value))
        yield content[len(content) // 2 :]

    response.set("Content-Length", len(content)).body = halves()
    return response


@misbehaviour("git-pack-garbage", "the pack is no pack", _PACK)
def pack_garbage(exchange, proceed, value):
    return _spoil_pack(exchange, proceed, lambda data: b"JUNK" + bytes(range(256)) * 4)


@misbehaviour("git-pack-empty", "a valid pack of no objects", _PACK)
def pack_empty(exchange, proceed, value):
    return _spoil_pack(exchange, proceed, lambda data: pack([]))


@misbehaviour("git-pack-version", "the pack is of version 9", _PACK)
def pack_version(exchange, proceed, value):
    return _spoil_pack(exchange, proceed, lambda data: data[:4] + (9).to_bytes(4, "big") + data[8:])


@misbehaviour("git-pack-count", "the pack's head names four thousand million objects", _PACK)
def pack_count(exchange, proceed, value):
    return _spoil_pack(exchange, proceed, lambda data: data[:8] + b"\xff\xff\xff\xff" + data[12:])


@misbehaviour(
    "git-pack-bomb",
    "a pack with a blob that inflates to VALUE MiB, a thousand times its length",
    _PACK,
    value="8192",
)
def pack_bomb(exchange, proceed, value):
    return _add_entries(exchange, proceed, [bomb(int(value))])


@misbehaviour(
    "git-pack-delta-bomb",
    "a pack of a few kB with a delta that makes VALUE times 16 MiB",
    _PACK,
    value="1024",
)
def pack_delta_bomb(exchange, proceed, value):
    return _add_entries(exchange, proceed, delta_bomb(int(value)))


@misbehaviour(
    "git-pack-size-lie",
    "a pack with an object whose head says one TiB and whose data is 3 bytes",
    _PACK,
)
def pack_size_lie(exchange, proceed, value):
    return _add_entries(
        exchange, proceed, [entry_header(TYPES["blob"], 1024**4) + zlib.compress(b"abc")]
    )


@misbehaviour(
    "git-pack-extra",
    "a pack with the honest objects and VALUE others that nothing names",
    _PACK,
    value="1000",
)
def pack_extra(exchange, proceed, value):
    extra = [
        Object("blob", b"nothing names me %d" % number).packed() for number in range(int(value))
    ]
    return _add_entries(exchange, proceed, extra)


def _is_pointer(one: Object) -> bool:
    return one.kind == "blob" and parse_pointer(one.content) is not None


@misbehaviour(
    "git-wrong-commit", "the pack has another commit in place of the one that was asked for", _PACK
)
def wrong_commit(exchange, proceed, value):
    def change(one: Object, asked: Wanted) -> Object:
        return Object("commit", one.content + b"changed\n") if one.id in asked.commits else one

    return _spoil_objects(exchange, proceed, change)


@misbehaviour("git-wrong-tree", "the pack has a tree of another id than the commit names", _PACK)
def wrong_tree(exchange, proceed, value):
    def change(one: Object, asked: Wanted) -> Object:
        if one.id not in asked.trees:
            return one
        return Object("tree", one.content[:-1] + bytes([one.content[-1] ^ 1]))

    return _spoil_objects(exchange, proceed, change)


@misbehaviour(
    "git-wrong-pointer", "the pack has LFS pointers of other ids than the tree names", _PACK
)
def wrong_pointer(exchange, proceed, value):
    def change(one: Object, asked: Wanted) -> Object:
        return Object("blob", one.content[:-1] + b"0\n") if _is_pointer(one) else one

    return _spoil_objects(exchange, proceed, change)


@misbehaviour("git-missing-commit", "the pack lacks the commit that was asked for", _PACK)
def missing_commit(exchange, proceed, value):
    return _spoil_objects(
        exchange, proceed, lambda one, asked: None if one.id in asked.commits else one
    )


@misbehaviour("git-missing-tree", "the pack lacks the tree that the commit names", _PACK)
def missing_tree(exchange, proceed, value):
    return _spoil_objects(
        exchange, proceed, lambda one, asked: None if one.id in asked.trees else one
    )


@misbehaviour("git-missing-pointers", "the pack lacks every LFS pointer", _PACK)
def missing_pointers(exchange, proceed, value):
    return _spoil_objects(exchange, proceed, lambda one, asked: None if _is_pointer(one) else one)
