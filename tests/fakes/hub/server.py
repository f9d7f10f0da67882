"""The listeners, and the way of a request: read, route, answer (misbehaviours included), send, count.

Roles: "hub" (the endpoint), "cdn" (another host name for LFS contents; must never see a token) and, with
TLS, "plain" (the target of a downgrade; must never see one either). One thread per connection.
"""

import http.server
import socket
import socketserver
import ssl
import sys
import threading
import traceback
import uuid

from . import misbehaviours
from .exchange import HubError, Request, Response, json_response
from .gitprocess import GitError
from .routes import route
from .state import Exchange, Hub
from .wire import Gone, Wire, body_length

_REQUEST_BODY_BYTES_MAX = 16 * 1024 * 1024
_IDLE_S = 300
_WINDOW_S = 300
_QUOTAS = {"api": 500, "resolvers": 3000, "pages": 100}  # an anonymous caller's, per window


class Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 4096

    def __init__(self, hub: Hub, role: str, tls: ssl.SSLContext | None, port: int = 0):
        super().__init__(("127.0.0.1", port), Connection)
        self.hub, self.role, self.tls = hub, role, tls
        host = "localhost" if role == "cdn" else "127.0.0.1"
        hub.urls[role] = f"{'https' if tls else 'http'}://{host}:{self.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def get_request(self):
        accepted = super().get_request()
        self.hub.counters.connected(self.role)
        return accepted

    def shutdown_request(self, request) -> None:
        """The polite FIN, unless wire.reset() has asked for the other thing."""
        linger = request.fileno() >= 0 and request.getsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, 8
        )
        if linger and linger[:4] != bytes(4):
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request, client_address) -> None:
        """A client that leaves in the middle is no event; a mistake of ours must be seen."""
        if not isinstance(sys.exc_info()[1], (OSError, Gone)):
            traceback.print_exc()


class Connection(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_S

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request.settimeout(_IDLE_S)
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if self.server.tls is not None:
            self.request.close()  # the listener knows only the socket that TLS has taken over

    def log_message(self, format, *arguments) -> None:  # noqa: A002 (the base class names it)
        """The counters are the log."""

    def do_GET(self) -> None:
        hub = self.server.hub
        wire = Wire(self.connection, hub.stopping)
        exchange = self._exchange(wire)
        if self.server.role != "hub" and "authorization" in exchange.request.headers:
            hub.counters.leaked(self.server.role, exchange.request.path)
        try:
            response = respond(exchange)
        except Gone:
            response = Response(0, raw=[], close=True)
        # Counted before it is sent, so that whoever has the answer finds it counted.
        record = self._count(exchange, response.status)
        try:
            wire.send(response, self.command, _bytes_per_s(hub, response))
            if response.reset:
                wire.reset()
            self.close_connection = self.close_connection or response.close or response.reset
        except Gone:
            self.close_connection = True
        finally:
            hub.counters.sent(record, wire.sent_bytes)

    do_HEAD = do_POST = do_GET

    def _exchange(self, wire: Wire) -> Exchange:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self._body(headers))
        scheme = "https" if self.server.tls is not None else "http"
        base = f"{scheme}://{headers.get('host', '127.0.0.1')}"
        return Exchange(self.server.hub, request, self.server.role, base, wire.pause)

    def _body(self, headers: dict) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunked_body()
        length = int(headers.get("content-length") or 0)
        return self.rfile.read(min(length, _REQUEST_BODY_BYTES_MAX))

    def _chunked_body(self) -> bytes:
        parts, total = [], 0
        while size := int(self.rfile.readline(64).split(b";")[0] or b"0", 16):
            total += size
            if total > _REQUEST_BODY_BYTES_MAX:
                raise ConnectionError("the request's body is too long")
            parts.append(self.rfile.read(size))
            self.rfile.readline(64)
        while self.rfile.readline(1024).strip():
            pass  # trailers
        return b"".join(parts)

    def _count(self, exchange: Exchange, status: int) -> dict:
        headers = exchange.request.headers
        return self.server.hub.counters.answered(
            {
                "listener": exchange.role,
                "method": exchange.request.method,
                "target": exchange.request.target,
                "kind": exchange.kind,
                "status": status,
                "bytes": 0,
                "range": headers.get("range"),
                "authorization": "authorization" in headers,
                "user_agent": headers.get("user-agent", ""),
            }
        )


def respond(exchange: Exchange) -> Response:
    """The answer, complete with what every answer carries."""
    try:
        handler = route(exchange)
        response = misbehaviours.answer(exchange, lambda: _honest(exchange, handler))
    except Gone:
        raise
    except Exception:  # noqa: BLE001 (the edge of a request: nothing may end the Hub)
        traceback.print_exc()
        response = json_response({"error": "the fake Hub has failed; its stderr says how"}, 500)
    for name, value in _common_headers(exchange):
        if response.get(name) is None and not (
            exchange.kind == "cdn" and name.startswith("RateLimit")
        ):
            response.headers.append((name, value))
    length = body_length(response)
    framed = response.get("Content-Length") or response.get("Transfer-Encoding")
    if length is not None and not framed and response.status != 304:
        response.set("Content-Length", length)
    elif length is None and not framed:
        response.close = True  # the end of the body is the end of the connection
    if response.close:
        response.set("Connection", "close")
    return response


def _honest(exchange: Exchange, handler) -> Response:
    try:
        target = _renamed(exchange)
        if target is not None:
            return Response(307, [("Location", target)], b"Temporary Redirect")
        return handler(exchange)
    except HubError as error:
        return error.response()
    except GitError as error:
        return HubError(500, f"Internal error: {error}").response()


def _renamed(exchange: Exchange) -> str | None:
    """A renamed repository answers with a relative redirect that keeps path and query."""
    if not exchange.repo_id or exchange.kind == "content":
        return None
    new = exchange.hub.root.settings("renames").get(exchange.key)
    if new is None:
        return None
    plural, _, repo_id = new.partition("/")
    if plural != exchange.plural:
        return None
    return exchange.request.target.replace(f"/{exchange.repo_id}", f"/{repo_id}", 1)


def _common_headers(exchange: Exchange) -> list:
    bucket = "resolvers" if exchange.kind in ("resolve", "content", "raw") else "api"
    if exchange.kind.startswith("git"):
        bucket = "pages"
    quota = _QUOTAS[bucket]
    return [
        ("X-Request-Id", f"Root=1-{uuid.uuid4().hex[:8]}-{uuid.uuid4().hex[:24]}"),
        ("RateLimit", f'"{bucket}";r={quota - 2};t=172'),
        ("RateLimit-Policy", f'"fixed window";"{bucket}";q={quota};w={_WINDOW_S}'),
    ]


def _bytes_per_s(hub: Hub, response: Response) -> float | None:
    if not response.paced:
        return None
    length = body_length(response)
    if hub.options.file_duration_s and length:
        return length / hub.options.file_duration_s
    return hub.options.bytes_per_s
