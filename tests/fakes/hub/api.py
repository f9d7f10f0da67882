"""The JSON API, as far as huggingface_hub, kernels and we read it (1.4 of the protocol notes)."""

import base64
import hashlib
from urllib.parse import parse_qs, quote

from .exchange import HubError, Response, json_response
from .repository import Entry
from .root import Found
from .state import Exchange, xet_hash

_EXPANDED_PAGE_SIZE = 50
_DATE = "2026-08-01T10:00:00.000Z"


def _commit(exchange: Exchange, found: Found) -> str:
    revision = exchange.revision or "main"
    commit = found.repository.resolve(revision)
    if commit is None:
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return commit


def info(exchange: Exchange) -> Response:
    found = exchange.find()
    commit = _commit(exchange, found)
    described = {
        "_id": hashlib.sha256(found.key.encode()).hexdigest()[:24],
        "id": found.id,
        "author": found.id.split("/")[0],
        "sha": commit,
        "private": found.private,
        "gated": found.gated,
        "disabled": False,
        "downloads": 10,
        "likes": 1,
        "tags": [],
        "lastModified": _DATE,
        "createdAt": _DATE,
    }
    if found.plural != "kernels":
        files = [entry for entry in found.repository.entries(commit) if entry.kind == "blob"]
        described["siblings"] = [{"rfilename": entry.path} for entry in files]
    return json_response(described).set("X-Repo-Commit", commit)


def refs(exchange: Exchange) -> Response:
    kinds: dict = {"branches": [], "converts": [], "tags": [], "pullRequests": []}
    families = {"refs/heads/": "branches", "refs/tags/": "tags", "refs/pr/": "pullRequests"}
    for name, commit in exchange.find().repository.refs().items():
        for prefix, family in families.items():
            if name.startswith(prefix):
                short = name if family == "pullRequests" else name.removeprefix(prefix)
                kinds[family].append({"name": short, "ref": name, "targetCommit": commit})
    if exchange.request.query.get("include_prs") not in ("1", "true"):
        del kinds["pullRequests"]
    return json_response(kinds)


def describe(entry: Entry, expand: bool, xet: bool) -> dict:
    described = {
        "type": "directory" if entry.kind == "tree" else "file",
        "oid": entry.oid,
        "size": entry.content_size,
        "path": entry.path,
    }
    if entry.pointer is not None:
        described["lfs"] = {
            "oid": entry.pointer.oid,
            "size": entry.pointer.size,
            "pointerSize": entry.size,
        }
        if xet:
            described["xetHash"] = xet_hash(entry.pointer.oid)
    if expand:
        described["lastCommit"] = {"id": entry.oid, "title": "Add files", "date": _DATE}
        if described["type"] == "file":
            described["securityFileStatus"] = {"status": "unscanned"}
    return described


def tree(exchange: Exchange) -> Response:
    found = exchange.find()
    commit = _commit(exchange, found)
    query = exchange.request.query
    recursive, expand = query.get("recursive") == "true", query.get("expand") == "true"
    folder = f"{exchange.path}/" if exchange.path else ""
    entries = [entry for entry in found.repository.entries(commit) if entry.path.startswith(folder)]
    if folder and not entries:
        raise HubError(404, "Entry not found", "EntryNotFound", X_Repo_Commit=commit)
    if not recursive:
        entries = [entry for entry in entries if "/" not in entry.path.removeprefix(folder)]
    described = [describe(entry, expand, exchange.hub.options.xet) for entry in entries]
    return _page(exchange, described, expand).set("X-Repo-Commit", commit)


def _page(exchange: Exchange, items: list, expand: bool) -> Response:
    """One page, and where the next one is."""
    query = exchange.request.query
    size = min(exchange.hub.options.page_size, _EXPANDED_PAGE_SIZE if expand else 1000)
    size = min(size, int(query.get("limit", size)))
    start = int(base64.urlsafe_b64decode(query["cursor"])) if "cursor" in query else 0
    response = json_response(items[start : start + size])
    if start + size < len(items):
        cursor = base64.urlsafe_b64encode(str(start + size).encode()).decode()
        kept = [f"{key}={quote(value)}" for key, value in query.items() if key != "cursor"]
        address = (
            exchange.url(exchange.request.path) + "?" + "&".join([*kept, f"cursor={quote(cursor)}"])
        )
        response.set("Link", f'<{address}>; rel="next"')
    return response


def paths_info(exchange: Exchange) -> Response:
    found = exchange.find()
    commit = _commit(exchange, found)
    form = parse_qs(exchange.request.body.decode(), keep_blank_values=True)
    expand = form.get("expand", ["false"])[0].lower() == "true"
    entries = (found.repository.entry(commit, path.strip("/")) for path in form.get("paths", []))
    return json_response(
        [describe(entry, expand, exchange.hub.options.xet) for entry in entries if entry]
    )


def commits(exchange: Exchange) -> Response:
    found = exchange.find()
    listed = [
        {
            "id": one.id,
            "title": one.title,
            "message": one.message,
            "authors": [{"user": one.author}],
            "date": one.date.replace("+00:00", ".000Z"),
        }
        for one in found.repository.commits(_commit(exchange, found))
    ]
    return json_response(listed).set("X-Total-Count", len(listed))


def xet_read_token(exchange: Exchange) -> Response:
    """This Hub has no Xet storage: clients must manage with the plain download."""
    exchange.find()
    raise HubError(404, "Xet is not enabled for this repository")


def organization(exchange: Exchange) -> Response:
    exchange.hub.root.caller(exchange.request)
    name = exchange.path
    known = exchange.hub.root.settings("organizations").get(name)
    if known is None:
        raise HubError(404, "This organization does not exist")
    overview = {
        "avatarUrl": exchange.url("/avatar.png"),
        "name": name,
        "fullname": known.get("fullname", name),
    }
    overview["isVerified"] = bool(known.get("verified"))
    if known.get("trusted"):
        overview["trustedKernelPublisher"] = True
    return json_response(overview)


def whoami(exchange: Exchange) -> Response:
    caller = exchange.hub.root.caller(exchange.request)
    if caller.token is None:
        raise HubError(401, "Invalid username or password.")
    user = exchange.hub.root.settings("tokens")[caller.token].get("user", "someone")
    return json_response(
        {
            "type": "user",
            "id": user,
            "name": user,
            "fullname": user,
            "orgs": [],
            "auth": {"type": "access_token", "accessToken": {"role": "read"}},
        }
    )


VERBS = {
    "refs": refs,
    "revision": info,
    "tree": tree,
    "paths-info": paths_info,
    "commits": commits,
    "xet-read-token": xet_read_token,
}
