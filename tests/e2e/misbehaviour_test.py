"""Every misbehaviour of the fake Hub, and what a user is told: exit code and text, in misbehaviours.json.

A misbehaviour is tried wherever it can strike: while the commit is proven (`proof`: the store is empty), while a file
is downloaded (`file`: git's objects are there, no file is), and in the LFS batch (`lfs`: the link fails, so the batch is
asked). Whatever happens, the store ends as it was, byte for byte, or whole. LYK_UPDATE_GOLDEN=1 rewrites the table.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

from world import (ABI, REPO, SLOT, Programs, RunningHub, World, make_deletable, make_hub_root, pin_text, sha256_of,
                   tree_of)

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--cli", required=True)
OPTIONS.add_argument("--daemon", required=True)
OPTIONS.add_argument("--only", help="run only the cases with this in their name")
OPTIONS.add_argument("--times", action="store_true", help="print how long each case took, the longest first")
SETTINGS, UNITTEST_WORDS = OPTIONS.parse_known_args()
PROGRAMS = Programs(SETTINGS.cli, SETTINGS.daemon)
TABLE = Path(__file__).with_name("misbehaviours.json")
FAKE_HUB = Path(__file__).resolve().parent.parent / "fakes/fake_hub.py"
# They mostly wait for each other's time-outs, so many more than there are processors.
WORKERS = 16
CASE_DEADLINE_S = 100

PROOF_KINDS = {"git-refs", "git-pack"}
FILE_KINDS = {"resolve", "content", "cdn", "raw"}
# What has to be said about a misbehaviour for it to strike, or to strike within the test's time.
VALUES = {"drip": "0.02", "stall-first-byte": "30", "stall": "30", "stall-headers": "30", "git-pack-stall": "30",
          "error-huge": "1"}
PATTERNS = {"drip": "*other.ptx"}
# A range is asked for when a transfer broke off.
NEEDS_A_BREAK = ("range-", "changed-between")
# The pins of these name both types of repository.
OF_BOTH_TYPES = {"model-gone", "kernel-gone", "commit-missing"}
OVER_TLS = {"redirect-downgrade"}
# What time-outs are about is not waited for as long as the others, which must not run into one on a busy machine.
TIMEOUT_S, SHORT_TIMEOUT_S = "4", "1"
# Locks are empty files that stay; whoever holds one has nothing else to show for it.
MAY_CHANGE = ("locks",)
# What a client cannot tell apart; everything else has a text of its own.
ALIKE = [
    {"git-acknowledges-endless", "git-progress-endless"},  # the server talks and sends no pack
    {"git-missing-commit", "git-pack-empty", "git-wrong-commit"},  # the commit does not come
    {"git-missing-pointers", "git-wrong-pointer"}, {"git-missing-tree", "git-wrong-tree"},  # an object does not come
    {"git-unauthorized", "unauthorized", "kernel-gone"},  # the Hub says 401 to all of them
    {"gzip", "gzip-bomb"}, {"headers-endless", "headers-huge"},  # refused before the difference shows
    {"http-0.9", "not-http"}, {"interim-endless", "stall-headers"},
    {"length-too-small", "short-file"},  # the length is wrong
    {"lfs-garbage", "lfs-html"}, {"lfs-no-objects", "lfs-other-oid"},  # the batch has no such object
]
# Here a file was proven and stored before another one failed: it stays.
STORED_FIRST = {"commit-missing"}


@dataclass(frozen=True)
class Case:
    name: str   # of the misbehaviour
    phase: str  # proof, file, lfs, variant
    commit: str
    repo: str = REPO

    @property
    def key(self) -> str:
        return self.name if self.phase == "variant" else f"{self.name} ({self.phase})"

    @property
    def is_slow(self) -> bool:
        return self.is_stall or any(word in self.name for word in ("drip", "endless", "limited", "reset", "close"))

    @property
    def is_stall(self) -> bool:
        return "stall" in self.name or self.name == "interim-endless"


def catalogue() -> list:
    return json.loads(subprocess.run([sys.executable, str(FAKE_HUB), "--list", "--json"], capture_output=True,
                                     check=True, text=True).stdout)


class Setting:
    """What all cases share: the Hub's folder, and stores to begin with."""

    def __init__(self, folder: Path):
        self.folder = folder
        listed = catalogue()
        variants = [one["name"] for one in listed if one["how"] == "variant"]
        self.made = make_hub_root(folder, *[word for name in variants for word in ("--variant", name)])
        # A repository that was moved from one type to the other: the same commits in both.
        shutil.copytree(self.made["root"] / f"kernels/{REPO}.git", self.made["root"] / f"models/{REPO}.git")
        self.blobs = {sha256_of(Path(file)) for file in self.made["local"].values()}
        self.cases = self.make_cases(listed)
        self.stores = {phase: self.prepare(phase) for phase in ("proof", "file")}
        self.local = threading.local()
        self.hubs = []
        self.lock = threading.Lock()

    def make_cases(self, listed: list) -> list:
        cases = []
        made_variants = {one["name"]: one for one in self.made["variants"]}
        for one in listed:
            if one["how"] == "variant":
                variant = made_variants[one["name"]]
                cases.append(Case(one["name"], "variant", variant["commit"], variant["id"]))
                continue
            kinds = set(one["kinds"])
            phases = [phase for phase, struck in (("proof", PROOF_KINDS), ("file", FILE_KINDS)) if kinds & struck]
            if kinds == {"lfs-batch"}:
                phases = ["lfs"]
            # The API of the Hub is never asked: its lies must not matter.
            cases += [Case(one["name"], phase, self.made["commit"]) for phase in phases or ["proof"]]
        return cases

    def prepare(self, phase: str) -> Path:
        """A store that has been used, and for `file` has the commit's git objects."""
        with RunningHub(self.made["root"]) as hub, World(PROGRAMS, hub.url) as world:
            if phase == "file":
                world.pin(pin_text(self.made["commit"], abi=ABI))
                world.run("fetch", SLOT)
                world.run("remove", SLOT)
            world.run("status")
            world.settle()
            return Path(shutil.copytree(world.store, self.folder / f"store-{phase}", symlinks=True))

    def hub(self) -> RunningHub:
        """This thread's own."""
        if not hasattr(self.local, "hub"):
            self.local.hub = RunningHub(self.made["root"])
            with self.lock:
                self.hubs.append(self.local.hub)
        self.local.hub.behave()
        return self.local.hub

    def close(self) -> None:
        for hub in self.hubs:
            hub.errors()


def misbehave(hub: RunningHub, case: Case) -> None:
    if case.phase == "variant":
        return
    if case.phase == "lfs":
        hub.misbehave("entry-not-found", pattern="*/resolve/*.fatbin")
    if case.name.startswith(NEEDS_A_BREAK):
        hub.misbehave("truncate", hits=1)
    rule = {"value": VALUES.get(case.name), "pattern": PATTERNS.get(case.name)}
    hub.misbehave(case.name, **{name: value for name, value in rule.items() if value})


def outcome(setting: Setting, case: Case, hub: RunningHub, **variables) -> tuple:
    """The row of the table, and what the store has become."""
    with World(PROGRAMS, hub.url) as world:
        begin = setting.stores["file" if case.phase in ("file", "lfs") else "proof"]
        world.store.parent.mkdir(exist_ok=True)
        shutil.copytree(begin, world.store, symlinks=True)
        types = ("kernel", "model") if case.name in OF_BOTH_TYPES else ("kernel",)
        world.pin(pin_text(case.commit, repo=case.repo, types=types, abi=ABI))
        before = tree_of(world.store, skipping=MAY_CHANGE)
        misbehave(hub, case)
        try:
            ran = world.run("fetch", SLOT, "--quiet", timeout_s=CASE_DEADLINE_S,
                            HF_HUB_DOWNLOAD_TIMEOUT=SHORT_TIMEOUT_S if case.is_stall else TIMEOUT_S, **variables)
        except subprocess.TimeoutExpired:
            return {"exit": None}, [f"it does not end within {CASE_DEADLINE_S} s"]
        world.settle()
        after = tree_of(world.store, skipping=MAY_CHANGE)
        row = {"exit": ran.exit_code}
        if ran.exit_code:
            row["error"] = world.normalised(ran.message)
        problems = check_store(case, ran, before, after, setting)
        if len(ran.err.splitlines()) != (1 if ran.exit_code else 0):
            problems.append(f"stderr is not one line: {ran.err!r}")
        if "hf_" in ran.err or "Signature" in ran.err:
            problems.append(f"a secret is shown: {ran.err!r}")
        if world.store.exists():
            make_deletable(world.store)
        return row, problems


def may_stay(case: Case, name: str, setting: Setting) -> bool:
    is_proven = name.startswith("blobs/") and (len(Path(name).name) == 2 or Path(name).name in setting.blobs)
    return case.name in STORED_FIRST and (is_proven or name == "index.sqlite3")


def check_store(case: Case, ran, before: dict, after: dict, setting: Setting) -> list:
    if ran.exit_code:
        changed = sorted(name for name in before.keys() | after.keys()
                         if before.get(name) != after.get(name) and not may_stay(case, name, setting))
        return [f"the store changed: {name}: {before.get(name)} -> {after.get(name)}" for name in changed]
    blobs = {Path(name).name for name, what in after.items() if name.startswith("blobs/") and what != "folder"}
    wrong = [name for name in after if name.startswith(("tmp/", "quarantine/"))]
    if case.phase != "variant" and blobs != setting.blobs:
        wrong.append(f"blobs: {blobs ^ setting.blobs}")
    return [f"after success: {name}" for name in wrong]


def timed(function, *arguments) -> tuple:
    begin = time.monotonic()
    return *function(*arguments), time.monotonic() - begin


def run_case(setting: Setting, case: Case) -> tuple:
    if case.name not in OVER_TLS:
        return outcome(setting, case, setting.hub())
    certificates = setting.folder / f"tls-{case.phase}"
    with RunningHub(setting.made["root"], "--tls", str(certificates)) as hub:
        return outcome(setting, case, hub, SSL_CERT_FILE=str(certificates / "ca.pem"))


class Misbehaviours(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lyk_hub.")
        cls.addClassCleanup(folder.cleanup)
        cls.setting = Setting(Path(folder.name))
        cls.addClassCleanup(cls.setting.close)
        cases = [case for case in cls.setting.cases if not SETTINGS.only or SETTINGS.only in case.key]
        # The slow ones first, so that they wait beside the others.
        cases.sort(key=lambda case: not case.is_slow)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            results = list(pool.map(lambda case: timed(run_case, cls.setting, case), cases))
        cls.rows = {case.key: row for case, (row, _, _) in zip(cases, results)}
        cls.problems = {case.key: problems for case, (_, problems, _) in zip(cases, results) if problems}
        if SETTINGS.times:
            for seconds, key in sorted(((time_s, case.key) for case, (_, _, time_s) in zip(cases, results)), reverse=True):
                print(f"{seconds:6.1f} s  {key}", file=sys.stderr)

    def test_the_store_is_what_it_was_or_whole(self):
        self.assertEqual(self.problems, {})

    def test_what_a_user_is_told_is_in_the_table(self):
        if os.environ.get("LYK_UPDATE_GOLDEN") == "1":
            kept = json.loads(TABLE.read_text()) if SETTINGS.only and TABLE.exists() else {}
            TABLE.write_text(json.dumps(dict(sorted((kept | self.rows).items())), indent=1) + "\n")
        table = json.loads(TABLE.read_text())
        if SETTINGS.only:
            table = {key: row for key, row in table.items() if key in self.rows}
        self.assertEqual(self.rows, table)

    def test_no_two_have_the_same_text_unless_they_are_the_same_to_a_client(self):
        by_text = {}
        for key, row in json.loads(TABLE.read_text()).items():
            if row["exit"]:
                by_text.setdefault(row["error"], set()).add(key.partition(" (")[0])
        for text, names in by_text.items():
            self.assertTrue(len(names) == 1 or any(names <= group for group in ALIKE), f"{names}: {text}")


class Catalogue(unittest.TestCase):
    def test_no_two_misbehaviours_are_described_alike(self):
        texts = [one["text"] for one in catalogue()]
        self.assertGreaterEqual(len(texts), 40)
        self.assertEqual(len(texts), len(set(texts)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
