#!/usr/bin/env python3
"""The well-behaved fake Hub does what the protocol notes say of the real one."""

import base64
import hashlib
import http.client
import json
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from running_hub import (
    RunningHub,
    allow_token,
    change_settings,
    clean_environment,
    example_root,
    make_repository,
)

ID = "kernels-community/deformable-detr"
KERNEL, API = f"/kernels/{ID}", f"/api/kernels/{ID}"
CUBIN = "images/one.cubin"


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.body = response.status, response.read()
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self) -> tuple:
        return self.status, self.headers.get("x-error-code"), self.headers.get("x-error-message")


def ask(url: str, method: str = "GET", body=None, **headers: str) -> Answer:
    """One request without following redirects. Header names are given with underscores."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
    try:
        target = where.path + (f"?{where.query}" if where.query else "")
        connection.request(
            method, target, body, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        return Answer(connection.getresponse())
    finally:
        connection.close()


class HubCase(unittest.TestCase):
    options: tuple = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="hub-test-")
        cls.made = example_root(Path(cls.folder.name))
        cls.root, cls.commit = cls.made["root"], cls.made["commit"]
        cls.prepare()
        cls.hub = RunningHub(cls.root, *cls.options)

    @classmethod
    def prepare(cls):
        """Whatever a class needs in the root."""

    @classmethod
    def tearDownClass(cls):
        complaints = cls.hub.errors()
        cls.folder.cleanup()
        if complaints:
            raise AssertionError(f"the fake Hub complained: {complaints}")

    def setUp(self):
        self.hub.control("POST", "reset")

    def get(self, path: str, method: str = "GET", body=None, **headers: str) -> Answer:
        return ask(self.hub.url + path, method, body, **headers)


class Files(HubCase):
    def test_a_plain_file_is_a_relative_redirect_to_the_content_cache(self):
        first = self.get(f"{KERNEL}/resolve/v1/README.md", "HEAD")
        self.assertEqual(first.status, 307)
        target = f"/api/resolve-cache/kernels/{ID}/{self.commit}/README.md"
        self.assertEqual(first.headers["location"].split("?")[0], target)
        self.assertNotIn("x-linked-etag", first.headers)
        second = self.get(first.headers["location"])
        self.assertEqual(second.status, 200)
        blob = hashlib.sha1(b"blob %d\0" % len(second.body) + second.body).hexdigest()
        self.assertEqual(second.headers["etag"], f'"{blob}"')
        self.assertEqual(second.headers["x-repo-commit"], self.commit)

    def test_a_nested_path_stays_encoded_in_the_redirect(self):
        path = "build/torch212-cxx11-cu130-x86_64-linux/metadata.json"
        location = self.get(f"{KERNEL}/resolve/{self.commit}/{path}").headers["location"]
        self.assertIn(f"/{self.commit}/{quote(path, safe='')}?", location)
        self.assertEqual(self.get(location).json["name"], "deformable-detr")

    def test_an_lfs_file_is_an_absolute_redirect_to_another_host_name(self):
        first = self.get(f"{KERNEL}/resolve/v1/{CUBIN}")
        self.assertEqual(first.status, 302)
        self.assertEqual(urlsplit(first.headers["location"]).hostname, "localhost")
        self.assertEqual(first.headers["x-repo-commit"], self.commit)
        self.assertEqual(first.headers["x-linked-size"], str(9 * 1024))
        second = ask(first.headers["location"])
        self.assertEqual(
            f'"{hashlib.sha256(second.body).hexdigest()}"', first.headers["x-linked-etag"]
        )
        self.assertNotIn("x-repo-commit", second.headers)
        self.assertNotEqual(first.headers["etag"], first.headers["x-linked-etag"])

    def test_the_cdn_refuses_tokens_and_forged_or_expired_urls(self):
        location = self.get(f"{KERNEL}/resolve/v1/{CUBIN}").headers["location"]
        self.assertEqual(ask(location, Authorization="Bearer hf_x").status, 400)
        self.assertEqual(len(self.hub.counters()["token_leaks"]), 1)
        self.assertEqual(ask(location.replace("Signature=", "Signature=0")).status, 403)
        self.assertEqual(ask(location.split("?")[0]).status, 403)

    def test_ranges_give_206_and_416(self):
        location = self.get(f"{KERNEL}/resolve/v1/{CUBIN}").headers["location"]
        whole = ask(location).body
        part = ask(location, Range="bytes=100-")
        self.assertEqual((part.status, part.body), (206, whole[100:]))
        self.assertEqual(part.headers["content-range"], f"bytes 100-{len(whole) - 1}/{len(whole)}")
        self.assertEqual(ask(location, Range="bytes=-5").body, whole[-5:])
        self.assertEqual(ask(location, Range="bytes=3-7").body, whole[3:8])
        beyond = ask(location, Range=f"bytes={len(whole)}-")
        self.assertEqual(
            (beyond.status, beyond.headers["content-range"]), (416, f"bytes */{len(whole)}")
        )

    def test_raw_gives_the_pointer_of_an_lfs_file(self):
        pointer = self.get(f"{KERNEL}/raw/v1/{CUBIN}")
        self.assertTrue(
            pointer.body.startswith(b"version https://git-lfs.github.com/spec/v1\noid sha256:")
        )

    def test_a_known_etag_gives_304(self):
        location = self.get(f"{KERNEL}/resolve/v1/README.md").headers["location"]
        etag = self.get(location).headers["etag"]
        self.assertEqual(self.get(location, If_None_Match=etag).status, 304)

    def test_missing_things_are_told_apart(self):
        self.assertEqual(
            self.get(f"{KERNEL}/resolve/v1/nothing").error,
            (404, "EntryNotFound", "Entry not found"),
        )
        self.assertIn("x-repo-commit", self.get(f"{KERNEL}/resolve/v1/nothing").headers)
        wrong = self.made["model_commit"]
        self.assertEqual(
            self.get(f"{KERNEL}/resolve/{wrong}/README.md").error,
            (404, "RevisionNotFound", f"Invalid rev id: {wrong}"),
        )
        self.assertEqual(
            self.get("/kernels/no/repo/resolve/v1/a").error,
            (401, None, "Invalid username or password."),
        )

    def test_every_answer_tells_the_rate_limit_and_a_request_id(self):
        for path in (f"{KERNEL}/resolve/v1/README.md", "/api/agent-harnesses"):
            headers = self.get(path).headers
            self.assertRegex(headers["ratelimit"], r'^"\w+";r=\d+;t=\d+$')
            self.assertIn("x-request-id", headers)


class Api(HubCase):
    options = ("--page-size", "3")

    def test_refs_name_branches_and_commits(self):
        branches = {one["name"]: one for one in self.get(f"{API}/refs").json["branches"]}
        self.assertEqual(branches["v1"]["targetCommit"], self.commit)
        self.assertEqual(branches["v1"]["ref"], "refs/heads/v1")

    def test_a_revision_may_be_a_branch_a_full_or_a_short_commit(self):
        for revision in ("v1", "refs%2Fheads%2Fv1", self.commit, self.commit[:10]):
            self.assertEqual(self.get(f"{API}/revision/{revision}").json["sha"], self.commit)
        self.assertEqual(
            self.get(f"{API}/revision/v9").error, (404, "RevisionNotFound", "Invalid rev id: v9")
        )

    def test_the_tree_comes_in_pages(self):
        url, paths = f"{self.hub.url}{API}/tree/v1?recursive=true", []
        while url:
            answer = ask(url)
            self.assertLessEqual(len(answer.json), 3)
            paths += [one["path"] for one in answer.json]
            link = answer.headers.get("link", "")
            url = link[1 : link.index(">")] if link else None
        self.assertEqual(len(paths), len(set(paths)))
        self.assertIn(CUBIN, paths)
        self.assertIn("build", paths)

    def test_a_folder_of_the_tree_may_have_an_encoded_slash(self):
        folder = quote("build/torch212-cxx11-cu130-x86_64-linux", safe="")
        paths = [one["path"] for one in self.get(f"{API}/tree/v1/{folder}?recursive=false").json]
        self.assertTrue(all(path.startswith("build/torch212") for path in paths))
        self.assertEqual(self.get(f"{API}/tree/v1/nothing").error[:2], (404, "EntryNotFound"))

    def test_entries_name_content_and_pointer(self):
        entry = self.get(f"{API}/tree/v1/images").json[0]
        content = (self.root / "lfs" / entry["lfs"]["oid"]).read_bytes()
        self.assertEqual((entry["size"], entry["lfs"]["size"]), (len(content), len(content)))
        pointer = self.get(f"{KERNEL}/raw/v1/{CUBIN}").body
        self.assertEqual(entry["lfs"]["pointerSize"], len(pointer))
        self.assertEqual(
            entry["oid"], hashlib.sha1(b"blob %d\0" % len(pointer) + pointer).hexdigest()
        )

    def test_paths_info_takes_a_form_and_leaves_out_the_unknown(self):
        form = urlencode([("paths", "README.md"), ("paths", "nothing"), ("expand", "false")])
        answer = self.get(
            f"{API}/paths-info/v1", "POST", form, Content_Type="application/x-www-form-urlencoded"
        )
        self.assertEqual([one["path"] for one in answer.json], ["README.md"])

    def test_there_is_no_xet_storage(self):
        self.assertEqual(self.get(f"{API}/xet-read-token/v1").status, 404)

    def test_publishers_are_trusted_if_the_settings_say_so(self):
        self.assertTrue(
            self.get("/api/organizations/kernels-community/overview").json["trustedKernelPublisher"]
        )
        self.assertEqual(self.get("/api/organizations/somebody/overview").status, 404)

    def test_commits_are_listed(self):
        self.assertEqual([one["id"] for one in self.get(f"{API}/commits/v1").json], [self.commit])


class Access(HubCase):
    @classmethod
    def prepare(cls):
        allow_token(cls.root, "hf_good")
        allow_token(cls.root, "hf_narrow", ())
        build = ("--file", f"k.cubin={cls.made['library']}", "--branch", "v1")
        for name in ("private", "gated", "disabled"):
            make_repository(cls.root, "--repo", f"kernels/a/{name}", *build)
        flags = {
            "private": {"private": True},
            "gated": {"gated": "manual"},
            "disabled": {"disabled": True},
        }
        change_settings(
            cls.root, "repos", **{f"kernels/a/{name}": flag for name, flag in flags.items()}
        )
        change_settings(cls.root, "renames", **{"kernels/old/name": f"kernels/{ID}"})

    def test_a_token_nobody_issued_is_refused_even_for_public_files(self):
        for header in (
            "Bearer hf_bad",
            "Basic " + base64.b64encode(b"user:hf_bad").decode(),
            "nonsense",
        ):
            answer = self.get(f"{KERNEL}/resolve/v1/README.md", Authorization=header)
            self.assertEqual(
                answer.error, (401, None, "Invalid credentials in Authorization header")
            )

    def test_a_private_repository_looks_missing_to_others(self):
        path = "/kernels/a/private/resolve/v1/README.md"
        self.assertEqual(self.get(path).error, (401, None, "Invalid username or password."))
        self.assertEqual(
            self.get(path, Authorization="Bearer hf_narrow").error[:2], (404, "RepoNotFound")
        )
        good = self.get(path, Authorization="Basic " + base64.b64encode(b"x:hf_good").decode())
        self.assertEqual(good.status, 200)  # private files are not redirected to the content cache

    def test_a_gated_repository_shows_its_tree_and_not_its_files(self):
        self.assertEqual(self.get("/api/kernels/a/gated/tree/v1").status, 200)
        path = "/kernels/a/gated/resolve/v1/k.cubin"
        self.assertEqual(self.get(path).error[:2], (401, "GatedRepo"))
        self.assertEqual(
            self.get(path, Authorization="Bearer hf_narrow").error[:2], (403, "GatedRepo")
        )

    def test_a_disabled_repository_says_so(self):
        answer = self.get("/kernels/a/disabled/resolve/v1/README.md")
        self.assertEqual(answer.error, (403, None, "Access to this resource is disabled."))

    def test_a_renamed_repository_redirects_relatively(self):
        answer = self.get("/kernels/old/name/resolve/v1/README.md?download=true")
        self.assertEqual(
            (answer.status, answer.headers["location"]),
            (307, f"{KERNEL}/resolve/v1/README.md?download=true"),
        )

    def test_git_asks_for_a_password_where_files_do(self):
        refs = "/info/refs?service=git-upload-pack"
        answer = self.get(f"/kernels/a/private{refs}")
        self.assertEqual(
            (answer.status, answer.headers["www-authenticate"]), (401, 'Basic realm="Hugging Face"')
        )
        login = "Basic " + base64.b64encode(b"user:hf_good").decode()
        self.assertEqual(self.get(f"/kernels/a/private.git{refs}", Authorization=login).status, 200)


class GitAndLfs(HubCase):
    def git(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["git", *arguments], env=clean_environment(), capture_output=True, text=True
        )

    def test_git_clones_with_and_without_the_suffix(self):
        for number, suffix in enumerate(("", ".git")):
            target = f"{self.folder.name}/clone{number}"
            done = self.git("clone", "--quiet", "--bare", f"{self.hub.url}{KERNEL}{suffix}", target)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.git("-C", target, "rev-parse", "v1").stdout.strip(), self.commit)

    def test_models_have_no_prefix(self):
        done = self.git("ls-remote", f"{self.hub.url}/{ID}", "refs/heads/v1")
        self.assertEqual(done.stdout.split()[0], self.made["model_commit"])

    def test_protocol_version_2_is_answered_with_version_0(self):
        answer = self.get(f"{KERNEL}/info/refs?service=git-upload-pack", Git_Protocol="version=2")
        self.assertTrue(answer.body.startswith(b"001e# service=git-upload-pack\n0000"))

    def test_wants_decide_which_commits_git_serves(self):
        extra, commits = Path(self.folder.name) / "more.cubin", []
        for text in ("older", "newer"):
            extra.write_text(text)
            made = make_repository(
                self.root, "--repo", "kernels/a/history", "--file", f"m.cubin={extra}"
            )
            commits.append(made["commit"])
        for wants, expected in (("refs", False), ("tip", True), ("reachable", True), ("any", True)):
            # Over HTTP git serves every ancestor of a tip; with "refs" it is the client that does not ask.
            self.hub.control("POST", "options", {"wants": wants})
            store = f"{self.folder.name}/wants-{wants}"
            self.git("init", "--quiet", "--bare", store)
            done = self.git(
                "-C", store, "fetch", "--quiet", f"{self.hub.url}/kernels/a/history", commits[0]
            )
            self.assertEqual(done.returncode == 0, expected, wants)
        self.hub.control("POST", "options", {"wants": "reachable"})

    def test_the_lfs_batch_gives_urls_and_errors(self):
        oid = next(
            path.name for path in (self.root / "lfs").iterdir() if path.stat().st_size == 9 * 1024
        )
        wanted = [
            {"oid": oid, "size": 9 * 1024},
            {"oid": oid, "size": 1},
            {"oid": "0" * 64, "size": 1},
        ]
        body = json.dumps({"operation": "download", "transfers": ["basic"], "objects": wanted})
        answer = self.get(f"{KERNEL}.git/info/lfs/objects/batch", "POST", body)
        good, wrong_size, missing = answer.json["objects"]
        self.assertEqual(
            hashlib.sha256(ask(good["actions"]["download"]["href"]).body).hexdigest(), oid
        )
        self.assertEqual((wrong_size["error"]["code"], missing["error"]["code"]), (422, 404))
        self.assertEqual(self.get(f"{KERNEL}.git/info/lfs/objects/batch", "POST", "{").status, 422)


class Behaviour(HubCase):
    def test_contents_are_paced(self):
        location = self.get(f"{KERNEL}/resolve/v1/{CUBIN}").headers["location"]
        self.hub.control("POST", "options", {"file_duration_s": 0.5})
        begun = time.monotonic()
        self.assertEqual(len(ask(location).body), 9 * 1024)
        self.assertGreaterEqual(time.monotonic() - begun, 0.45)
        self.hub.control("POST", "options", {"file_duration_s": None})

    def test_many_clients_are_served_at_once(self):
        location = self.get(f"{KERNEL}/resolve/v1/{CUBIN}").headers["location"]
        self.hub.control("POST", "options", {"file_duration_s": 0.5})
        begun = time.monotonic()
        with ThreadPoolExecutor(50) as pool:
            lengths = list(pool.map(lambda _: len(ask(location).body), range(50)))
        self.assertEqual(set(lengths), {9 * 1024})
        self.assertLess(time.monotonic() - begun, 10)
        self.hub.control("POST", "options", {"file_duration_s": None})

    def test_counters_know_connections_and_paths(self):
        for _ in range(2):
            self.get(f"{API}/refs")
        seen = self.hub.counters()
        self.assertEqual((seen["connections_total"], seen["paths"]), (2, {f"GET {API}/refs": 2}))
        self.assertEqual(self.hub.control("GET", "requests")[0]["kind"], "refs")

    def test_a_connection_serves_many_requests(self):
        where = urlsplit(self.hub.url)
        connection = http.client.HTTPConnection(where.hostname, where.port)
        for _ in range(3):
            connection.request("GET", f"{API}/refs")
            connection.getresponse().read()
        connection.close()
        self.assertEqual(self.hub.counters()["connections"], {"hub": 1})


class Making(unittest.TestCase):
    def test_the_same_files_give_the_same_commits(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            first, second = example_root(Path(one)), example_root(Path(two))
            self.assertEqual(first["branches"], second["branches"])
            self.assertNotEqual(first["commit"], first["model_commit"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
