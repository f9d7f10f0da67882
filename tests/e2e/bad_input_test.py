"""Bad input from every side. Each ends in one line that says what, where and what to do, in the right exit code, and
leaves everything as it was."""

import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

from chain_test import PROGRAMS, UNITTEST_WORDS, EndToEnd
from world import ABI, REPO, SLOT, make_repository, pin_text, tree_of, until

NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def can_mount() -> bool:
    return IS_ROOT and subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                                      capture_output=True).returncode == 0


CAN_MOUNT = can_mount()


class BadInput(EndToEnd):
    def refused(self, ran, exit_code: int, *parts: str):
        """One line on stderr, with all of `parts` in it, and nothing on stdout."""
        self.assertEqual(ran.exit_code, exit_code, f"{ran.out}\n{ran.err}")
        self.assertEqual(len(ran.err.splitlines()), 1, ran.err)
        self.assertTrue(ran.err.startswith("libreyolo-kernels: "), ran.err)
        for part in parts:
            self.assertIn(part, ran.err)
        return ran

    def run_bound_by_modes(self, *words: str):
        """Without root's right to read and write whatever the mode of a file says."""
        plain = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if IS_ROOT else ()
        return self.world.run(*words, prefix=plain)


class Words(BadInput):
    """What a user types."""

    def test_an_unknown_slot_names_the_nearest_one(self):
        self.pinned()
        self.refused(self.world.run("resolve", "ms_deform_atn", "--arch", "9.0"), 3, "'ms_deform_atn'", SLOT)
        self.refused(self.world.run("fetch", "unheard_of"), 3, "'unheard_of'", "libreyolo-kernels pins")

    def test_a_repository_with_dots_is_refused_before_anybody_is_asked(self):
        self.refused(self.world.run("pin", SLOT, "--repo", "../evil", "--revision", "v1"), 2, "'../evil'")
        self.assertEqual(self.hub.counters()["connections"], {})

    def test_a_revision_that_is_not_there_names_what_is(self):
        self.refused(self.world.run("pin", SLOT, "--repo", REPO, "--revision", "v2", "--abi", ABI, "-q"), 3, "'v2'",
                     "v1")
        self.assertEqual(tree_of(self.world.pins), {})

    def test_a_repository_that_is_not_there(self):
        self.refused(self.world.run("pin", SLOT, "--repo", "kernels-community/nothing", "--revision", "v1",
                                    "--abi", ABI, "-q"), 5, "kernels-community/nothing")

    def test_an_abi_that_no_launcher_has_names_the_nearest_one(self):
        self.refused(self.world.run("pin", SLOT, "--repo", REPO, "--revision", "v1", "--abi", "ms_deform_imcol", "-q"),
                     2, "'ms_deform_imcol'", ABI)


class Pins(BadInput):
    """What stands in a pin file."""

    def fetch_with(self, text, exit_code: int, *parts: str):
        path = self.world.pins / f"{SLOT}.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        before = tree_of(self.world.folder, skipping=("run",))
        self.refused(self.world.run("fetch", SLOT, "-q"), exit_code, *parts)
        # The same file sent along, whoever reads it.
        ran = self.world.run("fetch", "--pin", str(path), "-q")
        self.refused(ran, exit_code, str(path))
        self.assertEqual(self.hub.counters()["connections"], {})
        after = tree_of(self.world.folder, skipping=("run", "cache"))
        self.assertEqual({name: what for name, what in before.items() if not name.startswith("cache")}, after)

    def test_a_misspelt_key_is_told_with_the_right_one(self):
        self.fetch_with(pin_text(self.commit) + 'licence = "MIT"\n', 2, f"{SLOT}.toml", "'licence'", "license")

    def test_a_short_revision(self):
        self.fetch_with(pin_text(self.commit[:7]), 2, self.commit[:7], "40")

    def test_a_revision_that_is_a_branch(self):
        self.fetch_with(pin_text("main"), 2, "'main'", "40")

    def test_a_repository_with_dots(self):
        self.fetch_with(pin_text(self.commit, repo="kernels-community/.."), 2, "kernels-community/..")

    def test_a_pin_that_is_not_utf8(self):
        self.fetch_with(pin_text(self.commit).encode() + b'license = "\xff"\n', 2, "UTF-8")

    def test_a_pin_that_is_not_toml(self):
        self.fetch_with("this is not a pin\n", 2, f"{SLOT}.toml")

    def test_a_pin_of_a_mebibyte_too_many(self):
        path = self.world.folder / "huge.toml"
        path.write_bytes(b"#" * (1 << 20) + b"\n")
        self.refused(self.world.run("fetch", "--pin", str(path)), 2, str(path), "limit")

    def test_a_pin_that_may_not_be_read(self):
        path = self.world.pin(pin_text(self.commit))
        path.chmod(0)
        self.refused(self.run_bound_by_modes("fetch", SLOT, "-q"), 2, str(path), "Permission denied")
        self.refused(self.run_bound_by_modes("fetch", "--pin", str(path)), 6, str(path), "Permission denied")

    def test_a_folder_in_place_of_a_pin(self):
        (self.world.pins / f"{SLOT}.toml").mkdir()
        self.refused(self.world.run("fetch", "--pin", str(self.world.pins / f"{SLOT}.toml")), 2, "not a regular file")
        self.assertEqual(self.world.run("fetch", SLOT, "-q").exit_code, 2)

    def test_one_bad_pin_does_not_harm_the_others(self):
        self.pinned()
        self.world.pin('slot = "other"\nrepoo = "x/y"\n', "other")
        self.done(self.world.run("fetch", SLOT, "-q"))
        pins = self.world.run("pins")
        self.done(pins)
        self.assertIn("other.toml", pins.err)
        self.assertIn("'repoo'", pins.err)

    def test_the_model_repository_is_gone_names_the_other_type_and_what_to_run(self):
        self.hub.misbehave("model-gone")
        self.world.pin(pin_text(self.commit, types=("model",), abi=ABI))
        self.refused(self.world.run("fetch", SLOT, "-q"), 5, "model repo", "401", f"libreyolo-kernels pin {SLOT}",
                     f"--revision v1 --abi {ABI}")
        self.world.pin(pin_text("0" * 40, types=("kernel", "model"), abi=ABI))
        self.refused(self.world.run("fetch", SLOT, "-q"), 3, "kernel repo", "model repo", "401",
                     f"libreyolo-kernels pin {SLOT}", "--revision v1")


class Services(BadInput):
    """Who answers, and who does not."""

    def test_a_socket_path_that_no_socket_can_have(self):
        path = "/" + "x" * 200
        self.refused(self.world.run("list", LIBREYOLO_KERNELS_SOCKET=path), 2, path[:50], "107")
        daemon = self.world.start("--socket", path, wait=False)
        self.assertEqual(daemon.wait(timeout=30), 2, self.world.log())
        self.assertIn("107", self.world.log())

    def test_no_daemon_and_none_may_be_started(self):
        self.refused(self.world.run("list", LIBREYOLO_KERNELS_EXEC="0"), 5, str(self.world.socket),
                     "LIBREYOLO_KERNELS_EXEC=0")

    def test_a_pipe_in_place_of_a_file_is_told_at_once_and_leaves_no_service_behind(self):
        pipe = self.world.folder / "pipe"
        os.mkfifo(pipe, 0o600)
        self.refused(self.world.run("list", HF_TOKEN_PATH=str(pipe)), 2, str(pipe), "not a regular file")
        config = self.world.pins.parent / "daemon.toml"
        os.mkfifo(config, 0o600)
        self.refused(self.world.run("list"), 2, str(config), "not a regular file")
        self.world.settle()

    def test_a_program_that_is_not_there(self):
        self.refused(self.world.run("list", LIBREYOLO_KERNELS_EXEC="/nowhere/daemon"), 5, "/nowhere/daemon")

    @unittest.skipUnless(IS_ROOT, "needs another user")
    def test_a_listener_that_is_neither_root_nor_us(self):
        path = self.world.folder / "foreign"
        listener = subprocess.Popen([sys.executable, "-c", f"""
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind({str(path)!r})
os.chmod({str(path)!r}, 0o777)
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
listener.listen()
print("ready", flush=True)
sys.stdin.read()
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with listener:
            listener.stdout.readline()
            self.refused(self.world.run("list", LIBREYOLO_KERNELS_SOCKET=str(path)), 8, str(path), str(NOBODY))
            listener.stdin.close()

    def test_a_second_daemon_leaves_the_first_alone(self):
        self.pinned()
        self.world.start()
        second = self.world.start(wait=False)
        self.assertNotEqual(second.wait(timeout=30), 0)
        self.assertIn(str(self.world.socket), self.world.log())
        self.done(self.world.run("fetch", SLOT, "-q", LIBREYOLO_KERNELS_EXEC="0"))

    def test_a_daemon_takes_the_socket_that_a_killed_one_left(self):
        first = self.world.start()
        first.kill()
        first.wait()
        self.world.start()
        self.done(self.world.run("list", LIBREYOLO_KERNELS_EXEC="0"))


class Stores(BadInput):
    """What lies on the disk, and what does not fit on it."""

    def big_repository(self) -> str:
        """The commit of a repository with a file that a small disk does not hold."""
        return make_repository(self.made["root"], "--repo", "kernels/kernels-community/big", "--random",
                               "images/big.cubin=4MiB")["commit"]

    @unittest.skipUnless(CAN_MOUNT, "needs a file system of its own")
    def test_a_full_disk(self):
        self.world.pin(pin_text(self.big_repository(), repo="kernels-community/big", abi=ABI))
        mount = ["unshare", "-m", "sh", "-c",
                 'mount -t tmpfs -o size=2m none "$0" && "$@"; code=$?; find "$0" -type f -printf "%P\\n" >"$0.files"; '
                 'exit $code', str(self.world.folder / "cache")]
        (self.world.folder / "cache").mkdir()
        ran = self.world.run("fetch", SLOT, "-q", prefix=mount)
        self.refused(ran, 6, "no room", "libreyolo-kernels prune")
        left = (self.world.folder / "cache.files").read_text()
        self.assertNotIn("/tmp/", left)
        self.assertNotIn("/blobs/", left)

    @unittest.skipUnless(CAN_MOUNT, "needs a file system of its own")
    def test_a_read_only_store_serves_what_it_has_and_says_why_it_takes_nothing(self):
        self.pinned()
        self.done(self.world.run("fetch", SLOT, "-q"))
        self.world.pin(pin_text(self.big_repository(), repo="kernels-community/big", slot="big", abi=ABI), "big")
        self.world.settle()
        before = tree_of(self.world.store)
        mount = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"',
                 str(self.world.store)]
        for words in (("resolve", SLOT, "--arch", "9.0"), ("list",), ("info", SLOT), ("status",), ("verify",)):
            self.done(self.world.run(*words, prefix=mount))
        self.refused(self.world.run("fetch", "big", "-q", prefix=mount), 6, str(self.world.store), "Read-only")
        self.world.settle()
        self.assertEqual(tree_of(self.world.store), before)

    def test_a_store_of_somebody_else(self):
        self.pinned()
        self.world.store.parent.mkdir()
        self.world.store.parent.chmod(0o555)
        self.refused(self.run_bound_by_modes("fetch", SLOT, "-q"), 6, str(self.world.store), "Permission denied")

    def test_a_store_that_is_deleted_under_a_daemon_is_made_anew(self):
        self.pinned()
        self.world.start()
        for take_away in (lambda: shutil.rmtree(self.world.store), lambda: shutil.rmtree(self.world.store / "locks"),
                          (self.world.store / "index.sqlite3").unlink):
            self.done(self.world.run("fetch", SLOT, "-q"))
            take_away()
            self.done(self.world.run("fetch", SLOT, "-q"))
            self.done(self.world.run("resolve", SLOT, "--arch", "9.0"))
            self.done(self.world.run("verify"))
        self.assertIn("store.gone", self.world.log())

    def test_a_file_that_may_not_grow_is_told_and_kills_nobody(self):
        self.world.pin(pin_text(self.big_repository(), repo="kernels-community/big", abi=ABI))
        limited = ("prlimit", "--fsize=1048576")
        self.refused(self.world.run("fetch", SLOT, "-q", prefix=limited), 6, "File too large")
        daemon = self.world.start(prefix=limited)
        self.refused(self.world.run("fetch", SLOT, "-q"), 6, "File too large")
        self.assertIsNone(daemon.poll())
        self.assertEqual(tree_of(self.world.store / "tmp"), {})

    def test_a_store_by_a_newer_version_is_left_alone(self):
        self.pinned()
        self.done(self.world.run("fetch", SLOT, "-q"))
        self.world.settle()
        index = sqlite3.connect(self.world.store / "index.sqlite3")
        index.execute("PRAGMA user_version = 1000")
        index.close()
        self.world.settle()
        before = tree_of(self.world.store)
        for words in (("list",), ("resolve", SLOT, "--arch", "9.0"), ("fetch", SLOT)):
            self.refused(self.world.run(*words, "-q"), 8, "newer", str(self.world.store))
        self.world.settle()
        self.assertEqual(tree_of(self.world.store), before)

    def test_an_index_of_garbage_says_how_to_make_it_anew(self):
        self.pinned()
        self.done(self.world.run("fetch", SLOT, "-q"))
        self.world.settle()
        for file in self.world.store.glob("index.sqlite3*"):
            file.write_bytes(b"garbage " * 1000)
        self.refused(self.world.run("list"), 6, "libreyolo-kernels rebuild-index")
        self.done(self.world.run("rebuild-index"))
        self.done(self.world.run("resolve", SLOT, "--arch", "9.0", HF_HUB_OFFLINE="1"))


class Peers(BadInput):
    """Clients that do not keep to the protocol. The daemon serves everybody else meanwhile."""

    def setUp(self):
        super().setUp()
        self.pinned()
        self.daemon = self.world.start()

    def connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        self.addCleanup(peer.close)
        peer.connect(str(self.world.socket))  # waits where the backlog is full
        peer.settimeout(30)
        return peer

    def still_serves(self):
        self.done(self.world.run("list", LIBREYOLO_KERNELS_EXEC="0"))
        self.assertIsNone(self.daemon.poll())

    def memory_kib(self) -> int:
        status = Path(f"/proc/{self.daemon.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def test_half_a_message_and_then_nothing(self):
        peer = self.connect()
        peer.sendall(b'{"method":"com.libreyolo.Kernels.Li')
        self.still_serves()
        answer = b""
        while piece := peer.recv(65536):  # until it is cut off, once the deadline of a message is over
            answer += piece
        self.assertIn(b"com.libreyolo.Kernels.Timeout", answer)
        self.still_serves()

    def test_a_hundred_mebibytes_without_an_end(self):
        peer = self.connect()
        before_kib = self.memory_kib()
        sent = 0
        try:
            for _ in range(100):
                peer.sendall(b"x" * (1 << 20))
                sent += 1
        except OSError:
            pass
        self.assertLess(sent, 10, "it is cut off early")
        self.assertLess(self.memory_kib() - before_kib, 16 * 1024)
        self.still_serves()

    def test_what_is_no_message(self):
        for text in (b"\0", b"hello\0", b"[]\0", b'{"method": 3}\0', b'{"method": "x"}\0', b"\xff\xfe\0",
                     b"[" * 100_000 + b"\0"):
            with self.subTest(text[:20]):
                peer = self.connect()
                peer.sendall(text)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):
                    pass
        self.still_serves()

    def test_five_thousand_connections(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        if before[1] < 6000:
            self.skipTest(f"only {before[1]} descriptors are allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (6000, before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        peers = [self.connect() for _ in range(5000)]
        refused = peers[-1].recv(65536)
        self.assertIn(b"connections", refused)
        self.refused(self.world.run("list", LIBREYOLO_KERNELS_EXEC="0"), 70, "connections")
        call = b'{"method":"com.libreyolo.Kernels.List","parameters":{}}\0'
        peers[0].sendall(call)
        self.assertIn(b"revisions", peers[0].recv(65536), "who is in is served")
        for peer in peers:
            peer.close()
        until(lambda: self.world.run("list", LIBREYOLO_KERNELS_EXEC="0").exit_code == 0)
        self.assertIsNone(self.daemon.poll())

    def test_a_client_that_dies_while_it_waits(self):
        self.hub.control("POST", "options", {"file_duration_s": 60})
        self.addCleanup(self.hub.control, "POST", "options", {"file_duration_s": 0})
        for number, words in enumerate((("fetch", SLOT), ("resolve", SLOT, "--arch", "9.0"))):
            client = subprocess.Popen([PROGRAMS.cli, *words], env=self.world.environment(), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            until(lambda: self.hub.counters()["kinds"].get("resolve", 0) > number)
            client.kill()
            client.wait()
            self.still_serves()
            if number == 0:
                until(lambda: tree_of(self.world.store / "tmp") == {})
        self.hub.control("POST", "options", {"file_duration_s": 0})
        self.world.stop(self.daemon)
        self.assertEqual(tree_of(self.world.store / "tmp"), {})
        self.assertEqual(tree_of(self.world.store / "quarantine"), {})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
