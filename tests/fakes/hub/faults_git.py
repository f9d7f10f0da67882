"""Git's conversation gone wrong: advertisements, redirects, errors, and branches that moved."""

import json
from collections.abc import Iterator
from pathlib import Path

from .exchange import HubError, Response, redirect
from .gitprocess import commit_bytes, create_repository, git, tree_bytes, write_object
from .misbehaviours import API, GIT, HUB_FILES, misbehaviour
from .packs import pkt_line
from .repository import Repository

_REFS = ("git-refs",)
_PACK = ("git-pack",)
_REPOSITORY = (*GIT, *API, *HUB_FILES)
_ADVERTISEMENT = ("Content-Type", "application/x-git-upload-pack-advertisement")
_RESULT = ("Content-Type", "application/x-git-upload-pack-result")
_SERVICE = pkt_line(b"# service=git-upload-pack\n") + b"0000"


@misbehaviour("git-refs-garbage", "info/refs is random bytes of the right content type", _REFS)
def refs_garbage(exchange, proceed, value):
    return Response(200, [_ADVERTISEMENT], bytes(range(256)) * 8)


@misbehaviour("git-refs-html", "info/refs is a web page", _REFS)
def refs_html(exchange, proceed, value):
    return Response(200, [("Content-Type", "text/html")], b"<html><body>Sign in</body></html>")


@misbehaviour("git-refs-empty", "info/refs is 200 with an empty body", _REFS)
def refs_empty(exchange, proceed, value):
    return Response(200, [_ADVERTISEMENT], b"")


@misbehaviour("git-refs-none", "info/refs advertises a repository without any reference", _REFS)
def refs_none(exchange, proceed, value):
    capabilities = b"0" * 40 + b" capabilities^{}\0side-band-64k ofs-delta agent=git/fake\n"
    return Response(200, [_ADVERTISEMENT], _SERVICE + pkt_line(capabilities) + b"0000")


@misbehaviour("git-refs-cut", "info/refs ends in the middle of a line", _REFS)
def refs_cut(exchange, proceed, value):
    response = proceed()
    response.body = response.content()[:-30]
    return response


@misbehaviour("git-refs-endless", "info/refs advertises references without end", _REFS)
def refs_endless(exchange, proceed, value):
    return Response(200, [_ADVERTISEMENT], _endless_refs(), close=True)


def _endless_refs() -> Iterator[bytes]:
    yield _SERVICE + pkt_line(b"1" * 40 + b" HEAD\0side-band-64k ofs-delta\n")
    number = 0
    while True:
        lines = (
            pkt_line(b"1" * 40 + b" refs/heads/branch-%d\n" % (number + at)) for at in range(1000)
        )
        yield b"".join(lines)
        number += 1000


@misbehaviour(
    "git-refs-sha256", "info/refs says that the repository's object ids are SHA-256", _REFS
)
def refs_sha256(exchange, proceed, value):
    line = b"1" * 64 + b" refs/heads/v1\0side-band-64k object-format=sha256 agent=git/fake\n"
    return Response(200, [_ADVERTISEMENT], _SERVICE + pkt_line(line) + b"0000")


@misbehaviour("git-refs-evil-name", "info/refs advertises refs/heads/../../../etc/passwd", _REFS)
def refs_evil_name(exchange, proceed, value):
    response = proceed()
    lines = response.content().removesuffix(b"0000")
    response.body = lines + pkt_line(b"1" * 40 + b" refs/heads/../../../etc/passwd\n") + b"0000"
    return response


@misbehaviour("git-dumb", "info/refs is of the dumb protocol", _REFS)
def dumb(exchange, proceed, value):
    names = Repository(exchange.find().repository.path).refs()
    text = "".join(f"{commit}\t{name}\n" for name, commit in names.items())
    return Response(200, [("Content-Type", "text/plain")], text.encode())


@misbehaviour("git-refs-error", "info/refs carries an ERR line", _REFS)
def refs_error(exchange, proceed, value):
    return Response(
        200, [_ADVERTISEMENT], _SERVICE + pkt_line(b"ERR access denied or repository not exported")
    )


@misbehaviour(
    "git-redirect", "307 to another path of the same host, on info/refs and on upload-pack", GIT
)
def git_redirect(exchange, proceed, value):
    return proceed() if exchange.moved else redirect(307, f"/moved{exchange.request.target}")


@misbehaviour("git-pack-redirect", "307 to another path, on upload-pack alone", _PACK)
def pack_redirect(exchange, proceed, value):
    return proceed() if exchange.moved else redirect(307, f"/moved{exchange.request.target}")


@misbehaviour("git-pack-error", "upload-pack answers with an ERR line", _PACK)
def pack_error(exchange, proceed, value):
    return Response(200, [_RESULT], pkt_line(b"ERR upload-pack: not our ref"))


@misbehaviour(
    "git-pack-band-error", "upload-pack reports an error in band 3 after a few bytes", _PACK
)
def pack_band_error(exchange, proceed, value):
    bands = pkt_line(b"\1PACK\0\0\0\2") + pkt_line(b"\3fatal: the repository is being moved\n")
    return Response(200, [_RESULT], pkt_line(b"NAK\n") + bands + b"0000")


@misbehaviour("git-pack-500", "upload-pack answers 500 with a text", _PACK)
def pack_500(exchange, proceed, value):
    return Response(500, [("Content-Type", "text/plain")], b"Internal Server Error")


@misbehaviour("git-pack-html", "upload-pack answers 200 with a web page", _PACK)
def pack_html(exchange, proceed, value):
    return Response(
        200, [("Content-Type", "text/html")], b"<html><body>Please log in</body></html>"
    )


@misbehaviour("git-pack-silence", "upload-pack answers 200 with an empty body", _PACK)
def pack_silence(exchange, proceed, value):
    return Response(200, [_RESULT], b"")


@misbehaviour("git-progress-endless", "upload-pack sends progress messages without end", _PACK)
def progress_endless(exchange, proceed, value):
    return Response(200, [_RESULT], _progress(), close=True)


def _progress() -> Iterator[bytes]:
    yield pkt_line(b"NAK\n")
    line = pkt_line(b"\2Counting objects: 1\r")
    while True:
        yield line * 1000


@misbehaviour("git-acknowledges-endless", "upload-pack sends ACK and NAK without end", _PACK)
def acknowledges_endless(exchange, proceed, value):
    return Response(200, [_RESULT], _acknowledgements(), close=True)


def _acknowledgements() -> Iterator[bytes]:
    while True:
        yield pkt_line(b"NAK\n") * 1000


@misbehaviour("git-unauthorized", "401 for git alone; files are served", GIT)
def git_unauthorized(exchange, proceed, value):
    return HubError(
        401, "Invalid username or password.", WWW_Authenticate='Basic realm="Hugging Face"'
    ).response()


# Repositories that have changed. They are shadows: the real one is never touched.


@misbehaviour(
    "branch-moved",
    "every branch was force-pushed to an unrelated commit; git still serves the old by id",
    _REPOSITORY,
)
def branch_moved(exchange, proceed, value):
    exchange.shadow, exchange.wants = _shadow(exchange, "moved"), "any"
    return proceed()


@misbehaviour(
    "branch-moved-lost",
    "every branch was force-pushed, and git refuses the commit that no ref reaches",
    _REPOSITORY,
)
def branch_moved_lost(exchange, proceed, value):
    exchange.shadow, exchange.wants = _shadow(exchange, "moved"), "reachable"
    return proceed()


@misbehaviour(
    "branch-advanced",
    "every branch has a newer commit on top; git serves only what refs point to",
    _REPOSITORY,
)
def branch_advanced(exchange, proceed, value):
    exchange.shadow, exchange.wants = _shadow(exchange, "advanced"), "refs"
    return proceed()


@misbehaviour(
    "commit-missing",
    "the repositories of one type (VALUE) have another history, without the commit",
    _REPOSITORY,
    value="kernels",
)
def commit_missing(exchange, proceed, value):
    if exchange.plural == value:
        exchange.shadow = _shadow(exchange, "unrelated")
    return proceed()


def _shadow(exchange, how: str) -> Path:
    """A repository with the same branches on other commits, made once per Hub."""
    original = exchange.find().repository.path
    path = exchange.hub.work / how / f"{exchange.key}.git"
    with exchange.hub.exclusive():
        if not path.exists():
            partial = path.with_suffix(".partial")
            _make_shadow(original, partial, how)
            partial.rename(path)
    return path


def _make_shadow(original: Path, path: Path, how: str) -> None:
    create_repository(path)
    if how != "unrelated":
        (path / "objects" / "info" / "alternates").write_text(f"{original / 'objects'}\n")
    for name, commit in Repository(original).refs().items():
        card = write_object(path, "blob", json.dumps({"instead of": name}).encode())
        tree = write_object(path, "tree", tree_bytes([("100644", "README.md", card)]))
        parents = [commit] if how == "advanced" else []
        new = write_object(path, "commit", commit_bytes(tree, parents, f"Replace {name}"))
        git(path, "update-ref", name, new)
