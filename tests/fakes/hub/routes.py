"""Which URL is what, and who answers it.

The path is split before it is unquoted, since a revision (`refs%2Fpr%2F1`) and a sub-path of the tree
API (`build%2Ftorch-cpu`) are one segment each.
"""

from collections.abc import Callable

from . import api, files, git_service, lfs
from .exchange import HubError, Response
from .root import PLURALS
from .state import Exchange

_PREFIXED = ("datasets", "spaces", "kernels")


def route(exchange: Exchange) -> Callable[[Exchange], Response]:
    """Fills in kind, repository, revision and path; returns the handler of this request."""
    segments = exchange.request.segments
    if segments[0] == "moved":  # where some redirects lead: the same, one folder down
        exchange.moved, segments = True, segments[1:] or [""]
    if segments[0] == "xet-bridge-us":
        exchange.kind = "cdn"
        return files.cdn
    if segments[0] == "api":
        return _api(exchange, segments[1:])
    exchange.plural = segments[0] if segments[0] in _PREFIXED else "models"
    return _web(exchange, segments[1:] if segments[0] in _PREFIXED else segments)


def _api(exchange: Exchange, segments: list) -> Callable[[Exchange], Response]:
    head = segments[0] if segments else ""
    if head == "resolve-cache" and len(segments) >= 5:
        exchange.kind, exchange.plural = "content", segments[1]
        exchange.repo_id = "/".join(segments[2:4])
        exchange.revision, exchange.path = segments[4], "/".join(segments[5:])
        return files.resolve_cache
    if head == "organizations" and segments[2:] == ["overview"]:
        exchange.kind, exchange.path = "organization", segments[1]
        return api.organization
    if head == "whoami-v2":
        return api.whoami
    if head in PLURALS:
        return _repository_api(exchange, segments)
    return not_found


def _repository_api(exchange: Exchange, segments: list) -> Callable[[Exchange], Response]:
    """/api/{plural}/[namespace/]name[/verb[/revision[/path...]]]"""
    exchange.plural, rest = segments[0], segments[1:]
    at = (
        1
        if len(rest) > 1 and rest[1] in api.VERBS and len(rest) < 4 and rest[0] not in api.VERBS
        else 2
    )
    exchange.repo_id, tail = "/".join(rest[:at]), rest[at:]
    if not tail:
        exchange.kind = "info"
        return api.info
    if tail[0] not in api.VERBS:
        return not_found
    exchange.kind = tail[0]
    exchange.revision = tail[1] if len(tail) > 1 else ""
    exchange.path = "/".join(part for part in tail[2:] if part)
    return api.VERBS[tail[0]]


def _web(exchange: Exchange, segments: list) -> Callable[[Exchange], Response]:
    """[namespace/]name/{resolve,raw}/... and git's own paths below [namespace/]name[.git]."""
    for at in (2, 1):
        exchange.repo_id, tail = "/".join(segments[:at]), segments[at:]
        if tail and tail[0] in ("resolve", "raw") and len(tail) >= 3:
            exchange.revision, exchange.path = tail[1], "/".join(tail[2:])
            if tail[0] == "raw":
                exchange.kind = "raw"
                return files.raw
            exchange.kind = "resolve"
            return files.resolve
        git_tail = "/".join(tail)
        if git_tail in _GIT_PATHS:
            exchange.repo_id = exchange.repo_id.removesuffix(".git")
            exchange.path = git_tail
            exchange.kind, handler = _GIT_PATHS[git_tail]
            return handler
    return not_found


def not_found(exchange: Exchange) -> Response:
    raise HubError(404, f"Cannot {exchange.request.method} {exchange.request.path}")


_GIT_PATHS = {
    "info/refs": ("git-refs", git_service.info_refs),
    "git-upload-pack": ("git-pack", git_service.upload_pack),
    "info/lfs/objects/batch": ("lfs-batch", lfs.batch),
}
