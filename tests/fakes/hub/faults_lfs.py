"""Answers of the LFS batch API that refuse, or that describe something else than was asked."""

import json
from collections.abc import Callable

from .exchange import Response
from .lfs import lfs_response, refusal
from .misbehaviours import misbehaviour

_BATCH = ("lfs-batch",)


def _each_object(proceed, change: Callable[[dict], dict]) -> Response:
    response = proceed()
    if response.status != 200:
        return response
    answer = json.loads(response.content())
    answer["objects"] = [change(dict(one)) for one in answer["objects"]]
    return lfs_response(answer)


def _each_action(proceed, change: Callable[[dict], None]) -> Response:
    def changed(one: dict) -> dict:
        if "actions" in one:
            change(one["actions"]["download"])
        return one

    return _each_object(proceed, changed)


def _object_error(proceed, code: int, message: str) -> Response:
    def refused(one: dict) -> dict:
        return {"oid": one["oid"], "size": one["size"], "error": {"code": code, "message": message}}

    return _each_object(proceed, refused)


@misbehaviour("lfs-object-404", "the batch says of each object: 404", _BATCH)
def object_404(exchange, proceed, value):
    return _object_error(proceed, 404, "Object does not exist on the server")


@misbehaviour("lfs-object-410", "the batch says of each object: 410, removed by its owner", _BATCH)
def object_410(exchange, proceed, value):
    return _object_error(proceed, 410, "Object was removed by its owner")


@misbehaviour("lfs-object-422", "the batch says of each object: 422", _BATCH)
def object_422(exchange, proceed, value):
    return _object_error(proceed, 422, "Object id is invalid")


@misbehaviour("lfs-401", "the batch as a whole is refused with 401", _BATCH)
def whole_401(exchange, proceed, value):
    return refusal(401, "Credentials needed")


@misbehaviour("lfs-403", "the batch as a whole is refused with 403", _BATCH)
def whole_403(exchange, proceed, value):
    return refusal(403, "You must have read access")


@misbehaviour("lfs-404", "the batch API does not exist: 404", _BATCH)
def whole_404(exchange, proceed, value):
    return refusal(404, "Not found")


@misbehaviour("lfs-413", "the batch as a whole is refused with 413: too many objects", _BATCH)
def whole_413(exchange, proceed, value):
    return refusal(413, "Too many objects in one batch")


@misbehaviour("lfs-429", "the batch as a whole is refused with 429", _BATCH)
def whole_429(exchange, proceed, value):
    return refusal(429, "Rate limit exceeded").set("Retry-After", "1")


@misbehaviour("lfs-500", "the batch as a whole fails with 500", _BATCH)
def whole_500(exchange, proceed, value):
    return refusal(500, "Internal error")


@misbehaviour(
    "lfs-507", "the batch as a whole fails with 507: the server's storage is full", _BATCH
)
def whole_507(exchange, proceed, value):
    return refusal(507, "Insufficient storage")


@misbehaviour("lfs-other-oid", "the batch answers with objects of other ids", _BATCH)
def other_oid(exchange, proceed, value):
    return _each_object(proceed, lambda one: one | {"oid": "0" * 64})


@misbehaviour("lfs-other-size", "the batch answers with other sizes", _BATCH)
def other_size(exchange, proceed, value):
    return _each_object(proceed, lambda one: one | {"size": one["size"] + 1})


@misbehaviour("lfs-no-objects", "the batch answers with an empty list", _BATCH)
def no_objects(exchange, proceed, value):
    return lfs_response({"transfer": "basic", "objects": []})


@misbehaviour("lfs-no-actions", "the batch answers with objects without actions", _BATCH)
def no_actions(exchange, proceed, value):
    return _each_object(proceed, lambda one: {"oid": one["oid"], "size": one["size"]})


@misbehaviour("lfs-other-transfer", "the batch chooses a transfer that was not offered", _BATCH)
def other_transfer(exchange, proceed, value):
    response = proceed()
    return (
        lfs_response(json.loads(response.content()) | {"transfer": "xet"})
        if response.status == 200
        else response
    )


@misbehaviour("lfs-other-hash", "the batch says that its ids are of another hash", _BATCH)
def other_hash(exchange, proceed, value):
    response = proceed()
    return (
        lfs_response(json.loads(response.content()) | {"hash_algo": "md5"})
        if response.status == 200
        else response
    )


@misbehaviour("lfs-href-file", "the batch gives file:// URLs to download from", _BATCH)
def href_file(exchange, proceed, value):
    return _each_action(proceed, lambda action: action.update(href="file:///etc/passwd"))


@misbehaviour("lfs-href-relative", "the batch gives URLs without a host to download from", _BATCH)
def href_relative(exchange, proceed, value):
    return _each_action(proceed, lambda action: action.update(href="/objects/1"))


@misbehaviour("lfs-href-expired", "the batch gives URLs that have expired already", _BATCH)
def href_expired(exchange, proceed, value):
    def expire(action: dict) -> None:
        oid = exchange.hub.oid_of(action["href"])
        action.update(href=exchange.hub.signed_url(exchange.key, oid, life_s=-10), expires_in=0)

    return _each_action(proceed, expire)


@misbehaviour(
    "lfs-header-injection", "the batch asks for a request header that holds a line break", _BATCH
)
def header_injection(exchange, proceed, value):
    evil = {"X-Note": "a\r\nHost: evil.example\r\n\r\nGET /admin HTTP/1.1"}
    return _each_action(proceed, lambda action: action.update(header=evil))


@misbehaviour("lfs-header-flood", "the batch asks for ten thousand request headers", _BATCH)
def header_flood(exchange, proceed, value):
    many = {f"X-Note-{number}": "n" * 100 for number in range(10_000)}
    return _each_action(proceed, lambda action: action.update(header=many))


@misbehaviour("lfs-garbage", "the batch answers with something that is not JSON", _BATCH)
def garbage(exchange, proceed, value):
    return Response(200, [("Content-Type", "application/vnd.git-lfs+json")], b'{"objects": [')


@misbehaviour("lfs-html", "the batch answers with a web page", _BATCH)
def html(exchange, proceed, value):
    return Response(200, [("Content-Type", "text/html")], b"<html><body>Welcome</body></html>")
