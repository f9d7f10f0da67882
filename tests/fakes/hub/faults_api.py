"""The JSON API gone wrong: no JSON, too much of it, pages that repeat or leave out, paths that escape."""

import json
from collections.abc import Callable, Iterator

from .exchange import Response, json_response
from .misbehaviours import API, misbehaviour

_TREE = ("tree",)
_INFO = ("info", "revision")
_JSON = ("Content-Type", "application/json")


@misbehaviour("json-garbage", "the API answers with something that is not JSON", API)
def json_garbage(exchange, proceed, value):
    return Response(200, [_JSON], b'{"sha": "')


@misbehaviour("json-other-shape", "the API answers with JSON of another shape: a number", API)
def json_other_shape(exchange, proceed, value):
    return json_response(7)


@misbehaviour(
    "json-deep", "the API answers with VALUE brackets inside each other", API, value="1000000"
)
def json_deep(exchange, proceed, value):
    return Response(200, [_JSON], b"[" * int(value) + b"]" * int(value))


@misbehaviour("json-endless", "the API answers with a list that never ends", API)
def json_endless(exchange, proceed, value):
    return Response(200, [_JSON], _endless_list(), close=True)


def _endless_list() -> Iterator[bytes]:
    yield b"["
    while True:
        yield b'{"type":"file","path":"a","oid":"' + b"0" * 40 + b'","size":1},' + b" " * 60_000


@misbehaviour("json-not-utf8", "the API answers with strings that are not UTF-8", API)
def json_not_utf8(exchange, proceed, value):
    return Response(200, [_JSON], b'{"sha": "\xff\xfe", "branches": [{"name": "\xc3("}]}')


@misbehaviour(
    "refs-lie", "the API says that every branch points to a commit that does not exist", ("refs",)
)
def refs_lie(exchange, proceed, value):
    response = proceed()
    if response.status != 200:
        return response
    named = json.loads(response.content())
    for family in named.values():
        for one in family:
            one["targetCommit"] = "2" * 40
    return json_response(named)


@misbehaviour("refs-none", "the API names no branch and no tag", ("refs",))
def refs_none(exchange, proceed, value):
    return json_response({"branches": [], "converts": [], "tags": []})


@misbehaviour("sha-lies", "the API says that the revision is a commit that does not exist", _INFO)
def sha_lies(exchange, proceed, value):
    response = proceed()
    return (
        json_response(json.loads(response.content()) | {"sha": "3" * 40})
        if response.status == 200
        else response
    )


@misbehaviour("sha-short", "the API gives seven digits where forty are due", _INFO)
def sha_short(exchange, proceed, value):
    response = proceed()
    if response.status != 200:
        return response
    described = json.loads(response.content())
    return json_response(described | {"sha": described["sha"][:7]})


def _change_tree(proceed, change: Callable[[list], list]) -> Response:
    response = proceed()
    if response.status != 200:
        return response
    response.body = json.dumps(change(json.loads(response.content()))).encode()
    return response


def _file(path: str) -> dict:
    return {
        "type": "file",
        "oid": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "size": 0,
        "path": path,
    }


@misbehaviour("listing-drops-entry", "a page of the tree lacks its last entry", _TREE)
def listing_drops_entry(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: entries[:-1])


@misbehaviour("listing-repeats-entry", "a page of the tree names an entry twice", _TREE)
def listing_repeats_entry(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: entries + entries[-1:])


@misbehaviour("listing-pages-endless", "every page of the tree announces another one", _TREE)
def listing_pages_endless(exchange, proceed, value):
    return proceed().set("Link", f'<{exchange.url(exchange.request.target)}>; rel="next"')


@misbehaviour(
    "listing-next-other-host",
    "the next page of the tree is on another host, which counts tokens",
    _TREE,
)
def listing_next_other_host(exchange, proceed, value):
    if exchange.role != "hub":
        return proceed()
    return proceed().set(
        "Link", f'<{exchange.hub.urls["cdn"]}{exchange.request.target}>; rel="next"'
    )


@misbehaviour("listing-sizes-lie", "the tree names sizes that files do not have", _TREE)
def listing_sizes_lie(exchange, proceed, value):
    return _change_tree(
        proceed, lambda entries: [one | {"size": one["size"] + 1} for one in entries]
    )


@misbehaviour(
    "listing-hashes-lie", "the tree names SHA-256 hashes that LFS files do not have", _TREE
)
def listing_hashes_lie(exchange, proceed, value):
    def lied(one: dict) -> dict:
        return one | {"lfs": one["lfs"] | {"oid": "4" * 64}} if "lfs" in one else one

    return _change_tree(proceed, lambda entries: [lied(one) for one in entries])


@misbehaviour("listing-dotdot", "the tree names ../../evil.so", _TREE)
def listing_dotdot(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: [*entries, _file("build/../../evil.so")])


@misbehaviour("listing-absolute", "the tree names /etc/evil.so", _TREE)
def listing_absolute(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: [*entries, _file("/etc/evil.so")])


@misbehaviour("listing-backslash", "the tree names build\\evil.so", _TREE)
def listing_backslash(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: [*entries, _file("build\\..\\evil.so")])


@misbehaviour("listing-nul", "the tree names a path with a NUL in it", _TREE)
def listing_nul(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: [*entries, _file("build/evil\0.so")])


@misbehaviour("listing-case", "the tree names two paths that differ only in case", _TREE)
def listing_case(exchange, proceed, value):
    return _change_tree(proceed, lambda entries: [*entries, _file("readme.MD")])


@misbehaviour("publisher-untrusted", "the publisher is not a trusted one", ("organization",))
def publisher_untrusted(exchange, proceed, value):
    response = proceed()
    if response.status != 200:
        return response
    return json_response(
        {
            key: one
            for key, one in json.loads(response.content()).items()
            if key != "trustedKernelPublisher"
        }
    )


@misbehaviour("publisher-unknown", "the publisher is no organisation", ("organization",))
def publisher_unknown(exchange, proceed, value):
    return json_response({"error": "This organization does not exist"}, 404)
