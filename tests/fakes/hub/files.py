"""Contents of files: /resolve/ with its two families, /api/resolve-cache/, /raw/, and the CDN.

A plain file: 307 to the content cache on the same host. An LFS file: 302 to a signed URL on another
host, the identifying headers only on the Hub's own answer. A private, gated, nameless or empty one: 200
at once.
"""

import hashlib
import re
from pathlib import Path
from urllib.parse import quote

from .exchange import FileRange, HubError, Request, Response, redirect
from .repository import Entry
from .root import Found
from .state import Exchange, quoted, xet_hash

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def locate(exchange: Exchange) -> tuple:
    """(Found, commit, Entry) of the file that the URL names, or the Hub's refusal."""
    hub, request = exchange.hub, exchange.request
    found = exchange.find()
    hub.root.require_granted(request, found)
    commit = found.repository.resolve(exchange.revision)
    if commit is None:
        raise HubError(404, f"Invalid rev id: {exchange.revision}", "RevisionNotFound")
    entry = found.repository.entry(commit, exchange.path)
    if entry is None or entry.kind != "blob":
        raise HubError(404, "Entry not found", "EntryNotFound", X_Repo_Commit=commit)
    return found, commit, entry


def answers_directly(found: Found, entry: Entry) -> bool:
    plain = entry.pointer is None
    return plain and (found.private or bool(found.gated) or "/" not in found.id or entry.size == 0)


def resolve(exchange: Exchange) -> Response:
    found, commit, entry = locate(exchange)
    if entry.pointer is not None:
        return _redirect_to_cdn(exchange, found, commit, entry)
    if answers_directly(found, entry):
        return _plain(exchange, found, commit, entry)
    path = f"/api/resolve-cache/{found.plural}/{found.id}/{commit}/{quoted(entry.path)}"
    own = quote(exchange.request.path, safe="")
    return redirect(307, f"{path}?{own}=&etag=%22{entry.oid}%22")


def resolve_cache(exchange: Exchange) -> Response:
    found, commit, entry = locate(exchange)
    if entry.pointer is not None:
        raise HubError(404, "Entry not found", "EntryNotFound", X_Repo_Commit=commit)
    return _plain(exchange, found, commit, entry)


def raw(exchange: Exchange) -> Response:
    """The blob as git has it: of an LFS file the pointer."""
    return _plain(exchange, *locate(exchange))


def _plain(exchange: Exchange, found: Found, commit: str, entry: Entry) -> Response:
    headers = [("X-Repo-Commit", commit), ("Content-Type", "text/plain; charset=utf-8")]
    content = found.repository.blob(entry.oid)
    return _ranged(exchange.request, content, None, f'"{entry.oid}"', headers)


def _redirect_to_cdn(exchange: Exchange, found: Found, commit: str, entry: Entry) -> Response:
    oid = entry.pointer.oid
    response = redirect(302, exchange.hub.signed_url(found.key, oid))
    response.set("X-Repo-Commit", commit).set("X-Linked-Size", entry.pointer.size)
    response.set("X-Linked-ETag", f'"{oid}"').set("ETag", f'"{xet_hash(oid)[::-1]}"')
    response.set("Accept-Ranges", "bytes")
    if exchange.hub.options.xet:
        xet = xet_hash(oid)
        refresh = exchange.url(f"/api/{found.plural}/{found.id}/xet-read-token/{commit}")
        rebuild = f"{exchange.hub.urls['cdn']}/v1/reconstructions/{xet}"
        response.set("X-Xet-Hash", xet)
        response.set(
            "Link", f'<{refresh}>; rel="xet-auth", <{rebuild}>; rel="xet-reconstruction-info"'
        )
    return response


def cdn(exchange: Exchange) -> Response:
    """The other host: knows signed URLs and bytes, no repositories, no tokens."""
    if "authorization" in exchange.request.headers:
        text = b"<Error><Message>Only one auth mechanism allowed</Message></Error>"
        return Response(400, [("Content-Type", "application/xml")], text)
    oid = exchange.hub.signed_oid(exchange.request)
    if oid is None:
        return expired()
    path = exchange.hub.root.lfs_file(oid)
    if not path.is_file():
        return Response(404, [("Content-Type", "text/plain")], b"Not Found")
    headers = [("Content-Type", "application/octet-stream"), ("X-Amz-Cf-Id", oid[:20])]
    return _ranged(exchange.request, None, path, f'"{xet_hash(oid)}"', headers)


def expired() -> Response:
    """A CDN's refusal has no header of the Hub's."""
    text = b"<Error><Code>AccessDenied</Code><Message>Access denied</Message></Error>"
    return Response(
        403, [("Content-Type", "application/xml"), ("X-Cache", "Error from cloudfront")], text
    )


def _ranged(
    request: Request, content: bytes | None, path: Path | None, etag: str, headers: list
) -> Response:
    """200, 206, 304 or 416 for a body that is either in memory or in a file."""
    total = len(content) if content is not None else path.stat().st_size
    headers = [("ETag", etag), ("Accept-Ranges", "bytes"), *headers]
    if request.headers.get("if-none-match") in (etag, "*"):
        return Response(304, headers)
    status, start, end = 200, 0, total
    asked = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if asked and request.headers.get("if-range", etag) == etag and asked.group(0) != "bytes=-":
        first, last = asked.groups()
        start = int(first) if first else max(0, total - int(last))
        end = min(int(last) + 1, total) if first and last else total
        if start >= total or end <= start:
            return Response(416, [("Content-Range", f"bytes */{total}"), *headers])
        status = 206
        headers.append(("Content-Range", f"bytes {start}-{end - 1}/{total}"))
    body = content[start:end] if content is not None else FileRange(path, start, end - start)
    return Response(status, headers, body, paced=True)


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
