"""Headers that lie, are missing, never end or are none; connections that die before them."""

from collections.abc import Iterator

from .exchange import Response
from .misbehaviours import EVERYTHING, HUB_FILES, misbehaviour

_OTHER_SHA256 = "0" * 63 + "1"
_OTHER_COMMIT = "1" * 40


@misbehaviour("etag-lies", "ETag and X-Linked-ETag name the hash of another file", HUB_FILES)
def etag_lies(exchange, proceed, value):
    response = proceed()
    if response.get("X-Linked-ETag"):
        response.set("X-Linked-ETag", f'"{_OTHER_SHA256}"')
    return response.set("ETag", f'"{_OTHER_COMMIT}"') if response.get("ETag") else response


@misbehaviour("etag-path", "the ETags are a path out of the cache: ../../evil", HUB_FILES)
def etag_path(exchange, proceed, value):
    response = proceed()
    if response.get("X-Linked-ETag"):
        response.set("X-Linked-ETag", '"../../evil"')
    return response.set("ETag", '"../../evil"') if response.get("ETag") else response


@misbehaviour("etag-weak", 'the ETags are weak: W/"..."', HUB_FILES)
def etag_weak(exchange, proceed, value):
    response = proceed()
    for name in ("ETag", "X-Linked-ETag"):
        if response.get(name):
            response.set(name, f"W/{response.get(name)}")
    return response


@misbehaviour(
    "linked-size-lies", "X-Linked-Size names a length that the file does not have", HUB_FILES
)
def linked_size_lies(exchange, proceed, value):
    response = proceed()
    size = response.get("X-Linked-Size")
    return response.set("X-Linked-Size", int(size) + 1) if size else response


@misbehaviour("no-repo-commit", "X-Repo-Commit is missing", HUB_FILES)
def no_repo_commit(exchange, proceed, value):
    return proceed().remove("X-Repo-Commit")


@misbehaviour("other-repo-commit", "X-Repo-Commit names another commit", HUB_FILES)
def other_repo_commit(exchange, proceed, value):
    response = proceed()
    return (
        response.set("X-Repo-Commit", _OTHER_COMMIT) if response.get("X-Repo-Commit") else response
    )


@misbehaviour(
    "no-hub-headers",
    "every header by which the Hub is known is missing, as behind a rewriting proxy",
    HUB_FILES,
)
def no_hub_headers(exchange, proceed, value):
    response = proceed()
    for name in ("X-Repo-Commit", "X-Linked-Size", "X-Linked-ETag", "ETag", "X-Xet-Hash", "Link"):
        response.remove(name)
    return response


@misbehaviour("reset", "the connection is reset as soon as the request is read", EVERYTHING)
def reset(exchange, proceed, value):
    return Response(0, raw=[], reset=True)


@misbehaviour("close-silently", "the connection is closed without an answer", EVERYTHING)
def close_silently(exchange, proceed, value):
    return Response(0, raw=[], close=True)


@misbehaviour(
    "close-in-headers", "the connection is closed in the middle of a header line", EVERYTHING
)
def close_in_headers(exchange, proceed, value):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Len"
    return Response(200, raw=[head], close=True)


@misbehaviour(
    "stall-headers",
    "the request is read and not answered for VALUE seconds",
    EVERYTHING,
    value="3600",
)
def stall_headers(exchange, proceed, value):
    exchange.pause(float(value))
    return proceed()


@misbehaviour("headers-huge", "VALUE MiB of header lines before the body", EVERYTHING, value="16")
def headers_huge(exchange, proceed, value):
    return Response(200, raw=_header_flood(int(value)), close=True)


def _header_flood(mebibytes: int) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    line = b"X-Padding: " + b"p" * 1000 + b"\r\n"
    for _ in range(mebibytes * 1024):
        yield line
    yield b"Content-Length: 0\r\n\r\n"


@misbehaviour("headers-endless", "header lines that never end", EVERYTHING)
def headers_endless(exchange, proceed, value):
    return Response(200, raw=_endless_headers(), close=True)


def _endless_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-Padding: " + b"p" * 60_000 + b"\r\n"


@misbehaviour("header-line-huge", "one header line of VALUE MiB", EVERYTHING, value="4")
def header_line_huge(exchange, proceed, value):
    line = b"HTTP/1.1 200 OK\r\nX-Padding: " + b"p" * (int(value) * 1024**2) + b"\r\n\r\n"
    return Response(200, raw=[line], close=True)


@misbehaviour("interim-endless", "103 Early Hints without end, never an answer", EVERYTHING)
def interim_endless(exchange, proceed, value):
    return Response(103, raw=_interim(exchange), close=True)


def _interim(exchange) -> Iterator[bytes]:
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 50
        exchange.pause(0.05)


@misbehaviour("not-http", "the answer is of another protocol", EVERYTHING)
def not_http(exchange, proceed, value):
    return Response(0, raw=[b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"], close=True)


@misbehaviour("http-0.9", "the body comes without status line or headers", EVERYTHING)
def http_0_9(exchange, proceed, value):
    return Response(200, raw=[proceed().content()], close=True)


@misbehaviour("status-garbage", "the status line has no number", EVERYTHING)
def status_garbage(exchange, proceed, value):
    return Response(0, raw=[b"HTTP/1.1 fine\r\nContent-Length: 0\r\n\r\n"], close=True)


@misbehaviour(
    "header-injection", "a header value holds control characters and terminal escapes", EVERYTHING
)
def header_injection(exchange, proceed, value):
    text = "\x1b[2J\x07 owned \x1b]0;title\x07"
    return Response(500, [("X-Error-Message", text), ("X-Request-Id", text)], b"\x1b[31mred\x1b[0m")
