"""Git LFS pointer files: the one encoding that git-lfs writes, nothing more lenient."""

import hashlib
import re
from dataclasses import dataclass

VERSION = "https://git-lfs.github.com/spec/v1"
_PATTERN = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize ([0-9]+)\n"
)
POINTER_BYTES_MAX = 1024


@dataclass(frozen=True)
class Pointer:
    oid: str  # sha256 of the content, in hex
    size: int

    def text(self) -> bytes:
        return f"version {VERSION}\noid sha256:{self.oid}\nsize {self.size}\n".encode()


def pointer_to(content: bytes) -> Pointer:
    return Pointer(hashlib.sha256(content).hexdigest(), len(content))


def parse_pointer(blob: bytes) -> Pointer | None:
    """None for anything that is an ordinary file."""
    if len(blob) >= POINTER_BYTES_MAX:
        return None
    match = _PATTERN.fullmatch(blob)
    return Pointer(match[1].decode(), int(match[2])) if match else None
