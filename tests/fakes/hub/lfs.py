"""The Git LFS batch API (3.4 of the protocol notes): downloads only, transfer `basic` only."""

import json

from .exchange import HubError, Response
from .state import Exchange

MEDIA_TYPE = "application/vnd.git-lfs+json"
URL_LIFE_S = 3600


def batch(exchange: Exchange) -> Response:
    found = exchange.find()
    exchange.hub.root.require_granted(exchange.request, found)
    wanted = _parse(exchange.request.body)
    objects = [_object(exchange, found.key, one["oid"], one["size"]) for one in wanted]
    return lfs_response({"transfer": "basic", "hash_algo": "sha256", "objects": objects})


def _parse(body: bytes) -> list:
    try:
        asked = json.loads(body)
        objects = [{"oid": str(one["oid"]), "size": int(one["size"])} for one in asked["objects"]]
    except (ValueError, KeyError, TypeError) as error:
        raise HubError(422, "The batch request is malformed") from error
    if asked.get("operation") != "download":
        raise HubError(403, "This Hub is read-only")
    if "basic" not in asked.get("transfers", ["basic"]):
        raise HubError(422, "Only the transfer 'basic' is offered")
    if asked.get("hash_algo", "sha256") != "sha256":
        raise HubError(422, "Only the hash 'sha256' is known")
    return objects


def _object(exchange: Exchange, key: str, oid: str, size: int) -> dict:
    path = exchange.hub.root.lfs_file(oid) if len(oid) == 64 and oid.isalnum() else None
    described = {"oid": oid, "size": size}
    if path is None or not path.is_file():
        return described | {
            "error": {"code": 404, "message": "Object does not exist on the server"}
        }
    if path.stat().st_size != size:
        return described | {"error": {"code": 422, "message": "The size does not match"}}
    action = {"href": exchange.hub.signed_url(key, oid), "header": {}, "expires_in": URL_LIFE_S}
    return described | {"authenticated": True, "actions": {"download": action}}


def lfs_response(value: dict, status: int = 200) -> Response:
    return Response(status, [("Content-Type", MEDIA_TYPE)], json.dumps(value).encode())


def refusal(status: int, message: str) -> Response:
    """A failure of the whole request has LFS's own body."""
    response = lfs_response(
        {"message": message, "request_id": "lfs-1", "documentation_url": "https://example.com/lfs"},
        status,
    )
    if status == 401:
        response.set("LFS-Authenticate", 'Basic realm="Git LFS"')
    return response
