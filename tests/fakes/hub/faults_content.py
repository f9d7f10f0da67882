"""Files that arrive wrong: too short, too long, too slow, of other bytes, in another encoding."""

import gzip as gzip_format
import zlib
from collections.abc import Iterator

from .exchange import Response
from .misbehaviours import FILES, misbehaviour
from .wire import body_length

_FOREVER_S = "3600"
_GET = ("GET",)
_MIB = 1024 * 1024


def carries_file(response: Response) -> bool:
    return response.status in (200, 206) and body_length(response) is not None


def _announced(response: Response) -> bytes:
    """The whole content, with the honest Content-Length fixed in the headers."""
    content = response.content()
    response.set("Content-Length", len(content))
    return content


@misbehaviour("truncate", "half of a file arrives, then the connection closes", FILES, _GET)
def truncate(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = _announced(response)
        response.body, response.close = content[: len(content) // 2], True
    return response


@misbehaviour(
    "truncate-last-byte",
    "all of a file but its last byte arrives, then the connection closes",
    FILES,
    _GET,
)
def truncate_last_byte(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body, response.close = _announced(response)[:-1], True
    return response


@misbehaviour(
    "short-file", "a file lacks its second half, and Content-Length agrees with that", FILES, _GET
)
def short_file(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = response.content()
        response.body = content[: len(content) // 2]
    return response


@misbehaviour(
    "long-file",
    "a file has VALUE bytes too many, and Content-Length agrees with that",
    FILES,
    _GET,
    value="1",
)
def long_file(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = response.content() + b"+" * int(value)
    return response


@misbehaviour("empty-file", "200 with no bytes at all", FILES, _GET)
def empty_file(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = b""
    return response


@misbehaviour(
    "flip-byte", "the middle byte of a file is another one; the length is right", FILES, _GET
)
def flip_byte(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = bytearray(response.content())
        if content:
            content[len(content) // 2] ^= 1
        response.body = bytes(content)
    return response


@misbehaviour("zero-bytes", "a file of the right length is all zeros", FILES, _GET)
def zero_bytes(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = bytes(body_length(response))
    return response


@misbehaviour("swapped-blocks", "the two halves of a file arrive in the wrong order", FILES, _GET)
def swapped_blocks(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = response.content()
        response.body = content[len(content) // 2 :] + content[: len(content) // 2]
    return response


@misbehaviour("html-page", "200 with a web page where the file should be", FILES, _GET)
def html_page(exchange, proceed, value):
    response = proceed()
    page = b"<!DOCTYPE html><html><body><h1>Please log in to the network</h1></body></html>"
    return Response(200, [*response.headers, ("X-Cache", "portal")], page).set(
        "Content-Type", "text/html"
    )


@misbehaviour(
    "stall", "half of a file arrives, then nothing for VALUE seconds", FILES, _GET, _FOREVER_S
)
def stall(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = _announced(response)
        response.body = _halves(exchange, content, float(value))
    return response


def _halves(exchange, content: bytes, seconds: float) -> Iterator[bytes]:
    yield content[: len(content) // 2]
    exchange.pause(seconds)
    yield content[len(content) // 2 :]


@misbehaviour(
    "stall-first-byte",
    "the headers of a file arrive, its first byte only after VALUE seconds",
    FILES,
    _GET,
    _FOREVER_S,
)
def stall_first_byte(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = _late(exchange, _announced(response), float(value))
    return response


def _late(exchange, content: bytes, seconds: float) -> Iterator[bytes]:
    exchange.pause(seconds)
    yield content


@misbehaviour("drip", "one byte of a file each VALUE seconds", FILES, _GET, "1")
def drip(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = _drops(exchange, _announced(response), float(value))
    return response


def _drops(exchange, content: bytes, seconds: float) -> Iterator[bytes]:
    for at in range(len(content)):
        yield content[at : at + 1]
        exchange.pause(seconds)


@misbehaviour("endless", "a file without Content-Length whose bytes never end", FILES, _GET)
def endless(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = _repeated(response.content() or b"+")
        response.remove("Content-Length").close = True
    return response


def _repeated(content: bytes) -> Iterator[bytes]:
    block = content * (1 + 65536 // len(content))
    while True:
        yield block


@misbehaviour("reset-body", "half of a file arrives, then the connection is reset", FILES, _GET)
def reset_body(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = _announced(response)
        response.body, response.reset = content[: len(content) // 2], True
    return response


@misbehaviour(
    "gzip", "a file is sent with Content-Encoding: gzip though nobody asked for it", FILES, _GET
)
def gzip(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = gzip_format.compress(response.content(), mtime=0)
        response.set("Content-Encoding", "gzip")
    return response


@misbehaviour("gzip-unnamed", "a file is sent as gzip and no header says so", FILES, _GET)
def gzip_unnamed(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.body = gzip_format.compress(response.content(), mtime=0)
    return response


@misbehaviour(
    "gzip-bomb",
    "a few MiB with Content-Encoding: gzip that inflate to VALUE MiB",
    FILES,
    _GET,
    "4096",
)
def gzip_bomb(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.set("Content-Encoding", "gzip").set("Transfer-Encoding", "chunked")
        response.remove("Content-Length").body = _chunks(_inflating(int(value)))
    return response


def _inflating(mebibytes: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for _ in range(mebibytes):
        yield packer.compress(bytes(_MIB))
    yield packer.flush()


def _chunks(parts: Iterator[bytes], closing: bytes = b"0\r\n\r\n") -> Iterator[bytes]:
    for part in parts:
        if part:
            yield b"%x\r\n" % len(part) + part + b"\r\n"
    yield closing


@misbehaviour("chunked-cut", "a file in chunks whose closing chunk never comes", FILES, _GET)
def chunked_cut(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        parts = iter([response.content()])
        response.remove("Content-Length").set("Transfer-Encoding", "chunked").close = True
        response.body = _chunks(parts, b"")
    return response


@misbehaviour("chunked-garbage", "a file in chunks whose lengths are no numbers", FILES, _GET)
def chunked_garbage(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        content = response.content()
        response.remove("Content-Length").set("Transfer-Encoding", "chunked").close = True
        response.body = iter([b"many\r\n", content, b"\r\n0\r\n\r\n"])
    return response


@misbehaviour("length-too-small", "Content-Length names fewer bytes than follow it", FILES, _GET)
def length_too_small(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.set("Content-Length", body_length(response) // 2).close = True
    return response


@misbehaviour("length-negative", "Content-Length is a negative number", FILES, _GET)
def length_negative(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.set("Content-Length", "-1").close = True
    return response


@misbehaviour("length-huge", "Content-Length names a tebibyte more than comes", FILES, _GET)
def length_huge(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        response.set("Content-Length", body_length(response) + 1024**4).close = True
    return response


@misbehaviour("length-twice", "two Content-Length headers that contradict each other", FILES, _GET)
def length_twice(exchange, proceed, value):
    response = proceed()
    if carries_file(response):
        length = body_length(response)
        response.headers += [("Content-Length", str(length)), ("Content-Length", str(length + 7))]
        response.close = True
    return response
