"""A household for daemons in tests: a folder with pins, a configuration and stores, and a fake Hub.

For unittest programs that talk to the real program; nothing of it is installed."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

FAKES = Path(__file__).resolve().parent.parent / "fakes"
sys.path.insert(0, str(FAKES))

from running_hub import RunningHub  # noqa: E402  (after its folder is on the path)

INTERFACE = "com.libreyolo.Kernels"
ABI = "ms_deform_im2col"
SLOT = "ms_deform_attn"


class Hub:
    """A fake Hub with one repository, which holds one PTX file of our launch ABI."""

    def __init__(self, print_ptx: str, folder: Path):
        self.ptx = subprocess.run([print_ptx, ABI, "sm_75"], check=True, capture_output=True).stdout
        folder.mkdir(parents=True)
        source = folder / "kernel.ptx"
        source.write_bytes(self.ptx)
        made = subprocess.run(
            [sys.executable, FAKES / "make_kernel_repo.py", "--root", folder / "hub"]
            + ["--file", f"images/kernel.ptx={source}"],
            check=True,
            capture_output=True,
            text=True,
        )
        made = json.loads(made.stdout)
        self.repo = made["id"]
        self.commit = made["commit"]
        self.server = RunningHub(folder / "hub")

    def misbehave(self, name: str, **more) -> None:
        self.server.control("POST", "/misbehaviours", {"name": name, **more})

    def stop(self) -> None:
        self.server.errors()


class Daemon:
    """A running daemon in a folder of its own. `pins` are tables, written as pin files; `cache` is in it."""

    def __init__(
        self, program: str, folder: Path, *, config=None, pins=(), environment=None, cache=Path("cache")
    ):
        self.folder = folder
        self.cache = folder / cache
        (folder / "pins").mkdir(parents=True, exist_ok=True)
        (folder / "daemon.toml").write_text(toml(config or {}))
        for pin in pins:
            (folder / "pins" / f"{pin['slot']}.toml").write_text(toml(pin))
        self.socket = folder / "socket"
        self.address = f"unix:{self.socket}"
        self.process = subprocess.Popen(
            [program, "--user", "--socket", self.socket, "--config", folder / "daemon.toml"]
            + ["--cache", self.cache, "--pins", folder / "pins"],
            stderr=subprocess.PIPE,
            text=True,
            env={"HOME": str(folder), **(environment or {})},
        )
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if "daemon.ready" in line:
                break
        else:
            raise RuntimeError("".join(self.log))
        # Read on, or the daemon's pipe fills up.
        self.heard = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.process.stderr:
            with self.heard:
                self.log.append(line)
                self.heard.notify_all()

    def wait_until_it_says(self, text: str) -> None:
        with self.heard:
            self.heard.wait_for(lambda: any(text in line for line in self.log), timeout=60)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)


def toml(table: dict) -> str:
    """`table` as TOML: texts, numbers, flags, lists of texts, and tables of texts."""
    plain = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict):
            plain.append(f"[{key}]")
            plain += [f"{json.dumps(name)} = {json.dumps(text)}" for name, text in value.items()]
    return "\n".join(plain) + "\n"
