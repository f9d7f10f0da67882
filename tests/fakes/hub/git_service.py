"""Git's smart HTTP, answered by `git http-backend` from the real repository (protocol version 0)."""

import os
import subprocess
import zlib
from pathlib import Path

from . import packs
from .exchange import HubError, Response
from .gitprocess import git_environment
from .root import Found
from .state import Exchange

# What uploadpack lets a client ask for beside the advertised refs.
_WANTS = {
    "refs": (),
    "tip": ("uploadpack.allowTipSHA1InWant",),
    "reachable": ("uploadpack.allowTipSHA1InWant", "uploadpack.allowReachableSHA1InWant"),
    "any": ("uploadpack.allowAnySHA1InWant",),
}
WANTS = tuple(_WANTS)


def info_refs(exchange: Exchange) -> Response:
    if exchange.request.query.get("service") != "git-upload-pack":
        raise HubError(403, "Only git-upload-pack is served")
    return _backend(exchange, _readable(exchange).repository.path)


def upload_pack(exchange: Exchange) -> Response:
    repository = _readable(exchange).repository.path
    if (repository / packs.VERBATIM).exists():
        return _verbatim(exchange, repository)
    return _backend(exchange, repository)


def _verbatim(exchange: Exchange, repository: Path) -> Response:
    """Every object, unchecked: git itself would refuse to send some of them."""
    asked = _inflated(exchange.request.body, exchange.request.headers.get("content-encoding"))
    head = packs.pkt_line(b"NAK\n")
    if b"done" in asked:
        pack = packs.pack([one.packed() for one in packs.every_object(repository)])
        head = packs.Answer(head, b"", b"side-band" in asked).with_pack(pack)
    return Response(200, [("Content-Type", "application/x-git-upload-pack-result")], head)


def _readable(exchange: Exchange) -> Found:
    found = exchange.find()
    exchange.hub.root.require_granted(exchange.request, found)
    return found


def _backend(exchange: Exchange, repository: Path) -> Response:
    request = exchange.request
    settings = [(key, "true") for key in _WANTS[exchange.wants or exchange.hub.options.wants]]
    environment = git_environment(settings) | {
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROJECT_ROOT": str(repository.parent),
        "PATH_INFO": f"/{repository.name}/{exchange.path}",
        "QUERY_STRING": request.target.partition("?")[2],
        "REQUEST_METHOD": "GET" if request.method == "HEAD" else request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "REMOTE_ADDR": "127.0.0.1",
    }
    body = _inflated(request.body, request.headers.get("content-encoding"))
    environment["CONTENT_LENGTH"] = str(len(body))
    done = subprocess.run(
        ["git", "http-backend"],
        input=body,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return _from_cgi(done.stdout)


def _inflated(body: bytes, encoding: str | None) -> bytes:
    """git compresses long lists of wants."""
    if encoding != "gzip":
        return body
    try:
        return zlib.decompress(body, wbits=16 + zlib.MAX_WBITS)
    except zlib.error as error:
        raise HubError(400, "The body is not gzip") from error


def _from_cgi(output: bytes) -> Response:
    head, separator, body = output.partition(b"\r\n\r\n")
    if not separator:
        raise HubError(500, "git http-backend failed")
    response = Response(200, [], body)
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "status":
            response.status = int(value.split()[0])
        else:
            response.headers.append((name, value.strip()))
    return response


def have_backend() -> bool:
    folder = subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return os.access(os.path.join(folder, "git-http-backend"), os.X_OK)
