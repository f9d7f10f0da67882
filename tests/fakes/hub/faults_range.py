"""Requests with Range that are answered wrongly. Use them together with `truncate@1`, which makes a
client resume. Without Range in the request they change nothing."""

from .exchange import FileRange, Response
from .misbehaviours import FILES, misbehaviour

_GET = ("GET",)


def _partial(response: Response) -> tuple:
    """(first, last, total) of an honest 206, else ()."""
    if response.status != 206:
        return ()
    span, _, total = response.get("Content-Range").removeprefix("bytes ").partition("/")
    first, _, last = span.partition("-")
    return int(first), int(last), int(total)


def _whole(exchange, proceed) -> Response:
    """The answer that the same request without Range would have had."""
    ranged = exchange.request.headers.pop("range", None)
    try:
        return proceed()
    finally:
        if ranged is not None:
            exchange.request.headers["range"] = ranged


def _shifted(exchange, proceed, shift: int) -> Response:
    """A 206 that starts elsewhere than asked, and says so."""
    honest = proceed()
    span = _partial(honest)
    if not span:
        return honest
    first = min(max(0, span[0] + shift), span[1])
    content = _whole(exchange, proceed).content()
    honest.body = content[first : span[1] + 1]
    return honest.set("Content-Range", f"bytes {first}-{span[1]}/{span[2]}")


@misbehaviour("range-ignored", "Range is ignored: 200 and the whole file", FILES, _GET)
def range_ignored(exchange, proceed, value):
    return _whole(exchange, proceed)


@misbehaviour(
    "range-earlier", "a 206 starts VALUE bytes before the place asked for", FILES, _GET, "100"
)
def range_earlier(exchange, proceed, value):
    return _shifted(exchange, proceed, -int(value))


@misbehaviour(
    "range-later",
    "a 206 leaves out the first VALUE bytes of what was asked for",
    FILES,
    _GET,
    "100",
)
def range_later(exchange, proceed, value):
    return _shifted(exchange, proceed, int(value))


@misbehaviour(
    "range-mislabelled",
    "a 206 carries the start of the file and claims to be the part asked for",
    FILES,
    _GET,
)
def range_mislabelled(exchange, proceed, value):
    honest = proceed()
    span = _partial(honest)
    if span:
        honest.body = _whole(exchange, proceed).content()[: span[1] + 1 - span[0]]
    return honest


@misbehaviour("range-wrong-total", "a 206 whose Content-Range names a longer file", FILES, _GET)
def range_wrong_total(exchange, proceed, value):
    honest = proceed()
    span = _partial(honest)
    return (
        honest.set("Content-Range", f"bytes {span[0]}-{span[1]}/{span[2] + 4096}")
        if span
        else honest
    )


@misbehaviour("range-unnamed", "a 206 without Content-Range", FILES, _GET)
def range_unnamed(exchange, proceed, value):
    honest = proceed()
    return honest.remove("Content-Range") if honest.status == 206 else honest


@misbehaviour("range-multipart", "a 206 as multipart/byteranges", FILES, _GET)
def range_multipart(exchange, proceed, value):
    honest = proceed()
    if honest.status != 206:
        return honest
    head = f"--part\r\nContent-Range: {honest.get('Content-Range')}\r\n\r\n"
    honest.body = head.encode() + honest.content() + b"\r\n--part--\r\n"
    return honest.remove("Content-Range").set("Content-Type", "multipart/byteranges; boundary=part")


@misbehaviour("range-refused", "416 for every request with Range", FILES, _GET)
def range_refused(exchange, proceed, value):
    honest = proceed()
    span = _partial(honest)
    return Response(416, [("Content-Range", f"bytes */{span[2]}")]) if span else honest


@misbehaviour(
    "range-refused-resized",
    "416 for every request with Range, naming another length of the file",
    FILES,
    _GET,
)
def range_refused_resized(exchange, proceed, value):
    honest = proceed()
    span = _partial(honest)
    return Response(416, [("Content-Range", f"bytes */{span[2] // 2}")]) if span else honest


@misbehaviour(
    "changed-between", "the file of the second request is not the file of the first", FILES, _GET
)
def changed_between(exchange, proceed, value):
    honest = proceed()
    if honest.status == 206 and isinstance(honest.body, (bytes, FileRange)):
        honest.body = bytes(byte ^ 0x55 for byte in honest.content())
    return honest
