"""The folder that a fake Hub serves, and who may see what in it.

    ROOT/kernels/<namespace>/<name>.git     bare repositories; likewise models/, datasets/, spaces/
    ROOT/lfs/<sha256>                       contents of LFS files
    ROOT/hub.json                           tokens, private and gated repositories, organisations

hub.json is read again whenever it changes, so a test may edit it while the Hub runs.
"""

import base64
import binascii
import fnmatch
import json
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from .exchange import HubError, Request
from .repository import Repository

PLURALS = ("models", "datasets", "spaces", "kernels")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,96}(/[A-Za-z0-9_.-]{1,96})?")


@dataclass(frozen=True)
class Caller:
    token: str | None  # None: anonymous
    access: tuple = ()  # globs over "kernels/<namespace>/<name>"

    def may_read(self, key: str) -> bool:
        return any(fnmatch.fnmatchcase(key, glob) for glob in self.access)


@dataclass(frozen=True)
class Found:
    """A repository that the caller may know of."""

    repository: Repository
    plural: str
    id: str
    private: bool
    gated: object  # False, "auto" or "manual"
    granted: bool  # whether the caller may read the files

    @property
    def prefix(self) -> str:
        return "" if self.plural == "models" else f"{self.plural}/"

    @property
    def key(self) -> str:
        return f"{self.plural}/{self.id}"


class Root:
    def __init__(self, path: Path):
        self.path = path.resolve()
        self._lock = threading.Lock()
        self._settings: dict = {}
        self._stamp: int | None = None

    def settings(self, name: str) -> dict:
        """One top-level object of hub.json, empty if it is not there."""
        file = self.path / "hub.json"
        with self._lock:
            stamp = file.stat().st_mtime_ns if file.exists() else None
            if stamp != self._stamp:
                self._settings = json.loads(file.read_text()) if stamp is not None else {}
                self._stamp = stamp
            return self._settings.get(name, {})

    def lfs_file(self, oid: str) -> Path:
        return self.path / "lfs" / oid

    def repository_path(self, plural: str, repo_id: str) -> Path | None:
        if plural not in PLURALS or not _ID.fullmatch(repo_id) or ".." in repo_id:
            return None
        path = self.path / plural / f"{repo_id}.git"
        return path if path.is_dir() else None

    def repositories(self) -> list:
        """Every repository, as kernels/<namespace>/<name>."""
        return sorted(
            str(path.relative_to(self.path)).removesuffix(".git")
            for plural in PLURALS
            for path in (self.path / plural).glob("*/*.git")
        )

    def caller(self, request: Request) -> Caller:
        """Whoever sent a token that nobody issued is refused, even where no token is needed."""
        token = _token(request.headers.get("authorization"))
        if token is None:
            return Caller(None)
        known = self.settings("tokens").get(token)
        if known is None:
            raise HubError(
                401,
                "Invalid credentials in Authorization header",
                WWW_Authenticate='Basic realm="Hugging Face"',
            )
        return Caller(token, tuple(known.get("access", ["*"])))

    def find(self, request: Request, plural: str, repo_id: str) -> Found:
        """The repository, or the refusal that the Hub gives for it (2.8 of the protocol notes)."""
        caller = self.caller(request)
        key = f"{plural}/{repo_id}"
        flags = self.settings("repos").get(key, {})
        path = self.repository_path(plural, repo_id)
        private = bool(flags.get("private"))
        if path is None or (private and not caller.may_read(key)):
            if caller.token is None:
                raise HubError(
                    401,
                    "Invalid username or password.",
                    WWW_Authenticate='Basic realm="Hugging Face"',
                )
            raise HubError(404, "Repository not found", "RepoNotFound")
        if flags.get("disabled"):
            raise HubError(403, "Access to this resource is disabled.")
        gated = flags.get("gated", False)
        granted = not gated or (caller.token is not None and caller.may_read(key))
        return Found(Repository(path), plural, repo_id, private, gated, granted)

    def require_granted(self, request: Request, found: Found) -> None:
        if found.granted:
            return
        anonymous = _token(request.headers.get("authorization")) is None
        kind = found.plural[:-1]
        message = f"Access to {kind} {found.id} is restricted."
        if anonymous:
            message += (
                " You must have access to it and be authenticated to access it. Please log in."
            )
        raise HubError(401 if anonymous else 403, message, "GatedRepo")


def _token(header: str | None) -> str | None:
    """The token of a Bearer header, or the password of a Basic one. An empty string is no valid token."""
    if not header:
        return None
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""
