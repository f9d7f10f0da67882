"""A machine of its own for an end-to-end test: a fake Hub, the real daemon, the real command line, and folders that
nobody else uses. Nothing of the user's configuration, cache, tokens or services takes part."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fakes"))

from running_hub import RunningHub, make_repository  # noqa: E402  (the path is set just above)

import device_files  # noqa: E402

SLOT = "ms_deform_attn"
REPO = "kernels-community/deformable-detr"
ABI = "ms_deform_im2col"
DEADLINE_S = 60
SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def without_the_system_service() -> None:
    """Runs this program again where nobody sees the system's own service, which commands would ask first."""
    folder = Path("/run/libreyolo-kernels")
    if not (folder / "socket").exists():
        return
    if os.geteuid() != 0:
        print(f"skipped: {folder / 'socket'} is there, and only root can hide it")
        sys.exit(SKIPPED)
    hide = 'mount -t tmpfs none "$0" && exec "$@"'
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", hide, str(folder), sys.executable, *sys.argv])


without_the_system_service()


@dataclass(frozen=True)
class Programs:
    cli: str
    daemon: str


@dataclass(frozen=True)
class Ran:
    exit_code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    @property
    def message(self) -> str:
        """The line of the error, without the program's name."""
        lines = [line for line in self.err.splitlines() if line.startswith("libreyolo-kernels: ")]
        return lines[-1].removeprefix("libreyolo-kernels: ") if lines else ""


def make_hub_root(folder: Path, *options: str) -> dict:
    """A Hub with one kernel repository, made without a compiler; what was made, and where."""
    images = folder / "images"
    images.mkdir()
    files = device_files.write_images(images)
    root = folder / "hub"
    words = [word for path, file in files.items() for word in ("--file", f"{path}={file}")]
    return make_repository(root, *words, *options) | {"root": root, "local": files}


def pin_text(commit: str, *, repo: str = REPO, types=("kernel",), slot: str = SLOT, **more) -> str:
    lines = [f'slot = "{slot}"', f'repo = "{repo}"', f"repo_types = {json.dumps(list(types))}",
             f'revision = "{commit}"', *(f"{key} = {json.dumps(value)}" for key, value in more.items())]
    return "\n".join(lines) + "\n"


class World:
    """Ends with its `with` block: processes first, then folders."""

    def __init__(self, programs: Programs, hub_url: str = ""):
        self.programs = programs
        self.hub_url = hub_url
        self.folder = Path(tempfile.mkdtemp(prefix="lyk_e2e."))  # short: a socket's path has 107 bytes
        self.store = self.folder / "cache/libreyolo-kernels"
        self.pins = self.folder / "config/libreyolo-kernels/pins.d"
        self.socket = self.folder / "run/libreyolo-kernels/socket"
        self.daemons = []
        self.pins.mkdir(parents=True)
        (self.folder / "run").mkdir(mode=0o700)
        (self.folder / "home").mkdir()

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_) -> None:
        for daemon in self.daemons:
            self.stop(daemon)
        make_deletable(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more: str) -> dict:
        kept = ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
        mine = {"HOME": str(self.folder / "home"), "XDG_CACHE_HOME": str(self.folder / "cache"),
                "XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_RUNTIME_DIR": str(self.folder / "run"),
                "LIBREYOLO_KERNELS_EXEC": self.programs.daemon, "HF_ENDPOINT": self.hub_url,
                "HF_HOME": str(self.folder / "huggingface"), "HF_HUB_DOWNLOAD_TIMEOUT": "2", "no_proxy": "*",
                "LC_ALL": "C.UTF-8"}
        environment = {name: os.environ[name] for name in kept if name in os.environ} | mine | more
        return {name: value for name, value in environment.items() if value}

    def pin(self, text: str, slot: str = SLOT) -> Path:
        path = self.pins / f"{slot}.toml"
        path.write_text(text)
        return path

    # ---- the daemon

    def start(self, *words: str, wait: bool = True, prefix=(), **variables: str) -> subprocess.Popen:
        """A daemon that listens on the user's socket; `prefix` runs it through another program."""
        log = open(self.folder / f"daemon.{len(self.daemons)}.log", "w", encoding="utf-8")
        with log:
            daemon = subprocess.Popen([*prefix, self.programs.daemon, "--user", *words], stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log, env=self.environment(**variables))
        self.daemons.append(daemon)
        if wait:
            self.wait_for_socket(daemon)
        return daemon

    def log(self, number: int = -1) -> str:
        return (self.folder / f"daemon.{range(len(self.daemons))[number]}.log").read_text()

    def wait_for_socket(self, daemon: subprocess.Popen) -> None:
        def answers() -> bool:
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(str(self.socket)) == 0
        until(lambda: answers() or daemon.poll() is not None)
        if daemon.poll() is not None:
            raise RuntimeError(f"the daemon ended with {daemon.returncode}: {self.log()}")

    def stop(self, daemon: subprocess.Popen) -> int:
        if daemon.poll() is None:
            daemon.send_signal(signal.SIGTERM)
        return daemon.wait(timeout=DEADLINE_S)

    # ---- the command line

    def run(self, *words: str, prefix=(), timeout_s: float = DEADLINE_S, **variables: str) -> Ran:
        ran = subprocess.run([*prefix, self.programs.cli, *words], capture_output=True, check=False,
                             timeout=timeout_s, env=self.environment(**variables), stdin=subprocess.DEVNULL)
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def settle(self) -> None:
        """Waits until every private service that a command started has gone; it outlives the command a little."""
        mine = f"XDG_CACHE_HOME={self.folder / 'cache'}".encode()
        known = {daemon.pid for daemon in self.daemons}

        def is_mine(process: Path) -> bool:
            try:
                return mine in (process / "environ").read_bytes().split(b"\0") and int(process.name) not in known
            except OSError:  # it ended meanwhile, or is somebody else's
                return False
        until(lambda: not any(is_mine(process) for process in Path("/proc").glob("[0-9]*")))

    def normalised(self, text: str) -> str:
        """Without what changes from run to run: ports, folders, the Hub's request ids, lengths of packs."""
        text = text.replace(str(self.folder), "DIR")
        text = re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT", text)
        text = re.sub(r"Root=1-[0-9a-f]{8}-[0-9a-f]{24}", "ID", text)
        text = re.sub(r"(git-upload-pack: .*?)\b\d+( bytes remaining| \([0-9]+ attempts)", r"\1N\2", text)
        return text.replace(self.programs.daemon, "DAEMON")


def until(condition, deadline_s: float = DEADLINE_S) -> None:
    """Waits for something that another process does; there is nothing to be told by."""
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it does not happen")
        time.sleep(0.01)


def make_deletable(folder: Path) -> None:
    for path, folders, _ in os.walk(folder):
        for name in folders:
            if not (Path(path) / name).is_symlink():
                (Path(path) / name).chmod(0o700)


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tree_of(folder: Path, *, skipping=()) -> dict:
    """Every file below a folder -> kind, mode and hash; what lies below one of `skipping` is left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if any(name == left_out or name.startswith(left_out + "/") for left_out in skipping):
            continue
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = f"{path.stat().st_mode & 0o777:o} {sha256_of(path)}"
    return found


__all__ = ["ABI", "DEADLINE_S", "REPO", "SKIPPED", "SLOT", "Programs", "Ran", "RunningHub", "World", "make_deletable",
           "make_hub_root", "make_repository", "pin_text", "sha256_of", "tree_of", "until"]
