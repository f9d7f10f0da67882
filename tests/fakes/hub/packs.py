"""Git's packs and pkt-lines, as far as an answer of upload-pack must be taken apart and built anew."""

import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .gitprocess import git

TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
REF_DELTA = 7
VERBATIM = (
    "served-verbatim"  # a file of this name in a repository: send every object, whatever is asked
)
_BAND_BYTES_MAX = 65515
_WANT = re.compile(rb"want ([0-9a-f]{40})")


@dataclass(frozen=True)
class Object:
    kind: str
    content: bytes

    @property
    def id(self) -> str:
        return hashlib.sha1(
            f"{self.kind} {len(self.content)}\0".encode() + self.content
        ).hexdigest()

    def packed(self) -> bytes:
        return entry_header(TYPES[self.kind], len(self.content)) + zlib.compress(self.content)


@dataclass(frozen=True)
class Answer:
    """What upload-pack sends: acknowledgements, then the pack, in a band of its own or bare."""

    head: bytes
    pack: bytes
    banded: bool

    def with_pack(self, pack: bytes, ended: bool = True) -> bytes:
        if not self.banded:
            return self.head + pack
        bands = [
            pkt_line(b"\1" + pack[at : at + _BAND_BYTES_MAX])
            for at in range(0, len(pack), _BAND_BYTES_MAX)
        ]
        return self.head + b"".join(bands) + (b"0000" if ended else b"")


def pkt_line(content: bytes) -> bytes:
    return b"%04x" % (len(content) + 4) + content


def split_answer(body: bytes) -> Answer | None:
    """None while the two sides still negotiate: then no pack is in the answer."""
    at, head_end, bands, banded = 0, 0, [], False
    while at < len(body):
        if body[at : at + 4] == b"PACK":
            return Answer(body[:at], body[at:], False)
        length = int(body[at : at + 4], 16)
        content = body[at + 4 : at + length] if length else b""
        at += max(length, 4)
        if content[:1] == b"\1":
            banded = True
            bands.append(content[1:])
        if not banded and content[:1] != b"\2":
            head_end = at
    return Answer(body[:head_end], b"".join(bands), True) if banded else None


def wanted(body: bytes) -> list:
    """The commits that a request asks for."""
    return [match.decode() for match in _WANT.findall(body)]


def objects(repository: Path, wants: Sequence[str]) -> list:
    """Every object that is reachable from the wants, whatever the client says it has."""
    listed = git(repository, "rev-list", "--objects", "--no-object-names", *wants)
    return _read(git(repository, "cat-file", "--batch", stdin=listed))


def every_object(repository: Path) -> list:
    return _read(git(repository, "cat-file", "--batch", "--batch-all-objects"))


def _read(stream: bytes) -> list:
    """The objects that `git cat-file --batch` prints."""
    at, found = 0, []
    while at < len(stream):
        end = stream.index(b"\n", at)
        _, kind, size = stream[at:end].decode().split()
        at = end + 1
        found.append(Object(kind, stream[at : at + int(size)]))
        at += int(size) + 1
    return found


def pack(entries: Sequence[bytes], count: int | None = None) -> bytes:
    """A pack of entries that are packed already, with the checksum that belongs to it."""
    body = (
        b"PACK"
        + (2).to_bytes(4, "big")
        + (len(entries) if count is None else count).to_bytes(4, "big")
    )
    body += b"".join(entries)
    return body + hashlib.sha1(body).digest()


def entry_header(kind: int, size: int) -> bytes:
    first, size = (kind << 4) | (size & 0xF), size >> 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    header.append(first)
    return bytes(header)


def varint(number: int) -> bytes:
    """As the head of a delta has its two lengths."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(0x80 | (number & 0x7F))
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def zeros(mebibytes: int) -> bytes:
    """zlib's form of that many MiB of zeros, without compressing them: one block, repeated."""
    unit = 1024 * 1024
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(unit)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(unit)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = (mebibytes * unit % 65521) << 16 | 1  # Adler-32 of zeros
    return first + again * (mebibytes - 1) + b"\x03\x00" + checksum.to_bytes(4, "big")


def bomb(mebibytes: int) -> bytes:
    """One entry, a thousandth as long as the blob it stands for."""
    return entry_header(TYPES["blob"], mebibytes * 1024 * 1024) + zeros(mebibytes)


def delta_bomb(copies: int) -> list:
    """A base of 16 MiB and a delta that repeats it: seven bytes a copy."""
    base = Object("blob", bytes(16 * 1024 * 1024))
    chunk = 0xFFFFFF
    delta = varint(len(base.content)) + varint(copies * chunk) + b"\xf0\xff\xff\xff" * copies
    head = entry_header(REF_DELTA, len(delta)) + bytes.fromhex(base.id)
    return [base.packed(), head + zlib.compress(delta)]
