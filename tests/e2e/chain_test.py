"""The whole chain with the real programs: pin, proof, download, store, choice, sealed memory."""

import argparse
import fcntl
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
import unittest
from pathlib import Path

import device_files
from world import (ABI, REPO, SLOT, Programs, RunningHub, World, make_hub_root, make_repository, pin_text, sha256_of,
                   tree_of, until)

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--cli", required=True)
OPTIONS.add_argument("--daemon", required=True)
SETTINGS, UNITTEST_WORDS = OPTIONS.parse_known_args()
PROGRAMS = Programs(SETTINGS.cli, SETTINGS.daemon)
# F_GET_SEALS of linux/fcntl.h, and SEAL, SHRINK, GROW and WRITE together.
F_GET_SEALS, ALL_SEALS = 1034, 0b1111


def resolve_by_hand(path: str, arch: str) -> tuple:
    """What any varlink client gets: the reply, and the descriptor that comes with it."""
    call = {"method": "com.libreyolo.Kernels.Resolve", "parameters": {"slot": SLOT, "device": {"arch": arch}}}
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.sendall(json.dumps(call).encode() + b"\0")
        text, descriptors, _, _ = socket.recv_fds(peer, 1 << 20, 1)
        while not text.endswith(b"\0"):
            text += peer.recv(1 << 20)
    return json.loads(text[:-1]), descriptors


class EndToEnd(unittest.TestCase):
    """A Hub for the class, and a fresh machine for each test."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lyk_hub.")
        cls.addClassCleanup(folder.cleanup)
        cls.made = make_hub_root(Path(folder.name))
        cls.commit = cls.made["commit"]
        cls.hub = RunningHub(cls.made["root"])
        cls.addClassCleanup(cls.hub.errors)
        cls.local = {path: Path(file) for path, file in cls.made["local"].items()}

    def setUp(self):
        self.hub.behave()
        self.hub.control("POST", "reset")
        self.world = World(PROGRAMS, self.hub.url)
        self.addCleanup(self.world.__exit__)

    def done(self, ran, exit_code: int = 0):
        self.assertEqual(ran.exit_code, exit_code, f"{ran.out}\n{ran.err}")
        return ran

    def pinned(self, **more):
        self.world.pin(pin_text(self.commit, abi=ABI, **more))

    def content_requests(self) -> int:
        kinds = self.hub.counters()["kinds"]
        return kinds.get("cdn", 0) + kinds.get("content", 0) + kinds.get("raw", 0)

    def blob_of(self, path: str) -> Path:
        digest = sha256_of(self.local[path])
        return self.world.store / "blobs/sha256" / digest[:2] / digest


def tour() -> list:
    """The words of each command of the README's tour."""
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text().split("\n## Tour\n")[1]
    block = re.match(r"\s*\n((?: {4}.*\n)+)", text).group(1)
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


class Chain(EndToEnd):
    def test_the_tour_of_the_readme_works_as_it_stands_there(self):
        commands = tour()
        self.assertEqual([words[0] for words in commands],
                         ["pin", "fetch", "doctor", "info", "resolve", "inspect", "verify", "parity"])
        for words in commands:
            # The file to inspect is one's own.
            words = [str(self.local["images/ms_deform_attn.fatbin"]) if word == "some_kernel.so" else word
                     for word in words]
            self.done(self.world.run(*words))

    def test_a_fetch_without_a_terminal_has_a_line_for_each_file(self):
        self.pinned()
        ran = self.done(self.world.run("fetch", SLOT))
        self.assertEqual(ran.err.splitlines(),
                         [f"{SLOT}: proving", *(f"{SLOT}: downloading {path}" for path in sorted(self.local))])
        ran = self.done(self.world.run("fetch", SLOT))
        self.assertNotIn("downloading", ran.err)

    def test_a_revision_becomes_a_pin_with_the_digests_of_its_files(self):
        ran = self.done(self.world.run("pin", SLOT, "--repo", REPO, "--revision", "v1", "--abi", ABI))
        self.assertIn("parity:", ran.out)
        pin = tomllib.loads((self.world.pins / f"{SLOT}.toml").read_text())
        self.assertEqual((pin["slot"], pin["repo"], pin["revision"]), (SLOT, REPO, self.commit))
        self.assertEqual(pin["repo_types"], ["kernel"])
        self.assertEqual(pin["digests"], {path: sha256_of(file) for path, file in self.local.items()})

    def test_what_a_pin_says_of_its_repository_does_not_go_over_to_another_one(self):
        self.world.pin(pin_text(self.commit, abi=ABI, public=True, deterministic=["forward"]))
        raise_it = ("pin", SLOT, "--repo", REPO, "--revision", "v1", "--json")
        self.assertEqual(self.done(self.world.run(*raise_it)).json()["kept"], ["abi", "deterministic", "public"])
        other = "kernels-community/other"
        make_repository(self.made["root"], "--repo", f"kernels/{other}",
                        *(word for path, file in self.local.items() for word in ("--file", f"{path}={file}")))
        move = ("pin", SLOT, "--repo", other, "--revision", "v1", "--force", "--json")
        moved = self.done(self.world.run(*move))
        self.assertEqual(moved.json()["kept"], ["abi"])
        self.assertIn(f"the pin in force says it of '{REPO}': deterministic, public", moved.err)
        pin = tomllib.loads((self.world.pins / f"{SLOT}.toml").read_text())
        self.assertEqual((pin["repo"], pin["abi"]), (other, ABI))
        self.assertNotIn("public", pin)
        self.assertNotIn("deterministic", pin)

    def test_what_a_pin_says_of_a_kernel_repository_does_not_go_over_to_the_model_of_that_name(self):
        twins = "kernels-community/twins"
        words = [word for path, file in self.local.items() for word in ("--file", f"{path}={file}")]
        commit = make_repository(self.made["root"], "--repo", f"kernels/{twins}", *words)["commit"]
        make_repository(self.made["root"], "--repo", f"models/{twins}", *words)

        def raised(world: World, kind: str):
            probe = ("pin", SLOT, "--repo", twins, "--revision", "v1", "--type", kind, "--output", "-", "--json")
            document = self.done(world.run(*probe)).json()
            return document["kept"], "\n".join(document["warnings"])

        self.world.pin(pin_text(commit, repo=twins, types=["kernel"], abi=ABI, public=True))
        self.assertEqual(raised(self.world, "kernel")[0], ["abi", "public"])
        kept, warnings = raised(self.world, "model")
        self.assertEqual(kept, ["abi"])
        self.assertIn(f"the pin in force says it of the kernel repo '{twins}': public", warnings)
        # Of which of the two a pin of both types speaks shows with its files, and not before.
        with World(PROGRAMS, self.hub.url) as fresh:
            fresh.pin(pin_text(commit, repo=twins, types=["kernel", "model"], abi=ABI, public=True))
            self.done(fresh.run("fetch", SLOT))
            self.assertEqual(raised(fresh, "kernel")[0], ["abi", "public"])
            kept, warnings = raised(fresh, "model")
            self.assertEqual(kept, ["abi"])
            self.assertIn(f"nothing shows that the pin in force says it of the model repo '{twins}': public", warnings)

    def test_a_pin_that_names_no_abi_is_not_begun(self):
        ran = self.done(self.world.run("pin", SLOT, "--repo", REPO, "--revision", "v1"), 2)
        self.assertIn(f"name it with --abi: '{ABI}'", ran.err)
        self.assertEqual(self.hub.counters()["connections"], {})
        self.assertEqual(tree_of(self.world.pins), {})

    def test_a_fetch_proves_and_stores_every_image_file_of_the_commit(self):
        self.pinned()
        self.world.start()
        fetched = self.done(self.world.run("fetch", SLOT, "--json")).json()["fetched"]
        self.assertEqual(len(fetched), 1)
        self.assertEqual((fetched[0]["commit"], fetched[0]["proof"], fetched[0]["repo_type"]),
                         (self.commit, "git", "kernel"))
        self.assertEqual((fetched[0]["files"], fetched[0]["images"]), (3, 4))
        self.assertEqual(fetched[0]["downloaded_bytes"], sum(file.stat().st_size for file in self.local.values()))
        for path, file in self.local.items():
            self.assertEqual(self.blob_of(path).read_bytes(), file.read_bytes())
            self.assertEqual(self.blob_of(path).stat().st_mode & 0o777, 0o444)
        self.assertEqual(self.hub.counters()["token_leaks"], [])

    def test_what_is_stored_is_not_fetched_again(self):
        self.pinned()
        self.world.start()
        self.done(self.world.run("fetch", SLOT))
        self.hub.control("POST", "reset")
        again = self.done(self.world.run("fetch", SLOT, "--json")).json()["fetched"][0]
        self.assertEqual(again["downloaded_bytes"], 0)
        self.assertEqual(self.hub.counters()["connections"], {})

    def test_a_process_receives_the_image_for_its_gpu_in_sealed_memory(self):
        self.pinned()
        self.world.start()
        kernels = device_files.abi_kernels()
        for arch, target in (("7.5", "sm_75"), ("8.9", "sm_80"), ("12.0", "sm_90")):
            reply, descriptors = resolve_by_hand(str(self.world.socket), arch)
            self.assertNotIn("error", reply)
            image = reply["parameters"]["image"]
            expected = device_files.ptx(target, kernels)
            self.assertEqual((image["arch"], image["kind"], image["bytes"]), (target, "ptx", len(expected)))
            self.assertEqual(len(descriptors), 1)
            with os.fdopen(descriptors[0], "rb") as memory:
                self.assertEqual(fcntl.fcntl(memory, F_GET_SEALS) & ALL_SEALS, ALL_SEALS)
                self.assertEqual(os.pread(memory.fileno(), 1 << 20, 0), expected + b"\0")
                with self.assertRaises(OSError):
                    os.pwrite(memory.fileno(), b"x", 0)

    def test_resolve_says_why_and_writes_the_same_bytes(self):
        self.pinned()
        self.world.start()
        target = self.world.folder / "image.ptx"
        answer = self.done(self.world.run("resolve", SLOT, "--arch", "9.0", "--output", str(target), "--json")).json()
        self.assertEqual(sha256_of(target), answer["image"]["sha256"])
        self.assertEqual(answer["file"], "images/ms_deform_attn.fatbin")
        self.assertEqual(len(answer["image"]["kernels"]), 16)
        self.assertEqual(len(answer["refused"]), 3)
        self.assertTrue(any("lacks 16 of the 16 kernels" in refused["reason"] for refused in answer["refused"]))
        too_old = self.done(self.world.run("resolve", SLOT, "--arch", "7.0", "--json"), 3).json()
        self.assertEqual(too_old["error"]["code"], "no_image")
        self.assertEqual(len(too_old["error"]["refused"]), 4)

    def test_a_library_that_has_not_what_its_repository_says_is_no_reason_to_leave_the_others_out(self):
        kernels = device_files.abi_kernels()
        libraries = {"torch212-cxx11-cu126-x86_64-linux": ("sm_100", "9.0"),  # what it holds, what is said of it
                     "torch212-cxx11-cu128-x86_64-linux": ("sm_75", "8.0")}
        words = []
        for variant, (target, said) in libraries.items():
            file = self.world.folder / target
            file.write_bytes(device_files.fatbin({target: device_files.ptx(target, kernels)}))
            words += ["--library", f"{variant}={file}={said}"]
        repo = "kernels-community/hints"
        commit = make_repository(self.made["root"], "--repo", f"kernels/{repo}", *words)["commit"]
        self.world.pin(pin_text(commit, repo=repo, abi=ABI))
        self.world.start()
        fetched = self.done(self.world.run("fetch", SLOT, "--arch", "9.0", "--json")).json()["fetched"]
        self.assertEqual(fetched[0]["files"], 1, "so much is believed")
        answer = self.done(self.world.run("resolve", SLOT, "--arch", "9.0", "--json")).json()
        self.assertEqual(answer["image"]["arch"], "sm_75")
        self.assertIn("-cu128-", answer["file"])
        # Nothing fits, and nothing is left that could: the refusals are of every file.
        nothing = self.done(self.world.run("resolve", SLOT, "--arch", "7.0", "--json"), 3).json()
        self.assertEqual((nothing["error"]["code"], len(nothing["error"]["refused"])), ("no_image", 2))

    def test_without_a_service_the_command_starts_one_that_shares_the_store(self):
        self.pinned()
        self.done(self.world.run("fetch", SLOT))
        status = self.done(self.world.run("status", "--json")).json()
        self.assertEqual((status["mode"], status["slots"][0]["state"]), ("private", "cached"))
        self.world.start()
        self.assertEqual(self.done(self.world.run("status", "--json")).json()["mode"], "user")
        self.hub.control("POST", "reset")
        self.done(self.world.run("resolve", SLOT, "--arch", "9.0"))
        self.assertEqual(self.hub.counters()["connections"], {})

    def test_digests_prove_without_git(self):
        self.done(self.world.run("pin", SLOT, "--repo", REPO, "--revision", "v1", "--abi", ABI))
        with World(PROGRAMS, self.hub.url) as other:
            other.pin((self.world.pins / f"{SLOT}.toml").read_text())
            self.hub.control("POST", "reset")
            self.hub.misbehave("git-unauthorized")
            fetched = self.done(other.run("fetch", SLOT, "--json")).json()["fetched"][0]
            self.assertEqual((fetched["proof"], fetched["files"]), ("digests", 3))
            kinds = self.hub.counters()["kinds"]
            self.assertEqual((kinds.get("git-refs", 0), kinds.get("git-pack", 0)), (0, 0))

    def test_a_pin_file_is_tried_before_it_is_installed(self):
        candidate = self.world.folder / "candidate.toml"
        candidate.write_text(pin_text(self.commit, abi=ABI))
        self.world.start()
        fetched = self.done(self.world.run("fetch", "--pin", str(candidate), "--json")).json()["fetched"]
        self.assertEqual(fetched[0]["commit"], self.commit)
        self.assertEqual(self.done(self.world.run("pins", "--json")).json()["pins"], [])

    def test_list_and_info_name_commit_proof_files_and_images(self):
        self.pinned()
        self.world.start()
        self.done(self.world.run("fetch", SLOT))
        revision = self.done(self.world.run("list", "--json")).json()["revisions"][0]
        self.assertEqual((revision["slot"], revision["commit"], revision["files"], revision["images"]),
                         (SLOT, self.commit, 3, 4))
        info = self.done(self.world.run("info", SLOT, "--json")).json()
        self.assertEqual({file["path"]: file["sha256"] for file in info["files"]},
                         {path: sha256_of(file) for path, file in self.local.items()})
        self.assertIn(self.commit, self.done(self.world.run("info", SLOT)).out)
        self.assertIn(f'slot_state{{slot="{SLOT}",state="cached"}} 1',
                      self.done(self.world.run("status", "--format", "prometheus")).out)


class Care(EndToEnd):
    def setUp(self):
        super().setUp()
        self.pinned()
        self.world.start()
        self.done(self.world.run("fetch", SLOT))

    def flip_a_byte(self) -> Path:
        blob = self.blob_of("images/ms_deform_attn.fatbin")
        content = bytearray(blob.read_bytes())
        content[len(content) // 2] ^= 1
        blob.chmod(0o644)
        blob.write_bytes(content)
        blob.chmod(0o444)
        return blob

    def test_a_flipped_byte_is_found_quarantined_and_fetched_again(self):
        blob = self.flip_a_byte()
        found = self.done(self.world.run("verify", "--json"), 4).json()
        self.assertEqual([file["path"] for file in found["damaged"]], ["images/ms_deform_attn.fatbin"])
        self.assertFalse(blob.exists())
        self.assertEqual(self.done(self.world.run("status", "--json")).json()["store"]["quarantined"], 1)
        self.done(self.world.run("resolve", SLOT, "--arch", "9.0"))
        self.assertEqual(sha256_of(blob), blob.name)
        self.done(self.world.run("verify"))

    def test_a_flipped_byte_never_reaches_a_process(self):
        self.flip_a_byte()
        reply, descriptors = resolve_by_hand(str(self.world.socket), "9.0")
        self.assertNotIn("error", reply)
        with os.fdopen(descriptors[0], "rb") as memory:
            self.assertEqual(os.pread(memory.fileno(), 1 << 20, 0),
                             device_files.ptx("sm_90", device_files.abi_kernels()) + b"\0")

    def test_what_is_removed_is_gone_and_comes_again(self):
        removed = self.done(self.world.run("remove", SLOT, "--json")).json()
        self.assertEqual(removed["files"], 3)
        self.assertEqual(self.done(self.world.run("list", "--json")).json()["revisions"], [])
        self.done(self.world.run("resolve", SLOT, "--arch", "9.0"))

    def test_prune_never_takes_what_a_pin_names(self):
        self.done(self.world.run("prune", "--max-bytes", "0"))
        self.assertEqual(self.done(self.world.run("list", "--json")).json()["revisions"][0]["files"], 3)

    def test_a_mistyped_pin_does_not_give_its_files_up(self):
        path = self.world.pins / f"{SLOT}.toml"
        good = path.read_text()
        path.write_text(good[:len(good) // 2])
        for restart in (False, True):
            daemon = self.world.daemons[-1]
            if restart:
                self.world.stop(daemon)
                self.world.start()
            else:
                daemon.send_signal(signal.SIGHUP)
                until(lambda: "pin.refused" in self.world.log())
            pruned = self.done(self.world.run("prune", "--max-bytes", "0"))
            self.assertIn("removed 0 files", pruned.out)
            self.assertIn(str(path), pruned.err)
            status = self.done(self.world.run("status"))
            self.assertIn("no pin is in force", status.out)
            self.assertIn(str(path), status.err)
        path.write_text(good)
        self.world.daemons[-1].send_signal(signal.SIGHUP)
        until(lambda: self.world.run("info", SLOT).exit_code == 0)
        self.hub.control("POST", "reset")
        self.done(self.world.run("resolve", SLOT, "--arch", "9.0"))
        self.assertEqual(self.hub.counters()["connections"], {})

    def test_a_lost_index_is_made_anew_from_what_lies_there(self):
        self.world.stop(self.world.daemons[-1])
        for file in self.world.store.glob("index.sqlite3*"):
            file.unlink()
        self.world.start()
        self.hub.control("POST", "reset")
        rebuilt = self.done(self.world.run("rebuild-index", "--json")).json()
        self.assertEqual((rebuilt["files"], rebuilt["images"], rebuilt["revisions"]), (3, 4, 1))
        self.done(self.world.run("resolve", SLOT, "--arch", "9.0"))
        self.assertEqual(self.hub.counters()["connections"], {})


class Together(EndToEnd):
    def test_many_processes_that_miss_the_same_file_cause_one_download(self):
        self.pinned()
        self.world.start()
        self.hub.control("POST", "options", {"file_duration_s": 1})
        self.addCleanup(self.hub.control, "POST", "options", {"file_duration_s": 0})
        results = []
        threads = [threading.Thread(target=lambda: results.append(self.world.run("resolve", SLOT, "--arch", "9.0")))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([ran.exit_code for ran in results], [0] * 8, results[0].err)
        paths = self.hub.counters()["paths"]
        for path, count in paths.items():
            if "/resolve/" in path:
                self.assertEqual(count, 1, paths)

    def test_a_private_instance_and_a_daemon_do_not_download_twice(self):
        self.pinned()
        self.world.start()
        self.hub.control("POST", "options", {"file_duration_s": 1})
        self.addCleanup(self.hub.control, "POST", "options", {"file_duration_s": 0})
        pin = self.world.folder / "pin.toml"
        pin.write_text(pin_text(self.commit, abi=ABI))
        results = []
        threads = [threading.Thread(target=lambda words=words, more=more: results.append(
            self.world.run("fetch", *words, **more))) for words, more in (
                ((SLOT,), {}), ((SLOT,), {"LIBREYOLO_KERNELS_SOCKET": "", "XDG_RUNTIME_DIR": "/nonexistent"}))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([ran.exit_code for ran in results], [0, 0], [ran.err for ran in results])
        contents = [path for path in self.hub.counters()["paths"] if "/resolve/" in path]
        self.assertEqual(len(contents), 3)
        self.assertEqual(tree_of(self.world.store / "tmp"), {})


    def test_control_c_ends_the_private_service_and_its_download(self):
        self.pinned()
        self.hub.control("POST", "options", {"file_duration_s": 60})
        self.addCleanup(self.hub.control, "POST", "options", {"file_duration_s": 0})
        # A terminal sends the signal to all processes of the command.
        command = subprocess.Popen([PROGRAMS.cli, "fetch", SLOT], env=self.world.environment(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        until(lambda: self.hub.counters()["kinds"].get("resolve", 0) > 0)
        os.killpg(command.pid, signal.SIGINT)
        out, err = command.communicate(timeout=30)
        self.assertEqual((command.returncode, out), (130, ""), err)
        self.assertEqual(err.splitlines()[-1:], ["libreyolo-kernels: interrupted"], err)
        self.world.settle()
        self.assertEqual(tree_of(self.world.store / "tmp"), {})
        self.assertEqual(self.done(self.world.run("list", "--json")).json()["revisions"], [])


class Offline(EndToEnd):
    """HF_HUB_OFFLINE=1 and LIBREYOLO_HUB_KERNELS=0: what is cached works, a miss is `offline`, and nobody is asked."""

    WAYS = ({"HF_HUB_OFFLINE": "1"}, {"LIBREYOLO_HUB_KERNELS": "0"})

    def check(self, cached: bool, **variables):
        self.hub.control("POST", "reset")
        for words in (("resolve", SLOT, "--arch", "9.0"), ("fetch", SLOT)):
            ran = self.done(self.world.run(*words, **variables), 0 if cached else 5)
            if not cached:
                self.assertIn("forbid", ran.err)
        for words in (("list",), ("info", SLOT), ("pins",), ("status",), ("verify",)):
            self.done(self.world.run(*words, **variables))
        self.assertEqual(self.hub.counters()["connections"], {})

    def test_the_command_line_and_its_private_instance(self):
        self.pinned()
        for way in self.WAYS:
            with self.subTest(way):
                self.check(False, **way)
        self.done(self.world.run("fetch", SLOT))
        for way in self.WAYS:
            with self.subTest(way):
                self.check(True, **way)

    def test_a_daemon_that_is_offline_itself(self):
        self.pinned()
        for way in self.WAYS:
            with self.subTest(way):
                daemon = self.world.start(**way)
                self.check(False)
                self.assertTrue(self.done(self.world.run("status", "--json")).json()["offline"])
                self.world.stop(daemon)

    def test_the_flag_of_the_command_binds_a_daemon_that_is_not(self):
        self.pinned()
        self.world.start()
        for way in self.WAYS:
            with self.subTest(way):
                self.check(False, **way)

    def test_a_new_pin_needs_the_hub_and_says_so(self):
        for way in self.WAYS:
            with self.subTest(way):
                ran = self.done(self.world.run("pin", SLOT, "--repo", REPO, "--revision", "v1", **way), 5)
                self.assertIn("forbids", ran.err)
        self.assertEqual(self.hub.counters()["connections"], {})
        self.assertEqual(tree_of(self.world.pins), {})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
