"""Puts a Response on a socket, faults of the wire included."""

import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from http.client import responses as REASONS

from .exchange import FileRange, Response

_SLICE_BYTES = 64 * 1024
_PACE_STEP_S = 0.02


class Gone(Exception):
    """The client closed its end, or the Hub is stopping."""


class Wire:
    """One connection's sending side. `stopping` ends every pause at once."""

    def __init__(self, connection: socket.socket, stopping: threading.Event):
        self._connection = connection
        self._stopping = stopping
        self.sent_bytes = 0

    def write(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except (OSError, ValueError) as error:
            raise Gone(str(error)) from error
        self.sent_bytes += len(data)

    def pause(self, seconds: float) -> None:
        """Waits, but not for a client that has left."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._stopping.wait(min(left, 0.1)):
                raise Gone("the Hub is stopping")
            if self._client_left():
                raise Gone("the client has left")

    def _client_left(self) -> bool:
        if isinstance(self._connection, ssl.SSLSocket):
            return False  # TLS cannot peek; such a pause lasts until it is over or the Hub stops
        try:
            readable, _, _ = select.select([self._connection], [], [], 0)
            return bool(readable) and self._connection.recv(1, socket.MSG_PEEK) == b""
        except (OSError, ValueError):
            return True

    def reset(self) -> None:
        """The next close sends RST in place of FIN."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def send(self, response: Response, method: str, bytes_per_s: float | None) -> None:
        """`bytes_per_s` slows the body down; None is as fast as it goes."""
        if response.raw is not None:
            self._stream(response.raw)
            return
        head = _head(response)
        if method == "HEAD" or response.status in (204, 304):
            self.write(head)
        elif isinstance(response.body, bytes) and not bytes_per_s:
            self.write(head + response.body)
        elif isinstance(response.body, FileRange) and not bytes_per_s:
            self.write(head)
            self._send_file(response.body)
        else:
            self.write(head)
            self._stream(self._paced(_slices(response), bytes_per_s))

    def _stream(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.write(part)

    def _send_file(self, part: FileRange) -> None:
        with open(part.path, "rb") as file:
            try:
                sent = (
                    self._connection.sendfile(file, part.start, part.length) if part.length else 0
                )
            except OSError as error:
                raise Gone(str(error)) from error
        self.sent_bytes += sent

    def _paced(self, parts: Iterator[bytes], bytes_per_s: float | None) -> Iterator[bytes]:
        if not bytes_per_s:
            yield from parts
            return
        step = max(1, int(bytes_per_s * _PACE_STEP_S))
        begun, sent = time.monotonic(), 0
        for part in parts:
            for at in range(0, len(part), step):
                piece = part[at : at + step]
                yield piece
                sent += len(piece)
                self.pause(begun + sent / bytes_per_s - time.monotonic())


def _head(response: Response) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {REASONS.get(response.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in response.headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _slices(response: Response) -> Iterator[bytes]:
    if isinstance(response.body, bytes):
        for at in range(0, len(response.body), _SLICE_BYTES):
            yield response.body[at : at + _SLICE_BYTES]
    elif isinstance(response.body, FileRange):
        with open(response.body.path, "rb") as file:
            file.seek(response.body.start)
            left = response.body.length
            while left > 0 and (part := file.read(min(left, _SLICE_BYTES))):
                left -= len(part)
                yield part
    else:
        yield from response.body


def body_length(response: Response) -> int | None:
    """None for a body that is made while it is sent."""
    if isinstance(response.body, bytes):
        return len(response.body)
    return response.body.length if isinstance(response.body, FileRange) else None
