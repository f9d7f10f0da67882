"""The program as a shell sees it: signals, closed and full outputs, terminals."""

import argparse
import json
import os
import pty
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--program", required=True)
SETTINGS = OPTIONS.parse_args()
DEADLINE_S = 30

PROGRESS = {"slot": "nms", "step": "downloading", "file": "build/x.so", "bytes_done": 512, "bytes_total": 1024,
            "files_done": 0, "files_total": 1}
FETCHED = {"slot": "nms", "repo": "yolo/nms", "repo_type": "kernel", "commit": "0" * 40, "proof": "git", "files": 1,
           "images": 2, "bytes": 1024, "downloaded_bytes": 1024, "adopted_bytes": 0, "warnings": []}


def is_sanitized() -> bool:
    """A sanitizer maps more memory than any limit that a test could set."""
    return b"libasan" in subprocess.run(["ldd", SETTINGS.program], capture_output=True, check=True).stdout


class Service:
    """Answers every call with `messages` and, where told to, nothing more until the caller has gone."""

    def __init__(self, folder: Path, messages, *, finishes: bool = True):
        self.path = str(folder / "socket")
        self.messages = messages
        self.finishes = finishes
        self.asked = threading.Event()
        self.caller_left = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.listener.accept()
            with peer:
                while b"\0" not in peer.recv(65536):
                    pass
                for message in self.messages:
                    peer.sendall(json.dumps(message).encode() + b"\0")
                self.asked.set()
                if not self.finishes and has_left(peer):
                    self.caller_left.set()


def has_left(peer: socket.socket) -> bool:
    """Waits for it. Messages that nobody read turn the end of a connection into a reset."""
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def progress_stream():
    return [{"parameters": {"progress": PROGRESS}, "continues": True}]


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lyk_test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def environment(self, service=None, **more):
        socket_path = service.path if service else str(self.folder / "nobody")
        return {"LIBREYOLO_KERNELS_SOCKET": socket_path, "LIBREYOLO_KERNELS_EXEC": "0", "PATH": os.environ["PATH"],
                **{name: os.environ[name] for name in ("ASAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ}, **more}

    def run_program(self, *words, service=None, **options):
        return subprocess.run([SETTINGS.program, *words], capture_output=True, check=False, text=True,
                              timeout=DEADLINE_S, env=self.environment(service), **options)

    def interrupted_by(self, number):
        service = Service(self.folder, progress_stream(), finishes=False)
        process = subprocess.Popen([SETTINGS.program, "fetch", "nms"], stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.PIPE, env=self.environment(service))
        self.assertTrue(service.asked.wait(DEADLINE_S))
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
        self.assertTrue(service.caller_left.wait(DEADLINE_S), "the connection closes")
        self.assertEqual(out, "")
        self.assertTrue(err.endswith("libreyolo-kernels: interrupted\n"), err)
        self.assertNotIn("", err.splitlines(), "no blank line where there is no terminal")
        return process.returncode

    def test_control_c_during_a_fetch_closes_the_connection_and_ends_in_130(self):
        self.assertEqual(self.interrupted_by(signal.SIGINT), 130)

    def test_sigterm_during_a_fetch_ends_in_143(self):
        self.assertEqual(self.interrupted_by(signal.SIGTERM), 143)

    def test_a_reader_that_leaves_ends_it_silently(self):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as out:
            ran = subprocess.run([SETTINGS.program, "--help"], stdout=out, stderr=subprocess.PIPE, check=False,
                                 env=self.environment(), timeout=DEADLINE_S)
        self.assertEqual((ran.returncode, ran.stderr), (141, b""))

    def test_a_full_disk_under_stdout_is_told(self):
        with open("/dev/full", "wb") as full:
            ran = subprocess.run([SETTINGS.program, "--help"], stdout=full, stderr=subprocess.PIPE, check=False,
                                 env=self.environment(), timeout=DEADLINE_S, text=True)
        self.assertEqual(ran.returncode, 6)
        self.assertEqual(ran.stderr, "libreyolo-kernels: write to standard output: No space left on device\n")

    @unittest.skipIf(is_sanitized(), "needs a limit of its memory")
    def test_memory_that_runs_out_is_told_in_the_document_too(self):
        big = self.folder / "big.so"
        with big.open("wb") as file:
            file.truncate(4 << 30)
        ran = self.run_program("inspect", str(big), "--json", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (1 << 30, 1 << 30)))
        message = f"inspect '{big}': out of memory"
        self.assertEqual((ran.returncode, ran.stderr), (70, f"libreyolo-kernels: {message}\n"))
        self.assertEqual(json.loads(ran.stdout)["error"]["message"], message)

    def test_an_output_that_may_not_grow_is_told(self):
        with (self.folder / "out").open("wb") as out:
            ran = subprocess.run([SETTINGS.program, "--help"], stdout=out, stderr=subprocess.PIPE, check=False,
                                 env=self.environment(), timeout=DEADLINE_S, text=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)))
        self.assertEqual(ran.returncode, 6)
        self.assertEqual(ran.stderr, "libreyolo-kernels: write to standard output: File too large\n")

    def test_without_standard_streams_it_still_tells_by_its_exit_code(self):
        ran = subprocess.run(["sh", "-c", 'exec "$0" list <&- >&- 2>&-', SETTINGS.program], check=False,
                             env=self.environment(), timeout=DEADLINE_S)
        self.assertEqual(ran.returncode, 5)

    def test_a_stderr_that_is_gone_does_not_stop_a_fetch(self):
        service = Service(self.folder, [*progress_stream(), {"parameters": {"fetched": [FETCHED]}}])
        ran = subprocess.run(["sh", "-c", 'exec "$0" fetch nms 2>&-', SETTINGS.program], check=False, text=True,
                             env=self.environment(service), timeout=DEADLINE_S, capture_output=True)
        self.assertEqual(ran.returncode, 0)
        self.assertIn("yolo/nms", ran.stdout)

    def on_a_terminal(self, *words, service=None, **more):
        """All that the program writes to a terminal of 80 columns, and its exit code."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(SETTINGS.program, [SETTINGS.program, *words], self.environment(service, **more))
        text = b""
        while select.select([terminal], [], [], DEADLINE_S)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # the program has closed its end
                break
            if not piece:
                break
            text += piece
        os.close(terminal)
        return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def fetch_on_a_terminal(self, **more):
        service = Service(self.folder, [*progress_stream(), {"parameters": {"fetched": [FETCHED]}}])
        text, exit_code = self.on_a_terminal("fetch", "nms", service=service, **more)
        self.assertEqual(exit_code, 0, text)
        return text

    def test_a_terminal_shows_a_bar_and_colours(self):
        text = self.fetch_on_a_terminal()
        self.assertIn("\r\x1b[Knms  [=====>    ]   50%  512 B of 1.0 KiB", text)
        self.assertIn("\x1b[1mSLOT\x1b[0m", text)

    def test_no_color_leaves_the_bar_and_takes_the_colours(self):
        text = self.fetch_on_a_terminal(NO_COLOR="1")
        self.assertIn("\r\x1b[Knms  [=====>    ]", text)
        self.assertNotIn("\x1b[1m", text)

    def test_a_dumb_terminal_gets_plain_lines(self):
        text = self.fetch_on_a_terminal(TERM="dumb")
        self.assertNotIn("\x1b", text)
        self.assertIn("nms: downloading build/x.so\r\n", text)

    def test_a_pipe_gets_plain_lines(self):
        service = Service(self.folder, [*progress_stream(), {"parameters": {"fetched": [FETCHED]}}])
        ran = self.run_program("fetch", "nms", service=service)
        self.assertEqual((ran.returncode, ran.stderr), (0, "nms: downloading build/x.so\n"))
        self.assertNotIn("\x1b", ran.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
