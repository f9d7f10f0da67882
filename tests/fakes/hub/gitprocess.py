"""Runs git so that no configuration of the user or the machine is seen and every commit is reproducible."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

COMMIT_DATE = "2026-08-01T10:00:00Z"


def git_environment(settings: Sequence[tuple] = ()) -> dict:
    """`settings` are git configuration (key, value) pairs for this process and its children."""
    pairs = [("safe.directory", "*"), ("gc.auto", "0"), ("pack.threads", "1"), *settings]
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": str(len(pairs)),
        "GIT_TERMINAL_PROMPT": "0",
    }
    for role in ("AUTHOR", "COMMITTER"):
        environment[f"GIT_{role}_NAME"] = "Kernel Builder"
        environment[f"GIT_{role}_EMAIL"] = "builder@example.com"
        environment[f"GIT_{role}_DATE"] = COMMIT_DATE
    for index, (key, value) in enumerate(pairs):
        environment[f"GIT_CONFIG_KEY_{index}"] = key
        environment[f"GIT_CONFIG_VALUE_{index}"] = value
    return environment


class GitError(Exception):
    pass


def git(repository: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(
        ["git", f"--git-dir={repository}", *arguments],
        input=stdin if stdin is not None else b"",
        env=git_environment(),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        text = done.stderr.decode("utf-8", "replace").strip()
        raise GitError(f"git {arguments[0]} in '{repository}': {text}")
    return done.stdout


def create_repository(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    git(path, "init", "--quiet", "--bare", "--initial-branch=main", str(path))
    return path


def write_object(repository: Path, kind: str, content: bytes) -> str:
    """Writes any object, even one that git would refuse to make itself."""
    command = ["hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    return git(repository, *command, stdin=content).decode().strip()


def tree_bytes(entries: Sequence[tuple]) -> bytes:
    """The content of a tree object from (mode, name, object id) in the order given."""
    return b"".join(
        mode.encode()
        + b" "
        + (name if isinstance(name, bytes) else name.encode())
        + b"\0"
        + bytes.fromhex(identity)
        for mode, name, identity in entries
    )


def commit_bytes(tree: str, parents: Sequence[str], subject: str) -> bytes:
    who = "Kernel Builder <builder@example.com> 1785578400 +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {who}", f"committer {who}", "", subject, ""]
    return "\n".join(lines).encode()
