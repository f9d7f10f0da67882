"""A world of its own for a benchmark: a fake Hub, a store, pins and a daemon in a temporary folder."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "release" / "bin"
FAKES = ROOT / "tests" / "fakes"
REPO = "kernels-community/deformable-detr"
SLOT = "ms_deform_attn"


class World:
    """Use as a context manager. `environment` is what every child process gets."""

    def __init__(self, *, library_padding_bytes=0, hub_options=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="libreyolo-kernels-bench."))
        self.hub = self.daemon = None
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("HF_", "LIBREYOLO_", "HUGGING", "XDG_"))}
        self.environment |= {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HF_HOME": str(self.folder / "huggingface"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }
        (self.folder / "run").mkdir(mode=0o700)
        (self.folder / "config/libreyolo-kernels/pins.d").mkdir(parents=True)
        self.socket = self.folder / "run" / "socket"
        self._make_repository(library_padding_bytes)
        self._start_hub(hub_options)
        self.pin = self.folder / "config/libreyolo-kernels/pins.d" / f"{SLOT}.toml"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_daemon()
        if self.hub:
            self.hub.stdin.close()
            self.hub.wait()
        subprocess.run(["chmod", "-R", "u+w", self.folder], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_repository(self, padding_bytes):
        work = ROOT / "build" / "demo"
        hub = self.folder / "hub"
        make = [sys.executable, FAKES / "make_kernel_repo.py", "--root", hub]
        nvcc = subprocess.run([ROOT / "script/nvcc"], check=True, capture_output=True, text=True)
        environment = os.environ | {"NVCC": nvcc.stdout.strip()}
        made = subprocess.run([*make, "--work", work], check=True, capture_output=True, text=True,
                              env=environment)
        if padding_bytes:
            # The same library with random bytes behind it, which no ELF reader looks at.
            library = next(path for path in work.rglob("*.so"))
            big = self.folder / "big.so"
            shutil.copy(library, big)
            with open(big, "ab") as file:
                file.write(os.urandom(padding_bytes))
            shutil.rmtree(hub)
            made = subprocess.run(
                [*make, "--library", f"torch212-cxx11-cu130-x86_64-linux={big}=7.5,8.0,9.0"],
                check=True, capture_output=True, text=True)
        self.repository = json.loads(made.stdout)
        self.commit = self.repository["branches"]["v1"]

    def _start_hub(self, options):
        self.hub = subprocess.Popen(
            [sys.executable, FAKES / "fake_hub.py", "--root", self.folder / "hub", "--stdin", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ready = json.loads(self.hub.stdout.readline())
        self.hub_url, self.control_url = ready["url"], ready["control_url"]
        self.environment["HF_ENDPOINT"] = self.hub_url

    def control(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.control_url + path, data=data) as answer:
            return json.loads(answer.read() or b"{}")

    def library_path(self):
        """The path in the repository of its largest file."""
        tree = f"{self.hub_url}/api/kernels/{REPO}/tree/{self.commit}?recursive=true"
        with urllib.request.urlopen(tree) as answer:
            return max(json.load(answer), key=lambda entry: entry["size"])["path"]

    def make_pin(self, *, proof="digests"):
        """With the digests of all files, as `pin` writes it; or with the commit id alone, for a proof by git."""
        self.run(["libreyolo-kernels", "pin", SLOT, "--repo", REPO, "--revision", "v1",
                  "--abi", "ms_deform_im2col", "--output", self.pin])
        if proof == "git":
            self.pin.write_text(self.pin.read_text().partition("\n[")[0])

    def run(self, command, *, environment=None, check=True):
        return subprocess.run([str(part) for part in command], env=environment or self.environment,
                              check=check, capture_output=True, text=True)

    def start_daemon(self, *, prefix=(), config=""):
        """Returns the seconds from its start until it said that it is ready."""
        (self.folder / "config/libreyolo-kernels/daemon.toml").write_text(config)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify_path = self.folder / "run" / "notify"
        notify_path.unlink(missing_ok=True)
        notify.bind(str(notify_path))
        environment = self.environment | {"NOTIFY_SOCKET": str(notify_path)}
        begin = time.monotonic()
        self.daemon = subprocess.Popen(
            [*prefix, str(BIN / "libreyolo-kernelsd"), "--user", "--socket", str(self.socket)],
            env=environment, stdin=subprocess.DEVNULL, stderr=open(self.folder / "daemon.log", "ab"))
        notify.settimeout(10)
        while b"READY=1" not in notify.recv(4096):
            pass
        ready_s = time.monotonic() - begin
        notify.close()
        self.environment["LIBREYOLO_KERNELS_SOCKET"] = str(self.socket)
        return ready_s

    def stop_daemon(self):
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait()
            self.daemon = None
        self.environment.pop("LIBREYOLO_KERNELS_SOCKET", None)

    def daemon_memory(self):
        """KiB by name, from /proc/PID/status."""
        fields = {}
        for line in open(f"/proc/{self.daemon.pid}/status"):
            name, _, value = line.partition(":")
            if value.endswith("kB\n"):
                fields[name] = int(value.split()[0])
        return fields

    def call(self, method, parameters, times=1):
        """Calls the daemon on one connection; the seconds of each call."""
        message = json.dumps({"method": f"com.libreyolo.Kernels.{method}", "parameters": parameters})
        seconds = []
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(self.socket))
            for _ in range(times):
                begin = time.perf_counter()
                connection.sendall(message.encode() + b"\0")
                reply = b""
                while not reply.endswith(b"\0"):
                    reply += connection.recv(1 << 20)  # a descriptor beside it is dropped here
                seconds.append(time.perf_counter() - begin)
                if b'"error"' in reply:
                    raise RuntimeError(reply.decode())
        return seconds
