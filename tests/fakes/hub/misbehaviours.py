"""Which misbehaviours exist, and which of them are switched on.

A misbehaviour is a function `fault(exchange, proceed, value) -> Response`, where `proceed()` gives the
honest answer. It may never call it, or call it and spoil what it gives. The faults_*.py files register
themselves with @misbehaviour; importing them is what catalogue() does.
"""

import fnmatch
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .exchange import Response

if TYPE_CHECKING:
    from .state import Exchange

FILES = ("content", "cdn", "raw")  # the kinds of request that are answered with a file
HUB_FILES = ("resolve", "content", "raw")  # ... and those among them that the Hub itself answers
GIT = ("git-refs", "git-pack")
API = ("info", "revision", "refs", "tree", "paths-info", "commits", "organization")
EVERYTHING = ("resolve", "content", "cdn", "raw", *GIT, *API, "lfs-batch", "xet-token", "other")

_MODULES = (
    "faults_content",
    "faults_range",
    "faults_headers",
    "faults_redirect",
    "faults_status",
    "faults_git",
    "faults_pack",
    "faults_lfs",
    "faults_api",
)


@dataclass(frozen=True)
class Misbehaviour:
    name: str
    text: str
    kinds: tuple
    methods: tuple
    value: str | None  # what VALUE is when none is given
    apply: Callable


@dataclass
class Rule:
    """A misbehaviour that is on: for which URLs, and how often still."""

    misbehaviour: Misbehaviour
    pattern: str = "*"
    hits_left: int | None = None  # None: for ever
    value: str | None = None

    def matches(self, exchange: "Exchange") -> bool:
        request = exchange.request
        if exchange.kind not in self.misbehaviour.kinds or self.hits_left == 0:
            return False
        if self.misbehaviour.methods and request.method not in self.misbehaviour.methods:
            return False
        subject = f"{request.method} {request.path}" if " " in self.pattern else request.path
        return fnmatch.fnmatchcase(subject, self.pattern)

    def describe(self) -> dict:
        return {
            "name": self.misbehaviour.name,
            "pattern": self.pattern,
            "hits_left": self.hits_left,
            "value": self.value,
        }


_catalogue: dict = {}


def misbehaviour(
    name: str,
    text: str,
    kinds: tuple = EVERYTHING,
    methods: tuple = (),
    value: str | None = None,
):
    """Registers the function below under a name. Without methods it holds for every method."""

    def register(function):
        known = [other for other in _catalogue.values() if name == other.name or text == other.text]
        if known:
            raise ValueError(f"misbehaviour '{name}' repeats the name or text of '{known[0].name}'")
        _catalogue[name] = Misbehaviour(name, text, kinds, methods, value, function)
        return function

    return register


def catalogue() -> dict:
    """Name -> Misbehaviour, of all there are."""
    for module in _MODULES:
        importlib.import_module(f".{module}", __package__)
    return _catalogue


def parse_rule(text: str) -> Rule:
    """NAME[=VALUE][:PATTERN][@HITS], as the command line takes it."""
    text, _, hits = text.partition("@")
    text, _, pattern = text.partition(":")
    name, _, value = text.partition("=")
    return make_rule(name, pattern or "*", int(hits) if hits else None, value or None)


def make_rule(name: str, pattern: str = "*", hits: int | None = None, value=None) -> Rule:
    known = catalogue()
    if name not in known:
        raise ValueError(f"no misbehaviour is called '{name}'; --list prints them")
    given = known[name].value if value is None else str(value)
    return Rule(known[name], pattern, hits, given)


class Misbehaviours:
    """The rules in force, in the order in which they were switched on."""

    def __init__(self):
        self._lock = threading.Lock()
        self._rules: list = []

    def add(self, rule: Rule) -> None:
        with self._lock:
            self._rules.append(rule)

    def remove(self, name: str | None = None) -> None:
        """Of that name; without one, all."""
        with self._lock:
            self._rules = [rule for rule in self._rules if name and rule.misbehaviour.name != name]

    def describe(self) -> list:
        with self._lock:
            return [rule.describe() for rule in self._rules]

    def take(self, exchange: "Exchange") -> list:
        """The rules that hold for this request; each has now been used once more."""
        with self._lock:
            taken = [rule for rule in self._rules if rule.matches(exchange)]
            for rule in taken:
                if rule.hits_left is not None:
                    rule.hits_left -= 1
            return taken


def answer(exchange: "Exchange", honest: Callable[[], Response]) -> Response:
    """The honest answer with every misbehaviour in force around it; the first one on is outermost."""
    rules = exchange.hub.misbehaviours.take(exchange)
    proceed = honest
    for rule in reversed(rules):
        exchange.hub.counters.misbehaved(rule.misbehaviour.name)
        proceed = _around(rule, exchange, proceed)
    return proceed()


def _around(
    rule: Rule, exchange: "Exchange", inner: Callable[[], Response]
) -> Callable[[], Response]:
    return lambda: rule.misbehaviour.apply(exchange, inner, rule.value)
