"""The control endpoint: reads counters and switches misbehaviours while the Hub runs. JSON over HTTP on a
port of its own, so that nothing here shows in the counters.

    GET    /counters            what has been seen        POST   /reset     forget it
    GET    /requests            the log, oldest first
    GET    /misbehaviours       what is on
    POST   /misbehaviours       {"name", "pattern", "hits", "value"}: one more
    DELETE /misbehaviours       all off                   DELETE /misbehaviours/NAME
    POST   /options             {"bytes_per_s", "file_duration_s", "page_size", "xet", "wants"}
    POST   /variants            {"repository": "kernels/ns/name", "name": NAME} -> {"commit", "branch"}
    POST   /stop                the Hub leaves
"""

import http.server
import json
import threading
from dataclasses import fields
from urllib.parse import unquote

from . import variants
from .misbehaviours import make_rule
from .state import Hub, Options


class Control(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub: Hub, port: int = 0):
        super().__init__(("127.0.0.1", port), _Connection)
        self.hub = hub
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()


class _Connection(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format, *arguments) -> None:  # noqa: A002 (the base class names it)
        """Quiet."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            given = json.loads(body) if body.strip() else {}
            path, _, argument = self.path.lstrip("/").partition("/")
            answer = _ROUTES[self.command, path](self.server.hub, given, unquote(argument))
            status = 200
        except KeyError as error:
            status, answer = 404, {"error": f"unknown: {error}"}
        except (ValueError, TypeError) as error:
            status, answer = 400, {"error": str(error)}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_DELETE = do_GET


def _reset(hub: Hub, given: dict, argument: str) -> dict:
    hub.counters.reset()
    return {}


def _switch_on(hub: Hub, given: dict, argument: str) -> dict:
    rule = make_rule(
        given["name"], given.get("pattern", "*"), given.get("hits"), given.get("value")
    )
    hub.misbehaviours.add(rule)
    return rule.describe()


def _switch_off(hub: Hub, given: dict, argument: str) -> dict:
    hub.misbehaviours.remove(argument or None)
    return {}


def _set_options(hub: Hub, given: dict, argument: str) -> dict:
    names = {field.name for field in fields(Options)}
    if unknown := set(given) - names:
        raise ValueError(f"unknown options: {sorted(unknown)}")
    for name, value in given.items():
        setattr(hub.options, name, value)
    return {name: getattr(hub.options, name) for name in sorted(names)}


def _make_variant(hub: Hub, given: dict, argument: str) -> dict:
    return variants.make(hub.root, given["repository"], given["name"])


def _stop(hub: Hub, given: dict, argument: str) -> dict:
    hub.stopping.set()
    return {}


_ROUTES = {
    ("GET", "counters"): lambda hub, given, argument: hub.counters.snapshot(),
    ("GET", "requests"): lambda hub, given, argument: hub.counters.requests(),
    ("POST", "reset"): _reset,
    ("GET", "misbehaviours"): lambda hub, given, argument: hub.misbehaviours.describe(),
    ("POST", "misbehaviours"): _switch_on,
    ("DELETE", "misbehaviours"): _switch_off,
    ("POST", "options"): _set_options,
    ("POST", "variants"): _make_variant,
    ("POST", "stop"): _stop,
}
