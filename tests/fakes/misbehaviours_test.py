#!/usr/bin/env python3
"""Each misbehaviour does something, harms nobody else, and ends when it is switched off."""

import json
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from hub import misbehaviours, packs, variants
from running_hub import (
    RunningHub,
    allow_token,
    clean_environment,
    example_root,
    raw_exchange,
)

REPOSITORY = "/kernels/kernels-community/deformable-detr"
HEADERS = "Host: 127.0.0.1\r\nConnection: close\r\n"
# Of these the bytes are honest and only the time is not: name -> (VALUE, the least seconds it takes).
SLOW = {
    "stall": ("0.4", 0.4),
    "stall-first-byte": ("0.4", 0.4),
    "stall-headers": ("0.4", 0.4),
    "drip": ("0.002", 0.2),
    "git-pack-stall": ("0.4", 0.4),
}
SMALL = {
    "gzip-bomb": "4",
    "error-huge": "1",
    "headers-huge": "1",
    "header-line-huge": "1",
    "json-deep": "1000",
    "git-pack-bomb": "4",
    "git-pack-delta-bomb": "2",
    "git-pack-extra": "3",
}
VOLATILE = re.compile(rb"X-Request-Id: [^\r]*\r\n|Expires=\d+|Signature=\w+")


class Requests:
    """One request of each kind, as bytes."""

    def __init__(self, hub: RunningHub, made: dict):
        self.hub, self.made = hub, made
        content = (made["root"] / "lfs").iterdir()
        file = min(content, key=lambda path: path.stat().st_size)
        self.oid, self.size = file.name, file.stat().st_size

    def bytes_of(self, kind: str, extra: str = "") -> bytes:
        commit, api = self.made["commit"], f"/api{REPOSITORY}"
        batch = json.dumps(
            {"operation": "download", "objects": [{"oid": self.oid, "size": self.size}]}
        )
        wants = (
            packs.pkt_line(f"want {commit} side-band-64k no-progress\n".encode())
            + b"0000"
            + packs.pkt_line(b"done\n")
        )
        targets = {
            "content": (f"/api/resolve-cache{REPOSITORY}/{commit}/README.md", b""),
            "raw": (f"{REPOSITORY}/raw/{commit}/README.md", b""),
            "resolve": (f"{REPOSITORY}/resolve/{commit}/images/one.cubin", b""),
            "cdn": (self.signed(), b"") if kind == "cdn" else ("", b""),
            "git-refs": (f"{REPOSITORY}/info/refs?service=git-upload-pack", b""),
            "git-pack": (f"{REPOSITORY}/git-upload-pack", wants),
            "lfs-batch": (f"{REPOSITORY}.git/info/lfs/objects/batch", batch.encode()),
            "tree": (f"{api}/tree/{commit}?recursive=true", b""),
            "refs": (f"{api}/refs", b""),
            "revision": (f"{api}/revision/v1", b""),
            "info": (api, b""),
            "organization": ("/api/organizations/kernels-community/overview", b""),
        }
        target, body = targets[kind]
        head = f"{'POST' if body else 'GET'} {target} HTTP/1.1\r\n{HEADERS}{extra}"
        if kind == "git-pack":
            head += "Content-Type: application/x-git-upload-pack-request\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def signed(self) -> str:
        """A URL of the CDN, which a request to the Hub must give first."""
        answer = raw_exchange(self.hub.url, self.bytes_of("resolve"))
        location = re.search(rb"Location: (\S+)", answer)[1].decode()
        return "/" + location.split("/", 3)[3]

    def send(self, kind: str, extra: str = "") -> bytes:
        url = self.hub.ready["cdn_url"] if kind == "cdn" else self.hub.url
        answer = VOLATILE.sub(b"", raw_exchange(url, self.bytes_of(kind, extra), 100_000, 0.6))
        head, _, body = answer.partition(b"\r\n\r\n")
        if kind == "git-pack":
            head, body = _without_bands(head, body)
        return b"\r\n".join(sorted(head.split(b"\r\n"))) + b"\r\n\r\n" + body


def _without_bands(head: bytes, body: bytes) -> tuple:
    """How a pack is cut into bands is up to the moment."""
    try:
        answer = packs.split_answer(body)
    except ValueError:
        answer = None
    head = re.sub(rb"\r\nContent-Length: \d+", b"", head)
    return (head, body) if answer is None else (head, answer.head + answer.pack)


def kind_for(one: misbehaviours.Misbehaviour) -> str:
    """The kind of request on which this misbehaviour can be seen."""
    if one.name.startswith("branch-"):
        return "git-refs"
    for kind in (
        ("cdn",) if one.name.startswith("cdn-") else ("resolve", "content", "revision", *one.kinds)
    ):
        if kind in one.kinds:
            return kind
    raise AssertionError(one.name)


class EachMisbehaviour(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="misbehaviours-")
        cls.made = example_root(Path(cls.folder.name))
        allow_token(cls.made["root"], "hf_good")
        cls.hub = RunningHub(cls.made["root"])
        cls.requests = Requests(cls.hub, cls.made)

    @classmethod
    def tearDownClass(cls):
        complaints = cls.hub.errors()
        cls.folder.cleanup()
        if complaints:
            raise AssertionError(f"the fake Hub complained: {complaints}")

    def setUp(self):
        self.hub.behave()
        self.hub.control("POST", "reset")

    def extra_headers(self, name: str) -> str:
        headers = (
            "Range: bytes=110-\r\n"
            if name.startswith("range-") or name == "changed-between"
            else ""
        )
        return headers + ("Authorization: Bearer hf_good\r\n" if name == "token-rejected" else "")

    def test_every_misbehaviour_changes_what_a_client_sees(self):
        honest = {}
        for name, one in misbehaviours.catalogue().items():
            if name in SLOW or name == "model-gone":
                continue
            with self.subTest(name):
                asked = (kind_for(one), self.extra_headers(name))
                if asked not in honest:
                    honest[asked] = self.requests.send(*asked)
                self.hub.misbehave(name, value=SMALL.get(name))
                self.assertNotEqual(honest[asked], self.requests.send(*asked))
                self.assertEqual(self.hub.counters()["misbehaved"].get(name), 1)
                self.hub.behave()
        for asked, answer in honest.items():
            self.assertEqual(answer, self.requests.send(*asked))

    def test_slow_ones_are_honest_and_late(self):
        for name, (value, seconds) in SLOW.items():
            with self.subTest(name):
                kind = kind_for(misbehaviours.catalogue()[name])
                honest = self.requests.send(kind)
                self.hub.misbehave(name, value=value)
                begun = time.monotonic()
                self.assertEqual(honest, self.requests.send(kind))
                self.assertGreaterEqual(time.monotonic() - begun, seconds)
                self.hub.behave()

    def test_model_gone_leaves_kernels_alone(self):
        self.hub.misbehave("model-gone")
        model = (
            f"GET /api/models/kernels-community/deformable-detr HTTP/1.1\r\n{HEADERS}\r\n".encode()
        )
        self.assertIn(b"401 Unauthorized", raw_exchange(self.hub.url, model))
        self.assertIn(b"200 OK", self.requests.send("info"))

    def test_a_rule_is_limited_by_pattern_and_by_hits(self):
        self.hub.misbehave("server-error", pattern="*/resolve/*", hits=2)
        self.assertIn(b"200 OK", self.requests.send("info"))
        answers = [self.requests.send("resolve") for _ in range(3)]
        self.assertEqual([b"HTTP/1.1 500 " in answer for answer in answers], [True, True, False])

    def test_a_pattern_with_a_space_names_the_method_too(self):
        self.hub.misbehave("server-error", pattern="POST */git-upload-pack")
        self.assertIn(b"200 OK", self.requests.send("git-refs"))
        self.assertIn(b"HTTP/1.1 500 ", self.requests.send("git-pack"))

    def test_the_first_one_on_is_outermost(self):
        self.hub.misbehave("warning")
        self.hub.misbehave("server-error")
        self.assertIn(b"X-HF-Warning", self.requests.send("info"))
        self.hub.behave()
        self.hub.misbehave("server-error")
        self.hub.misbehave("warning")
        self.assertNotIn(b"X-HF-Warning", self.requests.send("info"))

    def test_an_unknown_name_is_refused(self):
        with self.assertRaisesRegex(Exception, "400"):
            self.hub.misbehave("no-such-thing")


class Catalogue(unittest.TestCase):
    def test_names_and_texts_are_unique_over_both_lists(self):
        every = [*misbehaviours.catalogue().values(), *variants.catalogue().values()]
        self.assertGreaterEqual(len(misbehaviours.catalogue()), 45)
        self.assertEqual(len(every), len({one.name for one in every}))
        self.assertEqual(len(every), len({one.text for one in every}))

    def test_the_command_line_form_is_parsed(self):
        rule = misbehaviours.parse_rule("stall=3:*/resolve/*@2")
        self.assertEqual(
            (rule.misbehaviour.name, rule.value, rule.pattern, rule.hits_left),
            ("stall", "3", "*/resolve/*", 2),
        )
        self.assertEqual(
            misbehaviours.parse_rule("drip").describe(),
            {"name": "drip", "pattern": "*", "hits_left": None, "value": "1"},
        )


class GitAccepts(unittest.TestCase):
    """What is meant to be well-formed git is: the real git takes it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="misbehaviours-git-")
        cls.made = example_root(Path(cls.folder.name))
        cls.hub = RunningHub(cls.made["root"])

    @classmethod
    def tearDownClass(cls):
        cls.hub.errors()
        cls.folder.cleanup()

    def setUp(self):
        self.hub.behave()

    def git(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["git", *arguments], env=clean_environment(), capture_output=True, text=True
        )

    def fetch(self, name: str, commit: str, repository: str = REPOSITORY) -> tuple:
        store = str(Path(self.folder.name) / name)
        self.git("init", "--quiet", "--bare", store)
        return store, self.git("-C", store, "fetch", "--quiet", self.hub.url + repository, commit)

    def test_bombs_are_valid_packs_that_grow(self):
        for name, value, size in (
            ("git-pack-bomb", "48", 48 << 20),
            ("git-pack-delta-bomb", "3", 3 * 0xFFFFFF),
        ):
            with self.subTest(name):
                self.hub.misbehave(name, value=value)
                store, done = self.fetch(name, self.made["commit"])
                self.assertEqual(done.returncode, 0, done.stderr)
                sizes = self.git(
                    "-C", store, "cat-file", "--batch-all-objects", "--batch-check=%(objectsize)"
                ).stdout
                self.assertIn(str(size), sizes.split())
                self.hub.behave()

    def test_a_moved_branch_still_gives_its_old_commit_by_id(self):
        self.hub.misbehave("branch-moved")
        self.assertEqual(self.fetch("moved", self.made["commit"])[1].returncode, 0)
        heads = self.git("ls-remote", self.hub.url + REPOSITORY).stdout
        self.assertNotIn(self.made["commit"], heads)

    def test_a_lost_commit_is_refused(self):
        for name in ("branch-moved-lost", "commit-missing"):
            with self.subTest(name):
                self.hub.misbehave(name)
                self.assertNotEqual(self.fetch(name, self.made["commit"])[1].returncode, 0)
                self.hub.behave()

    def test_an_advanced_branch_holds_its_old_commit(self):
        self.hub.misbehave("branch-advanced")
        self.assertNotEqual(self.fetch("advanced", self.made["commit"])[1].returncode, 0)
        store, done = self.fetch("advanced-heads", "+refs/heads/*:refs/heads/*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            self.git("-C", store, "cat-file", "-t", self.made["commit"]).stdout, "commit\n"
        )

    def test_every_variant_arrives_as_it_is(self):
        incomplete = {
            "tree-empty-name",
            "tree-cut",
            "tree-missing-blob",
        }  # git reads trees while it fetches
        for name in variants.catalogue():
            with self.subTest(name):
                made = self.hub.control(
                    "POST", "variants", {"repository": REPOSITORY[1:], "name": name}
                )
                store, done = self.fetch(name, made["commit"], f"/kernels/{made['id']}")
                self.assertEqual(done.returncode != 0, name in incomplete, done.stderr)
                if name not in incomplete:
                    self.assertEqual(
                        self.git("-C", store, "cat-file", "-t", made["commit"]).stdout, "commit\n"
                    )


if __name__ == "__main__":
    unittest.main(verbosity=2)
