"""An HTTP proxy: CONNECT tunnels, and plain requests in absolute form.

Names other than this machine's are taken to mean the Hub itself, so a client that reaches
`http://hub.test` has used the proxy. Everything it carries is counted under the role "proxy".
"""

import http.client
import http.server
import select
import socket
import ssl
import sys
import threading
from base64 import b64encode
from urllib.parse import urlsplit

from .state import Hub

_LOCAL = ("127.0.0.1", "localhost", "::1")
_BLOCK_BYTES = 65536
_IDLE_S = 300


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, hub: Hub, tls: ssl.SSLContext | None, login: str | None):
        super().__init__(("127.0.0.1", 0), _Connection)
        self.hub, self.tls = hub, tls
        self.expected = "Basic " + b64encode(login.encode()).decode() if login else None
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def get_request(self):
        accepted = super().get_request()
        self.hub.counters.connected("proxy")
        return accepted

    def target(self, host: str, port: int | None) -> tuple:
        """Where a request for this host is carried."""
        if host in _LOCAL and port:
            return host, port
        hub = urlsplit(self.hub.urls["hub"])
        return hub.hostname, hub.port

    def handle_error(self, request, client_address) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Connection(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_S

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request.settimeout(_IDLE_S)
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, format, *arguments) -> None:  # noqa: A002 (the base class names it)
        """The counters are the log."""

    def _refused(self) -> bool:
        expected = self.server.expected
        if expected is None or self.headers.get("Proxy-Authorization") == expected:
            return False
        self.send_response(407)
        self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def _count(self, status: int, sent_bytes: int = 0) -> None:
        counters = self.server.hub.counters
        record = counters.answered(
            {
                "listener": "proxy",
                "method": self.command,
                "target": self.path,
                "kind": "proxy",
                "status": status,
                "bytes": 0,
                "range": None,
                "authorization": "Authorization" in self.headers,
                "user_agent": self.headers.get("User-Agent", ""),
            }
        )
        counters.sent(record, sent_bytes)

    def do_CONNECT(self) -> None:
        if self._refused():
            self._count(407)
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection(
            self.server.target(host.strip("[]"), int(port)), _IDLE_S
        ) as far:
            self._count(200)
            self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self._pump(far)
        self.close_connection = True

    def _pump(self, far: socket.socket) -> None:
        """Carries bytes both ways until either side ends."""
        near = self.connection
        while not self.server.hub.stopping.is_set():
            held = near.pending() if isinstance(near, ssl.SSLSocket) else 0
            readable = [near] if held else select.select([near, far], [], [], 0.5)[0]
            for source in readable:
                block = source.recv(_BLOCK_BYTES)
                if not block:
                    return
                (far if source is near else near).sendall(block)

    def do_GET(self) -> None:
        if self._refused():
            self._count(407)
            return
        where = urlsplit(self.path)
        if where.scheme != "http" or not where.hostname:
            self.send_error(400, "A proxy wants an absolute URL")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        far = http.client.HTTPConnection(
            *self.server.target(where.hostname, where.port), timeout=_IDLE_S
        )
        own = ("proxy-authorization", "proxy-connection", "connection")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in own}
        path = where.path + (f"?{where.query}" if where.query else "")
        far.request(self.command, path or "/", body or None, headers)
        self._return(far.getresponse())
        far.close()

    def _return(self, answer: http.client.HTTPResponse) -> None:
        content = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(length or 0))
        self._count(answer.status, len(content))
        self.end_headers()
        self.wfile.write(content)

    do_HEAD = do_POST = do_GET
