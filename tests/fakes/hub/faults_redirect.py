"""Redirects to where no client should follow, or never ends, or takes a token along."""

from urllib.parse import urlsplit

from .exchange import Response, redirect
from .misbehaviours import EVERYTHING, GIT, HUB_FILES, misbehaviour

_MARK = "hop"


def _with_query(target: str, name: str, value: int) -> str:
    path, _, query = target.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith(f"{name}=")]
    return f"{path}?{'&'.join([*kept, f'{name}={value}'])}"


@misbehaviour("redirect-loop", "every answer redirects to the same URL again", EVERYTHING)
def redirect_loop(exchange, proceed, value):
    return redirect(307, exchange.request.target)


@misbehaviour(
    "redirect-chain",
    "VALUE redirects, each to a new URL, before the answer",
    EVERYTHING,
    value="30",
)
def redirect_chain(exchange, proceed, value):
    hop = int(exchange.request.query.get(_MARK, "0"))
    if hop >= int(value):
        return proceed()
    return redirect(307, _with_query(exchange.request.target, _MARK, hop + 1))


@misbehaviour(
    "redirect-other-host",
    "a redirect to another host, which counts the tokens that arrive",
    (*HUB_FILES, *GIT, "lfs-batch", "tree", "refs", "info", "revision"),
)
def redirect_other_host(exchange, proceed, value):
    if exchange.role != "hub":
        return proceed()
    return redirect(307, exchange.hub.urls["cdn"] + exchange.request.target)


@misbehaviour(
    "redirect-other-port",
    "a redirect to another port of the same host name, which counts tokens",
    (*HUB_FILES, *GIT, "lfs-batch"),
)
def redirect_other_port(exchange, proceed, value):
    if exchange.role != "hub":
        return proceed()
    port = urlsplit(exchange.hub.urls["cdn"]).port
    own = urlsplit(exchange.base_url)
    return redirect(307, f"{own.scheme}://{own.hostname}:{port}{exchange.request.target}")


@misbehaviour(
    "redirect-downgrade", "a redirect from https to http (where the Hub speaks TLS)", EVERYTHING
)
def redirect_downgrade(exchange, proceed, value):
    if exchange.role == "plain":
        return proceed()
    return redirect(307, exchange.hub.urls["plain"] + exchange.request.target)


@misbehaviour("redirect-file", "a redirect to file:///etc/passwd", EVERYTHING)
def redirect_file(exchange, proceed, value):
    return redirect(302, "file:///etc/passwd")


@misbehaviour(
    "redirect-scheme", "a redirect to a scheme that is neither http nor https", EVERYTHING
)
def redirect_scheme(exchange, proceed, value):
    return redirect(302, "gopher://127.0.0.1:70/_x")


@misbehaviour("redirect-nowhere", "a redirect without Location", EVERYTHING)
def redirect_nowhere(exchange, proceed, value):
    return Response(302, [], b"Found.")


@misbehaviour("redirect-garbage", "a redirect whose Location is no URL", EVERYTHING)
def redirect_garbage(exchange, proceed, value):
    return redirect(302, "http://[::bad::/%zz")


@misbehaviour(
    "redirect-credentials", "a redirect whose Location holds a user name and a password", EVERYTHING
)
def redirect_credentials(exchange, proceed, value):
    where = urlsplit(exchange.hub.urls["cdn"]).netloc
    return redirect(302, f"http://root:hunter2@{where}{exchange.request.target}")


@misbehaviour("redirect-dead-port", "a redirect to a port where nobody listens", EVERYTHING)
def redirect_dead_port(exchange, proceed, value):
    return redirect(302, "http://127.0.0.1:9/nothing")


@misbehaviour(
    "redirect-unknown-host", "a redirect to a host name that does not resolve", EVERYTHING
)
def redirect_unknown_host(exchange, proceed, value):
    return redirect(302, "http://no-such-host.invalid/nothing")


@misbehaviour(
    "redirect-see-other",
    "303 for a POST, which then becomes a GET",
    ("git-pack", "lfs-batch"),
    ("POST",),
)
def redirect_see_other(exchange, proceed, value):
    return proceed() if exchange.moved else redirect(303, f"/moved{exchange.request.target}")
