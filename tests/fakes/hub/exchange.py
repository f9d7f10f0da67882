"""One request and its answer, as values. Nothing here touches a socket: wire.py does.

A Response describes also what is wrong on the wire (cut, reset, verbatim bytes), so that a misbehaviour
is a function from Response to Response.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote


@dataclass(frozen=True)
class FileRange:
    """Bytes [start, start + length) of a file on disk: sent with sendfile where that is possible."""

    path: Path
    start: int
    length: int

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.length)


Body = bytes | FileRange | Iterable[bytes]


@dataclass(frozen=True)
class Request:
    method: str
    target: str  # as it came: path and query, percent-encoded
    headers: dict  # names in lower case; of repeated ones the last
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def segments(self) -> list:
        """The path split first and unquoted then: a segment may hold an encoded slash."""
        return [unquote(part) for part in self.path.split("/")[1:]]

    @property
    def query(self) -> dict:
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))


@dataclass
class Response:
    status: int = 200
    headers: list = field(
        default_factory=list
    )  # (name, value) pairs: order and repetition are kept
    body: Body = b""
    raw: Iterable[bytes] | None = None  # sent verbatim in place of status line, headers and body
    close: bool = False  # close the connection afterwards
    reset: bool = False  # ... with a TCP reset
    paced: bool = False  # the content of a file, so --pace and --duration hold

    def get(self, name: str) -> str | None:
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return None

    def set(self, name: str, value) -> "Response":
        self.remove(name)
        self.headers.append((name, str(value)))
        return self

    def remove(self, name: str) -> "Response":
        self.headers = [pair for pair in self.headers if pair[0].lower() != name.lower()]
        return self

    def content(self) -> bytes:
        """The whole body in memory; for misbehaviours that change it."""
        if isinstance(self.body, FileRange):
            return self.body.read()
        return self.body if isinstance(self.body, bytes) else b"".join(self.body)


class HubError(Exception):
    """An answer of section 2.8's kind; raised by handlers, turned into a Response by the server."""

    def __init__(self, status: int, message: str, code: str | None = None, **headers: str):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.headers = [(name.replace("_", "-"), value) for name, value in headers.items()]

    def response(self) -> Response:
        answer = json_response({"error": self.message}, self.status)
        if self.code:
            answer.set("X-Error-Code", self.code)
        answer.set("X-Error-Message", self.message)
        for name, value in self.headers:
            answer.set(name, value)
        return answer


def json_response(value, status: int = 200) -> Response:
    body = json.dumps(value).encode()
    return Response(status, [("Content-Type", "application/json; charset=utf-8")], body)


def redirect(status: int, location: str) -> Response:
    """The Hub puts the redirect's text in the body, whose length is not the file's."""
    text = f"{'Found' if status == 302 else 'Temporary Redirect'}. Redirecting to {location}"
    headers = [("Location", location), ("Content-Type", "text/plain; charset=utf-8")]
    return Response(status, headers, text.encode())
