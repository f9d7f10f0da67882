#!/usr/bin/env python3
"""The fake Hub is close enough to the real one for the real clients: huggingface_hub, its command line,
kernels and git run against it, and meet its misbehaviours as the protocol notes say they do.

Exit code 77 (skipped) where huggingface_hub or kernels is not installed.
"""

import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from running_hub import (
    SKIPPED,
    RunningHub,
    allow_token,
    change_settings,
    clean_environment,
    example_root,
    make_repository,
)

ID = "kernels-community/deformable-detr"
CUBIN = "images/one.cubin"
UNIVERSAL = "kernels-community/universal"
_INIT = b"def answer():\n    return 42\n"
_METADATA = {
    "name": "universal",
    "id": "_universal_cpu_1a2b3c4",
    "version": 1,
    "license": "Apache-2.0",
    "python-depends": [],
    "backend": {"type": "cpu"},
}


class ClientCase(unittest.TestCase):
    options: tuple = ()
    environment: dict = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="fidelity-")
        cls.made = example_root(Path(cls.folder.name))
        cls.root, cls.commit = cls.made["root"], cls.made["commit"]
        cls.universal = _universal_kernel(Path(cls.folder.name), cls.root)
        allow_token(cls.root, "hf_good")
        change_settings(cls.root, "repos", **{"kernels/a/gated": {"gated": "manual"}})
        make_repository(
            cls.root, "--repo", "kernels/a/gated", "--file", f"k.cubin={cls.made['library']}"
        )
        cls.prepare()
        options = [option.format(folder=cls.folder.name) for option in cls.options]
        cls.hub = RunningHub(cls.root, *options)

    @classmethod
    def prepare(cls):
        """Whatever a class needs in the root beside the examples."""

    @classmethod
    def tearDownClass(cls):
        complaints = cls.hub.errors()
        cls.folder.cleanup()
        if complaints:
            raise AssertionError(f"the fake Hub complained: {complaints}")

    def setUp(self):
        self.hub.behave()
        self.hub.control("POST", "reset")
        self.home = tempfile.mkdtemp(prefix="home-", dir=self.folder.name)

    def settings(self, **extra: str) -> dict:
        """The environment of a client with an empty cache of its own."""
        own = {
            "HF_HOME": self.home,
            "HF_ENDPOINT": self.hub.url,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "0",
            "HF_HUB_DOWNLOAD_TIMEOUT": "5",
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return clean_environment(**(own | self.environment | extra))

    def python(self, code: str, **extra: str) -> dict:
        """Runs code in a fresh process: the `result` that it leaves, or `error` (the exception's
        class names) and `text`."""
        done = subprocess.run(
            [sys.executable, "-c", _WRAPPER, code],
            env=self.settings(**extra),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        lines = done.stdout.splitlines()
        self.assertTrue(lines, done.stderr)
        return json.loads(lines[-1])

    def download(
        self, path: str = CUBIN, revision: str = "v1", repository: str = ID, **extra: str
    ) -> dict:
        return self.python(
            "from huggingface_hub import hf_hub_download\n"
            f"result = hf_hub_download({repository!r}, {path!r}, revision={revision!r}, "
            "repo_type='kernel')",
            **extra,
        )

    def honest(self, path: str = CUBIN, repository: str = ID) -> str:
        """The hash of an LFS file's content, as the pointer in git has it."""
        store = str(self.root / "kernels" / f"{repository}.git")
        pointer = subprocess.run(
            ["git", "-C", store, "show", f"v1:{path}"],
            env=clean_environment(),
            capture_output=True,
            check=True,
        ).stdout
        return pointer.decode().split("sha256:")[1].split()[0]

    def downloaded(self, *arguments: str, **extra: str) -> str:
        """The hash of what `download` leaves."""
        answer = self.download(*arguments, **extra)
        self.assertIn("result", answer, answer)
        return hashlib.sha256(Path(answer["result"]).read_bytes()).hexdigest()


_WRAPPER = """
import json, sys
space = {"result": None}
try:
    exec(sys.argv[1], space)
    answer = {"result": space["result"]}
except BaseException as error:
    answer = {"error": [one.__name__ for one in type(error).__mro__], "text": str(error)}
print()
print(json.dumps(answer, default=str))
"""


def _universal_kernel(folder: Path, root: Path) -> dict:
    """A kernel of pure Python, which the real `kernels` package can load on any machine."""
    (folder / "init.py").write_bytes(_INIT)
    (folder / "metadata.json").write_text(json.dumps(_METADATA))
    return make_repository(
        root,
        "--repo",
        f"kernels/{UNIVERSAL}",
        "--file",
        f"build/torch-universal/__init__.py={folder / 'init.py'}",
        "--file",
        f"build/torch-universal/metadata.json={folder / 'metadata.json'}",
    )


class HuggingfaceHub(ClientCase):
    options = ("--page-size", "3")

    def test_a_file_in_lfs_is_downloaded(self):
        path = Path(self.download()["result"])
        self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), self.honest())
        self.assertEqual(path.resolve().name, self.honest())
        self.assertIn(f"snapshots/{self.commit}/", str(path))

    def test_a_plain_file_is_downloaded(self):
        path = Path(self.download("README.md")["result"])
        self.assertIn("Device code for tests", path.read_text())
        self.assertEqual(len(path.resolve().name), 40)

    def test_a_commit_that_is_cached_needs_no_connection(self):
        self.download(revision=self.commit)
        self.hub.control("POST", "reset")
        self.assertIn("result", self.download(revision=self.commit, HF_HUB_OFFLINE="1"))
        self.assertEqual(self.hub.counters()["connections_total"], 0)

    def test_a_snapshot_has_every_file_though_the_tree_comes_in_pages(self):
        for kind, commit in (("kernel", self.commit), ("model", self.made["model_commit"])):
            answer = self.python(
                "from huggingface_hub import snapshot_download\n"
                f"result = snapshot_download({ID!r}, repo_type={kind!r}, revision='v1')"
            )
            folder = Path(answer["result"])
            found = sorted(
                str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
            )
            self.assertEqual(found, sorted(self.made["files"]))
            self.assertEqual(folder.name, commit)

    def test_the_api_answers(self):
        answer = self.python(f"""
from huggingface_hub import HfApi
api, kind = HfApi(), {{"repo_type": "kernel"}}
result = {{
    "refs": {{one.name: one.target_commit for one in api.list_repo_refs({ID!r}, **kind).branches}},
    "tree": sorted(one.path for one in api.list_repo_tree({ID!r}, recursive=True, revision="v1", **kind)),
    "paths": [one.path for one in api.get_paths_info({ID!r}, ["README.md", "none"], revision="v1", **kind)],
    "sha": api.model_info({ID!r}, revision="v1").sha,
    "commits": [one.commit_id for one in api.list_repo_commits({ID!r}, revision="v1", **kind)],
}}""")
        self.assertIn("result", answer, answer)
        result = answer["result"]
        self.assertEqual(result["refs"], self.made["branches"])
        self.assertLess(set(self.made["files"]), set(result["tree"]))
        self.assertEqual(result["paths"], ["README.md"])
        self.assertEqual(result["sha"], self.made["model_commit"])
        self.assertEqual(result["commits"], [self.commit])

    def test_the_command_line_downloads(self):
        command = [
            str(Path(sys.executable).parent / "hf"),
            "download",
            "--repo-type",
            "kernel",
            ID,
            "--revision",
            "v1",
        ]
        done = subprocess.run(
            command, env=self.settings(), capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.commit, done.stdout)
        stored = Path(self.home).rglob(self.honest())
        self.assertTrue(any(path.is_file() for path in stored))

    def test_refusals_become_the_right_exceptions(self):
        rows = (
            ("README.md", "v9", ID, "RevisionNotFoundError", ""),
            ("README.md", self.made["model_commit"], ID, "RevisionNotFoundError", ""),
            ("nothing.so", "v1", ID, "EntryNotFoundError", ""),
            ("README.md", "v1", "no/repo", "RepositoryNotFoundError", "hf_good"),
            ("README.md", "v1", ID, "HfHubHTTPError", "hf_bad"),
            ("k.cubin", "v1", "a/gated", "GatedRepoError", ""),
        )
        for path, revision, repository, expected, token in rows:
            with self.subTest(expected=expected, repository=repository, revision=revision):
                answer = self.download(
                    path, revision, repository, **({"HF_TOKEN": token} if token else {})
                )
                self.assertIn(expected, answer["error"], answer["text"])

    def test_the_token_goes_to_the_hub_alone(self):
        self.assertIn("result", self.download(HF_TOKEN="hf_good"))
        requests = self.hub.control("GET", "requests")
        self.assertTrue(all(one["authorization"] for one in requests if one["kind"] == "resolve"))
        self.assertTrue(any(one["kind"] == "cdn" for one in requests))
        self.assertEqual(self.hub.counters()["token_leaks"], [])


class Misbehaviours(ClientCase):
    """What these clients are known to do, right or wrong (2.3 to 2.6 of the protocol notes)."""

    @classmethod
    def prepare(cls):
        # Long enough to be interrupted behind the first block that the client writes (10 MiB).
        make_repository(cls.root, "--repo", "kernels/a/big", "--random", "big.cubin=24MiB")

    def test_other_bytes_of_the_right_length_are_accepted(self):
        self.hub.misbehave("flip-byte")
        path = Path(self.download()["result"])
        self.assertNotEqual(hashlib.sha256(path.read_bytes()).hexdigest(), self.honest())
        self.assertEqual(path.resolve().name, self.honest())

    def test_a_cut_download_is_resumed(self):
        self.hub.misbehave("truncate", hits=1)
        self.assertEqual(
            self.downloaded("big.cubin", "v1", "a/big"), self.honest("big.cubin", "a/big")
        )
        ranges = [
            one["range"] for one in self.hub.control("GET", "requests") if one["kind"] == "cdn"
        ]
        self.assertIsNone(ranges[0])
        self.assertRegex(ranges[1], r"^bytes=[1-9]\d*-$")

    def test_a_resume_that_is_answered_with_other_bytes_is_not_noticed(self):
        self.hub.misbehave("truncate", hits=1)
        self.hub.misbehave("range-mislabelled")
        self.assertNotEqual(
            self.downloaded("big.cubin", "v1", "a/big"), self.honest("big.cubin", "a/big")
        )

    def test_a_short_file_fails_its_consistency_check(self):
        self.hub.misbehave("short-file")
        answer = self.download()
        self.assertIn("OSError", answer["error"], answer)
        self.assertIn("onsistency check failed", answer["text"])

    def test_a_missing_commit_header_is_no_hub(self):
        self.hub.misbehave("no-hub-headers")
        answer = self.download()
        self.assertIn("error", answer)

    def test_a_token_is_dropped_on_the_way_to_another_host(self):
        self.hub.misbehave("redirect-other-host", pattern="GET */resolve/*")
        self.download(HF_TOKEN="hf_good")
        self.assertEqual(self.hub.counters()["token_leaks"], [])

    def test_a_busy_hub_is_asked_again(self):
        self.hub.misbehave("unavailable", hits=2)
        self.assertEqual(self.downloaded(), self.honest())

    def test_a_commit_of_the_model_type_is_told_apart(self):
        answer = self.python(
            "from huggingface_hub import HfApi\n"
            f"HfApi().repo_info({ID!r}, revision={self.commit!r}, repo_type='model')"
        )
        self.assertIn("RevisionNotFoundError", answer["error"])
        self.assertIn("Invalid rev id", answer["text"])


class Kernels(ClientCase):
    def get_kernel(self, arguments: str = "version=1", **extra: str) -> dict:
        return self.python(
            "import kernels\n" f"result = kernels.get_kernel({UNIVERSAL!r}, {arguments}).answer()",
            **extra,
        )

    def test_a_kernel_is_found_downloaded_and_loaded(self):
        answer = self.get_kernel()
        self.assertEqual(answer.get("result"), 42, answer)
        seen = [
            (one["method"], one["kind"])
            for one in self.hub.control("GET", "requests")
            if one["kind"] != "other"
        ]
        self.assertEqual(seen[:2], [("GET", "organization"), ("GET", "refs")])
        self.assertIn(("HEAD", "resolve"), seen)  # kernel-status.toml
        self.assertIn(("GET", "tree"), seen)
        self.assertEqual(self.hub.control("GET", "misbehaviours"), [])

    def test_a_commit_of_the_kernel_type_is_accepted(self):
        answer = self.get_kernel(f"revision={self.universal['commit']!r}")
        self.assertEqual(answer.get("result"), 42, answer)

    def test_a_download_of_one_variant_cannot_be_loaded_offline(self):
        """The package keeps the whole commit's list of files and misses those that it did not fetch."""
        self.assertEqual(self.get_kernel().get("result"), 42)
        self.hub.control("POST", "reset")
        self.assertIn("error", self.get_kernel(HF_HUB_OFFLINE="1"))
        self.assertEqual(self.hub.counters()["connections_total"], 0)

    def test_a_complete_snapshot_is_loaded_offline(self):
        self.python(
            f"from huggingface_hub import snapshot_download\n"
            f"snapshot_download({UNIVERSAL!r}, repo_type='kernel', revision='v1')"
        )
        self.hub.control("POST", "reset")
        answer = self.get_kernel(HF_HUB_OFFLINE="1")
        self.assertEqual(answer.get("result"), 42, answer)
        self.assertEqual(self.hub.counters()["connections_total"], 0)

    def test_variants_are_listed_with_the_reason_against_them(self):
        answer = self.python(
            "import kernels\n"
            f"result = [str(one) for one in kernels.get_kernel_variants({ID!r}, version=1)]\n"
            f"result += [kernels.has_kernel({ID!r}, version=1), "
            f"kernels.has_kernel({UNIVERSAL!r}, version=1)]"
        )
        variant, lacking, there = answer["result"]
        self.assertIn("2.12", variant)
        self.assertEqual((lacking, there), (False, True))

    def test_an_untrusted_publisher_is_refused(self):
        self.hub.misbehave("publisher-untrusted")
        self.assertIn("trusted publisher", self.get_kernel()["text"])
        self.assertEqual(self.get_kernel("version=1, trust_remote_code=True").get("result"), 42)

    def test_an_unknown_version_is_refused(self):
        self.assertIn("error", self.get_kernel("version=9"))


class OverTls(ClientCase):
    options = ("--tls", "{folder}/tls", "--proxy", "http")

    def setUp(self):
        super().setUp()
        self.authority = self.hub.ready["ca_file"]

    def test_the_authority_is_taken_from_the_environment(self):
        self.assertEqual(self.downloaded(SSL_CERT_FILE=self.authority), self.honest())
        ask = f"from huggingface_hub import HfApi\nHfApi().repo_info({ID!r})"
        self.assertNotIn("error", self.python(ask, SSL_CERT_FILE=self.authority))
        self.assertIn(
            "certificate verify failed", self.python(ask)["text"].lower().replace("_", " ")
        )

    def test_git_clones_over_tls(self):
        url = f"{self.hub.url}/kernels/{ID}"
        target = str(Path(self.home) / "clone")
        done = subprocess.run(
            ["git", "clone", "--quiet", "--bare", url, target],
            env=clean_environment(GIT_SSL_CAINFO=self.authority),
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_proxy_carries_requests_for_names_that_do_not_resolve(self):
        port = self.hub.url.rsplit(":", 1)[1]
        proxy = {"HTTPS_PROXY": self.hub.ready["proxy_url"], "no_proxy": ""}
        answer = self.download(
            "README.md",
            HF_ENDPOINT=f"https://hub.test:{port}",
            SSL_CERT_FILE=self.authority,
            **proxy,
        )
        self.assertIn("result", answer, answer)
        self.assertGreater(self.hub.counters()["connections"]["proxy"], 0)


if __name__ == "__main__":
    missing = [
        name for name in ("huggingface_hub", "kernels") if importlib.util.find_spec(name) is None
    ]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed in {sys.executable}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
