"""All that one running fake Hub is: passed to every handler, never global."""

import hashlib
import hmac
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from .counters import Counters
from .exchange import Request
from .misbehaviours import Misbehaviours
from .repository import Repository
from .root import Found, Root

_SIGNED_URL_LIFE_S = 3600
_SIGNING_KEY = b"signed by the fake Hub"


@dataclass
class Options:
    """What the command line sets; the control endpoint may change some of it while the Hub runs."""

    bytes_per_s: float | None = None
    file_duration_s: float | None = None
    page_size: int = 1000
    xet: bool = False  # announce Xet storage, as the Hub does; there is none here
    wants: str = "reachable"  # which commits git serves: "refs", "tip", "reachable" or "any"


@dataclass
class Hub:
    root: Root
    options: Options
    work: Path  # a folder for what misbehaviours make up
    counters: Counters = field(default_factory=Counters)
    misbehaviours: Misbehaviours = field(default_factory=Misbehaviours)
    stopping: threading.Event = field(default_factory=threading.Event)
    urls: dict = field(default_factory=dict)  # listener role -> base URL
    _signed: dict = field(
        default_factory=dict
    )  # xet hash -> LFS oid, of every signed URL given out
    _seen: Counter = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def seen(self, what: str) -> int:
        """How often this was asked, this time included; for what happens only to the first few."""
        with self._lock:
            self._seen[what] += 1
            return self._seen[what]

    @contextmanager
    def exclusive(self):
        """For what must be made once however many ask."""
        with self._lock:
            yield

    def signed_url(self, key: str, oid: str, life_s: int = _SIGNED_URL_LIFE_S) -> str:
        """A URL on the CDN, as opaque to clients as the real one."""
        xet = xet_hash(oid)
        self._signed[xet] = oid
        folder = hashlib.sha256(key.encode()).hexdigest()[:24]
        path = f"/xet-bridge-us/{folder}/{xet}"
        expires = int(time.time()) + life_s
        signature = _signature(path, str(expires))
        query = f"X-Amz-Expires={life_s}&Expires={expires}&Policy=e30_&Signature={signature}~&Key-Pair-Id=K1"
        return f"{self.urls['cdn']}{path}?{query}"

    def oid_of(self, url: str) -> str:
        """The LFS oid that a signed URL was made for."""
        return self._signed[url.partition("?")[0].rsplit("/", 1)[1]]

    def signed_oid(self, request: Request) -> str | None:
        """The LFS oid that a signed URL stands for; None if it was never given out or has expired."""
        query = request.query
        expires, signature = query.get("Expires", ""), query.get("Signature", "").rstrip("~")
        if not expires.isdigit() or int(expires) < time.time():
            return None
        if not hmac.compare_digest(signature, _signature(request.path, expires)):
            return None
        return self._signed.get(request.segments[-1])


@dataclass
class Exchange:
    """One request on its way through the Hub."""

    hub: Hub
    request: Request
    role: str  # of the listener: "hub", "cdn" or "plain"
    base_url: str  # under which the client reached this listener
    pause: Callable[[float], None]
    kind: str = "other"  # which of routes.KINDS
    plural: str = ""
    repo_id: str = ""
    revision: str = ""
    path: str = ""
    moved: bool = False  # reached through /moved/, where redirects lead
    wants: str | None = None  # what git serves for this request, if not as the options say
    shadow: Path | None = None  # a repository served in place of the one that the URL names

    def find(self) -> Found:
        """The repository of the URL, or the Hub's refusal."""
        found = self.hub.root.find(self.request, self.plural, self.repo_id)
        return found if self.shadow is None else replace(found, repository=Repository(self.shadow))

    def url(self, path: str) -> str:
        return self.base_url + path

    @property
    def key(self) -> str:
        return f"{self.plural}/{self.repo_id}"


def xet_hash(oid: str) -> str:
    """A Merkle hash of Xet looks like a sha256 and is none; so does this one."""
    return hashlib.sha256(f"xet {oid}".encode()).hexdigest()


def quoted(path: str) -> str:
    """A path as one segment, its slashes encoded too."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="")


def _signature(path: str, expires: str) -> str:
    return hmac.new(_SIGNING_KEY, f"{path} {expires}".encode(), hashlib.sha256).hexdigest()
