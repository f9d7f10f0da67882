#!/usr/bin/env python3
"""A varlink client that nobody here wrote (PyPI `varlink`) against the real daemon.

It calls every method of com.libreyolo.Kernels, streams with `more`, and provokes every error that a daemon
sends; of the others it checks that the served interface declares them. Exit 77 (skipped) without the package.

    varlink_test.py --daemon build/dev/bin/libreyolo-kernelsd --print-ptx build/dev/bin/print_ptx
"""

import argparse
import json
import re
import socket
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

try:
    import varlink
except ImportError:
    print("varlink_test: the package `varlink` is not installed", file=sys.stderr)
    sys.exit(77)

from varlink_house import ABI, INTERFACE, SLOT, Daemon, Hub

# What no daemon of this release sends, and why.
NEVER_SENT = {
    "SignatureInvalid": "signatures are not checked yet",
    "NoDriver": "the daemon never touches a driver",
    "Cuda": "the daemon never touches a driver",
    "NotEligible": "whether a call is eligible is the client library's to say",
    "Internal": "sent only where the daemon itself is wrong",
}
DEVICE = {"arch": "9.0", "driver": "13.0"}
ARGUMENTS = None


class House:
    """Starts what a test needs in folders of its own, and stops all of it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lyk_varlink.")
        self.started = []

    def path(self, name: str) -> Path:
        return Path(self.folder.name) / name

    def hub(self, name: str) -> Hub:
        self.started.append(Hub(ARGUMENTS.print_ptx, self.path(f"hub_{name}")))
        return self.started[-1]

    def daemon(self, name: str, **more) -> Daemon:
        self.started.append(Daemon(ARGUMENTS.daemon, self.path(name), **more))
        return self.started[-1]

    def daemon_of(self, name: str, hub: Hub, *, config=None, **more) -> Daemon:
        """One whose endpoint is the hub, with a pin for its repository."""
        return self.daemon(name, config={"endpoint": hub.server.url, **(config or {})}, pins=[pin_of(hub)], **more)

    def close(self) -> None:
        for thing in reversed(self.started):
            thing.stop()
        self.folder.cleanup()


def pin_of(hub: Hub, slot: str = SLOT) -> dict:
    return {"slot": slot, "repo": hub.repo, "repo_types": ["kernel"], "revision": hub.commit, "abi": ABI}


def call(daemon: Daemon, method: str, **parameters):
    with varlink.Client(address=daemon.address) as client, client.open(INTERFACE) as connection:
        return getattr(connection, method)(**parameters)


def error_of(daemon: Daemon, method: str, **parameters):
    """The error of a call: its name without the interface, and its fields."""
    try:
        answered = call(daemon, method, **parameters)
    except varlink.VarlinkError as error:
        return error.error().removeprefix(INTERFACE + "."), error.parameters()
    raise AssertionError(f"{method} was answered: {answered}")


def error_after(daemon: Daemon, message: bytes):
    """The error that the daemon sends to a peer that breaks the rules."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(daemon.socket))
        peer.sendall(message)
        received = b""
        while not received.endswith(b"\0"):
            received += peer.recv(65536)
    error = json.loads(received[:-1])
    return error["error"].removeprefix(INTERFACE + "."), error["parameters"]


class EveryMethod(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.house = House()
        cls.addClassCleanup(cls.house.close)
        cls.hub = cls.house.hub("methods")
        cls.daemon = cls.house.daemon_of("methods", cls.hub)
        cls.fetched = call(cls.daemon, "Fetch", slots=[SLOT])

    def test_the_service_describes_itself(self):
        with varlink.Client(address=self.daemon.address) as client:
            with client.open("org.varlink.service") as connection:
                info = connection.GetInfo()
            self.assertEqual(info["interfaces"], ["org.varlink.service", INTERFACE])
            self.assertIn("method Resolve", client.get_interface(INTERFACE).description)

    def test_fetch_proves_and_downloads(self):
        (slot,) = self.fetched["fetched"]
        self.assertEqual((slot["slot"], slot["commit"], slot["proof"]), (SLOT, self.hub.commit, "git"))
        self.assertEqual((slot["files"], slot["images"], slot["bytes"]), (1, 1, len(self.hub.ptx)))

    def test_fetch_streams_progress_and_ends_with_the_result(self):
        daemon = self.house.daemon_of("stream", self.hub)
        with varlink.Client(address=daemon.address) as client, client.open(INTERFACE) as connection:
            replies = list(connection.Fetch(slots=[SLOT], _more=True))
        self.assertEqual([reply["fetched"][0]["slot"] for reply in replies if reply.get("fetched")], [SLOT])
        self.assertIn("fetched", replies[-1])
        for reply in replies[:-1]:
            self.assertEqual(reply["progress"]["slot"], SLOT)

    def test_resolve_describes_the_image(self):
        reply = call(self.daemon, "Resolve", slot=SLOT, device=DEVICE, describe=True)
        self.assertEqual((reply["slot"], reply["commit"]), (SLOT, self.hub.commit))
        self.assertEqual((reply["image"]["kind"], reply["image"]["arch"]), ("ptx", "sm_75"))
        self.assertEqual(len(reply["image"]["kernels"]), 16)

    def test_probe_turns_a_branch_into_a_pin(self):
        reply = call(self.daemon, "Probe", slot=SLOT, repo=self.hub.repo, revision="v1", repo_types=["kernel"], abi=ABI)
        self.assertEqual((reply["commit"], reply["repo_type"]), (self.hub.commit, "kernel"))
        self.assertIn(f'revision = "{self.hub.commit}"', reply["pin"])
        self.assertIn("[digests]", reply["pin"])
        inline = call(self.daemon, "Fetch", slots=[], pin=reply["pin"], pin_name="new.toml")
        self.assertEqual(inline["fetched"][0]["proof"], "digests")

    def test_list_info_and_pins_show_what_is_there(self):
        (revision,) = [r for r in call(self.daemon, "List")["revisions"] if r["commit"] == self.hub.commit]
        self.assertEqual(revision["slot"], SLOT)
        self.assertEqual(len(call(self.daemon, "List", slot=SLOT)["revisions"]), 1)
        info = call(self.daemon, "Info", slot=SLOT)
        self.assertEqual([file["path"] for file in info["files"]], ["images/kernel.ptx"])
        (pin,) = call(self.daemon, "Pins")["pins"]
        self.assertEqual(pin["source"], str(self.daemon.folder / "pins" / f"{SLOT}.toml"))

    def test_status_counts(self):
        status = call(self.daemon, "Status")
        self.assertEqual((status["mode"], status["endpoint"].rstrip("/")), ("user", self.hub.server.url))
        self.assertGreaterEqual(status["counters"]["fetches_done"], 1)
        self.assertEqual(status["slots"][0]["state"], "cached")

    def test_verify_streams_and_reports(self):
        with varlink.Client(address=self.daemon.address) as client, client.open(INTERFACE) as connection:
            replies = list(connection.Verify(_more=True))
        self.assertEqual(replies[-1]["damaged"], [])
        self.assertEqual(replies[-1]["files"], 1)

    def test_care_of_the_store(self):
        daemon = self.house.daemon_of("care", self.hub)
        call(daemon, "Fetch", slots=[SLOT])
        self.assertEqual(call(daemon, "RebuildIndex"), {"files": 1, "images": 1, "revisions": 1})
        self.assertEqual(call(daemon, "Prune", max_bytes=0)["bytes_left"], len(self.hub.ptx))
        self.assertEqual(call(daemon, "Remove", slot=SLOT), {"files": 1, "bytes": len(self.hub.ptx)})
        self.assertEqual(call(daemon, "List")["revisions"], [])


class EveryError(unittest.TestCase):
    """Each error as the client's exception, with a message and whether trying again can help.

    Those that take some seconds (a deadline, or the fetcher's retries) are begun together."""

    @classmethod
    def setUpClass(cls):
        cls.house = House()
        cls.addClassCleanup(cls.house.close)
        cls.hub = cls.house.hub("errors")
        cls.daemon = cls.house.daemon_of("errors", cls.hub)
        cls.seen = set()
        cls.pool = ThreadPoolExecutor()
        cls.addClassCleanup(cls.pool.shutdown)
        slow = {
            "Timeout": cls.half_a_message,
            "Cancelled": cls.a_stop_while_waiting,
            "SizeMismatch": lambda: cls.fetch_from_a_bad_hub("short-file"),
            "DigestMismatch": lambda: cls.fetch_from_a_bad_hub("flip-byte"),
            "RemoteStatus": lambda: cls.fetch_from_a_bad_hub("bad-request"),
            "Network": cls.fetch_from_nowhere,
        }
        cls.slow = {name: cls.pool.submit(provoke) for name, provoke in slow.items()}

    # ---- slow ones

    @classmethod
    def half_a_message(cls):
        return error_after(cls.daemon, b'{"method":')

    @classmethod
    def fetch_from_a_bad_hub(cls, misbehaviour):
        hub = cls.house.hub(misbehaviour)
        hub.misbehave(misbehaviour)
        return error_of(cls.house.daemon_of(misbehaviour, hub), "Fetch", slots=[SLOT])

    @classmethod
    def fetch_from_nowhere(cls):
        daemon = cls.house.daemon("nowhere", config={"endpoint": "http://127.0.0.1:9"}, pins=[pin_of(cls.hub)])
        return error_of(daemon, "Fetch", slots=[SLOT])

    @classmethod
    def silent_hub(cls, name):
        hub = cls.house.hub(name)
        hub.misbehave("stall-headers")
        return hub

    @classmethod
    def a_stop_while_waiting(cls):
        daemon = cls.house.daemon_of("stopped", cls.silent_hub("stopped"))
        answer = cls.pool.submit(error_of, daemon, "Fetch", slots=[SLOT])
        daemon.wait_until_it_says("fetch.start")
        daemon.process.terminate()
        return answer.result()

    # ---- the checks

    def expect(self, name, error, **fields):
        self.assertEqual(error[0], name, error[1])
        self.assertRegex(error[1]["message"], r"^[^\n]+[^.\n]$")
        self.assertIsInstance(error[1]["retryable"], bool)
        for key, value in fields.items():
            self.assertEqual(error[1][key], value)
        self.seen.add(name)

    def test_slow_errors(self):
        for name, answer in self.slow.items():
            with self.subTest(name):
                self.expect(name, answer.result())

    def test_invalid_argument(self):
        self.expect("InvalidArgument", error_of(self.daemon, "Info", slot="No Slot!"), retryable=False)

    def test_not_found(self):
        self.expect("NotFound", error_of(self.daemon, "Probe", slot=SLOT, repo=self.hub.repo, revision="v77"))

    def test_not_pinned(self):
        self.expect("NotPinned", error_of(self.daemon, "Info", slot="ms_deform_atn"), slot="ms_deform_atn")

    def test_refused(self):
        daemon = self.house.daemon_of("refused", self.hub)
        daemon.cache.mkdir()
        daemon.cache.chmod(0o777)
        self.expect("Refused", error_of(daemon, "Status"))

    def test_offline(self):
        daemon = self.house.daemon_of("offline", self.hub, environment={"HF_HUB_OFFLINE": "1"})
        self.expect("Offline", error_of(daemon, "Resolve", slot=SLOT, device=DEVICE), slot=SLOT)

    def test_busy(self):
        daemon = self.house.daemon_of("busy", self.silent_hub("busy"))
        archs = [f"{major}.{minor}" for major in (8, 9, 10) for minor in range(6)]
        for arch in archs[:16]:
            error_of(daemon, "Resolve", slot=SLOT, device={"arch": arch}, wait_ms=0)  # its fetch goes on
        self.expect("Busy", error_of(daemon, "Resolve", slot=SLOT, device={"arch": archs[16]}, wait_ms=0), retryable=True)

    def test_protocol(self):
        self.expect("Protocol", error_after(self.daemon, b"hello\0"))

    def test_no_space(self):
        daemon = self.house.daemon_of("full", self.hub, config={"cache_max_bytes": 10})
        self.expect("NoSpace", error_of(daemon, "Fetch", slots=[SLOT]))

    def test_io(self):
        daemon = self.house.daemon_of("io", self.hub, cache=Path("daemon.toml/below/a/file"))
        self.expect("Io", error_of(daemon, "Status"))

    def test_corrupt_store(self):
        daemon = self.house.daemon_of("corrupt", self.hub)
        daemon.cache.mkdir(mode=0o700)
        (daemon.cache / "index.sqlite3").write_bytes(b"no database" * 1000)
        self.expect("CorruptStore", error_of(daemon, "Status"))
        call(daemon, "RebuildIndex")
        self.assertEqual(call(daemon, "Status")["store"]["files"], 0)

    def test_not_cached(self):
        daemon = self.house.daemon_of("missing", self.silent_hub("missing"))
        self.expect("NotCached", error_of(daemon, "Resolve", slot=SLOT, device=DEVICE, wait_ms=0), slot=SLOT, retryable=True)

    def test_no_image(self):
        name, fields = error_of(self.daemon, "Resolve", slot=SLOT, device={"arch": "5.0"})
        self.expect("NoImage", (name, fields), slot=SLOT)
        self.assertEqual([row["image"] for row in fields["refused"]], ["images/kernel.ptx sm_75 ptx"])

    def test_zz_every_declared_error_was_seen_or_is_never_sent(self):
        with varlink.Client(address=self.daemon.address) as client:
            description = client.get_interface(INTERFACE).description
        declared = set(re.findall(r"^error (\w+) \(message: string, retryable: bool", description, re.MULTILINE))
        self.assertEqual(len(declared), 23)
        self.assertEqual(declared - self.seen, set(NEVER_SENT))


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon", required=True)
    parser.add_argument("--print-ptx", required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
