"""Refusals: every status that the Hub or a CDN is known to give (2.8 of the protocol notes)."""

import email.utils
import time

from . import files
from .exchange import HubError, Response, json_response
from .misbehaviours import EVERYTHING, misbehaviour

_FILES = ("resolve", "content", "cdn", "raw")


def _refuse(status: int, message: str, code=None, **headers) -> Response:
    return HubError(status, message, code, **headers).response()


@misbehaviour("unauthorized", "401, as for an anonymous caller of a missing or private repository")
def unauthorized(exchange, proceed, value):
    return _refuse(
        401, "Invalid username or password.", WWW_Authenticate='Basic realm="Hugging Face"'
    )


@misbehaviour("token-rejected", "401 'Invalid credentials' for every request that carries a token")
def token_rejected(exchange, proceed, value):
    if "authorization" not in exchange.request.headers:
        return proceed()
    return _refuse(
        401,
        "Invalid credentials in Authorization header",
        WWW_Authenticate='Basic realm="Hugging Face"',
    )


@misbehaviour("gated-anonymous", "401 GatedRepo for files, as for an anonymous caller", _FILES)
def gated_anonymous(exchange, proceed, value):
    return _refuse(401, f"Access to {exchange.repo_id} is restricted. Please log in.", "GatedRepo")


@misbehaviour("gated", "403 GatedRepo for files, as for a caller without a grant", _FILES)
def gated(exchange, proceed, value):
    return _refuse(
        403,
        f"Access to {exchange.repo_id} is restricted and you are not in the authorized list.",
        "GatedRepo",
    )


@misbehaviour("disabled", "403 'Access to this resource is disabled.'")
def disabled(exchange, proceed, value):
    return _refuse(403, "Access to this resource is disabled.")


@misbehaviour("scope-missing", "403, since the token lacks the permission")
def scope_missing(exchange, proceed, value):
    return _refuse(403, "The token lacks the permission 'repo.content.read'")


@misbehaviour("cdn-expired", "403 from the CDN, as for a signed URL that has expired", ("cdn",))
def cdn_expired(exchange, proceed, value):
    return files.expired()


@misbehaviour("cdn-missing", "404 from the CDN: the content is gone", ("cdn",))
def cdn_missing(exchange, proceed, value):
    return Response(
        404, [("Content-Type", "application/xml")], b"<Error><Code>NoSuchKey</Code></Error>"
    )


@misbehaviour("repo-not-found", "404 RepoNotFound")
def repo_not_found(exchange, proceed, value):
    return _refuse(404, "Repository not found", "RepoNotFound")


@misbehaviour("revision-not-found", "404 RevisionNotFound")
def revision_not_found(exchange, proceed, value):
    return _refuse(404, f"Invalid rev id: {exchange.revision or 'unknown'}", "RevisionNotFound")


@misbehaviour("entry-not-found", "404 EntryNotFound for files", _FILES)
def entry_not_found(exchange, proceed, value):
    return _refuse(404, "Entry not found", "EntryNotFound")


@misbehaviour("not-found-bare", "404 with no header that says what is missing")
def not_found_bare(exchange, proceed, value):
    return Response(404, [("Content-Type", "text/plain")], b"not here")


@misbehaviour("gone", "410 Gone")
def gone(exchange, proceed, value):
    return _refuse(410, "This resource is gone")


@misbehaviour("bad-request", "400 Bad Request")
def bad_request(exchange, proceed, value):
    return _refuse(400, "The request is malformed")


@misbehaviour("legal", "451 Unavailable For Legal Reasons")
def legal(exchange, proceed, value):
    return _refuse(451, "Unavailable for legal reasons")


@misbehaviour("request-timeout", "408 Request Timeout")
def request_timeout(exchange, proceed, value):
    return _refuse(408, "The request took too long").set("Connection", "close")


@misbehaviour("rate-limited", "429 with Retry-After: VALUE seconds", value="1")
def rate_limited(exchange, proceed, value):
    return _refuse(429, "We had to rate limit your IP", Retry_After=value)


@misbehaviour(
    "rate-limited-date", "429 with Retry-After as a date, VALUE seconds from now", value="1"
)
def rate_limited_date(exchange, proceed, value):
    date = email.utils.formatdate(time.time() + float(value) + 1, usegmt=True)
    return _refuse(429, "We had to rate limit your address", Retry_After=date)


@misbehaviour(
    "rate-limited-window", "429 without Retry-After; RateLimit says r=0 and t=VALUE", value="1"
)
def rate_limited_window(exchange, proceed, value):
    return _refuse(429, "The window is used up", RateLimit=f'"resolvers";r=0;t={value}')


@misbehaviour("rate-limited-year", "429 with Retry-After of a year")
def rate_limited_year(exchange, proceed, value):
    return _refuse(429, "Come back next year", Retry_After="31536000")


@misbehaviour("rate-limited-garbage", "429 with a Retry-After that is neither a number nor a date")
def rate_limited_garbage(exchange, proceed, value):
    return _refuse(429, "Too many requests", Retry_After="soon")


@misbehaviour("server-error", "500 with a JSON error")
def server_error(exchange, proceed, value):
    return _refuse(500, "Internal Error - We're working hard to fix this as soon as possible!")


@misbehaviour("bad-gateway", "502 with a web page of a proxy")
def bad_gateway(exchange, proceed, value):
    page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    return Response(502, [("Content-Type", "text/html")], page)


@misbehaviour("unavailable", "503 for ever")
def unavailable(exchange, proceed, value):
    return _refuse(503, "Service Unavailable")


@misbehaviour(
    "unavailable-then-ok",
    "503 for the first VALUE requests of each URL, then the answer",
    value="2",
)
def unavailable_then_ok(exchange, proceed, value):
    seen = exchange.hub.seen(f"unavailable {exchange.request.method} {exchange.request.path}")
    return _refuse(503, "Service Unavailable, try again") if seen <= int(value) else proceed()


@misbehaviour("gateway-timeout", "504 after VALUE seconds", value="0")
def gateway_timeout(exchange, proceed, value):
    exchange.pause(float(value))
    return Response(504, [("Content-Type", "text/plain")], b"upstream request timeout")


@misbehaviour("status-unknown", "a status that no standard knows: 799")
def status_unknown(exchange, proceed, value):
    return Response(799, [("Content-Type", "text/plain")], b"?")


@misbehaviour("no-content", "204 where a body should be")
def no_content(exchange, proceed, value):
    return Response(204)


@misbehaviour("error-huge", "500 whose error text is VALUE MiB long", EVERYTHING, value="8")
def error_huge(exchange, proceed, value):
    return json_response({"error": "no " * (int(value) * 1024**2 // 3)}, 500)


@misbehaviour("warning", "the honest answer with an X-HF-Warning header")
def warning(exchange, proceed, value):
    return proceed().set("X-HF-Warning", "deprecation; this endpoint goes away")


@misbehaviour(
    "model-gone", "401 for every request for a model-type repository: that type has been removed"
)
def model_gone(exchange, proceed, value):
    return unauthorized(exchange, proceed, value) if exchange.plural == "models" else proceed()


@misbehaviour("kernel-gone", "401 for every request for a kernel-type repository")
def kernel_gone(exchange, proceed, value):
    return unauthorized(exchange, proceed, value) if exchange.plural == "kernels" else proceed()
