"""A fake Hub for one test class: made, started, controlled and ended. For unittest programs."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
SKIPPED = 77  # ctest's SKIP_RETURN_CODE


class RunningHub:
    """The process, its addresses and its control endpoint. Ends with its `with` block."""

    def __init__(self, root: Path, *options: str):
        command = [
            sys.executable,
            str(HERE / "fake_hub.py"),
            "--root",
            str(root),
            "--stdin",
            *options,
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the fake Hub does not start: {self.process.stderr.read()}")
        self.ready = json.loads(line)
        self.url = self.ready["url"]

    def __enter__(self) -> "RunningHub":
        return self

    def __exit__(self, *_) -> None:
        self.errors()

    def errors(self) -> str:
        """Ends it; what it had to complain about itself."""
        if self.process.stdin.closed:
            return ""
        self.process.stdin.close()
        text = self.process.stderr.read()
        self.process.wait(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()
        return text

    def control(self, method: str, path: str, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.ready['control_url']}/{path}", data, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=30
        ) as answer:
            return json.load(answer)

    def counters(self) -> dict:
        return self.control("GET", "counters")

    def misbehave(self, name: str, **rule) -> None:
        self.control("POST", "misbehaviours", {"name": name, **rule})

    def behave(self) -> None:
        self.control("DELETE", "misbehaviours")


def make_repository(root: Path, *options: str) -> dict:
    command = [sys.executable, str(HERE / "make_kernel_repo.py"), "--root", str(root), *options]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def example_root(folder: Path) -> dict:
    """A root with one kernel repository and its model-type twin, without a compiler; what was made."""
    library = folder / "library.so"
    library.write_bytes(b"\x7fELF" + bytes(range(256)) * 800)
    root = folder / "root"
    build = (
        "--library",
        f"torch212-cxx11-cu130-x86_64-linux={library}=7.5,9.0",
        "--random",
        "images/one.cubin=9KiB",
    )
    made = make_repository(root, *build)
    twin = make_repository(root, "--repo", "models/kernels-community/deformable-detr", *build)
    return made | {"root": root, "model_commit": twin["commit"], "library": library}


def change_settings(root: Path, section: str, **entries) -> None:
    """Puts entries into one object of hub.json."""
    file = root / "hub.json"
    settings = json.loads(file.read_text()) if file.exists() else {}
    settings.setdefault(section, {}).update(entries)
    file.write_text(json.dumps(settings))


def allow_token(root: Path, token: str, access: tuple = ("*",)) -> None:
    change_settings(root, "tokens", **{token: {"user": "ada", "access": list(access)}})


def raw_exchange(url: str, request: bytes, bytes_max: int = 400_000, quiet_s: float = 1.0) -> bytes:
    """What a server sends for these bytes, until it closes, falls silent or has sent enough."""
    where = urlsplit(url)
    received = bytearray()
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        connection.sendall(request)
        connection.settimeout(quiet_s)
        try:
            while len(received) < bytes_max and (block := connection.recv(65536)):
                received += block
        except (TimeoutError, ConnectionError):
            pass
    return bytes(received)


def clean_environment(**extra: str) -> dict:
    """No proxies, tokens or git settings of whoever runs the tests."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
        if name in os.environ
    }
    return (
        kept
        | {
            "HOME": tempfile.gettempdir(),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "no_proxy": "*",
        }
        | extra
    )
