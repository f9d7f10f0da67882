"""Who may ask the system service for what, with real users. Needs root."""

import os
import sys
import unittest

from chain_test import UNITTEST_WORDS, EndToEnd
from running_hub import allow_token, change_settings
from world import ABI, SLOT, SKIPPED, make_repository, pin_text

NOBODY = 65534
TOKEN = "hf_good"
GATED = "kernels-community/gated"


class SystemService(EndToEnd):
    """One service for everybody, with a store, pins and a token that only it can read."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        words = [word for path, file in cls.made["local"].items() for word in ("--file", f"{path}={file}")]
        cls.gated_commit = make_repository(cls.made["root"], "--repo", f"kernels/{GATED}", *words)["commit"]
        change_settings(cls.made["root"], "repos", **{f"kernels/{GATED}": {"gated": "manual"}})
        allow_token(cls.made["root"], TOKEN)

    def setUp(self):
        super().setUp()
        folder = self.world.folder
        folder.chmod(0o711)
        (folder / "run").chmod(0o711)
        (folder / "token").write_text(TOKEN)
        (folder / "token").chmod(0o600)
        (folder / "daemon.toml").write_text(f'endpoint = "{self.hub.url}"\ntoken_file = "{folder / "token"}"\n')
        self.pinned()

    def serve(self, **more):
        folder = self.world.folder
        self.world.pin(pin_text(self.gated_commit, repo=GATED, slot="gated", abi=ABI, **more), "gated")
        self.world.socket.parent.mkdir(exist_ok=True)
        self.world.socket.parent.chmod(0o711)
        self.world.start("--system", "--socket", str(self.world.socket), "--config", str(folder / "daemon.toml"),
                         "--cache", str(self.world.store), "--pins", str(self.world.pins))

    def as_nobody(self, *words: str):
        return self.world.run(*words, prefix=("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
                              LIBREYOLO_KERNELS_SOCKET=str(self.world.socket), HOME="/nonexistent")

    def test_everybody_may_ask_for_what_a_pin_names(self):
        self.serve()
        self.done(self.as_nobody("fetch", SLOT))
        for words in (("resolve", SLOT, "--arch", "9.0"), ("list",), ("info", SLOT), ("pins",), ("status",)):
            self.done(self.as_nobody(*words))

    def test_only_root_and_the_group_may_look_after_the_store(self):
        self.serve()
        for words in (("verify",), ("remove", SLOT), ("prune",), ("rebuild-index",)):
            ran = self.done(self.as_nobody(*words), 8)
            self.assertIn("root and the group libreyolo-kernels", ran.err)
        self.done(self.world.run("verify", LIBREYOLO_KERNELS_SOCKET=str(self.world.socket)))

    def test_files_of_a_gated_repository_are_refused_to_other_users(self):
        self.serve()
        self.done(self.world.run("fetch", "gated", LIBREYOLO_KERNELS_SOCKET=str(self.world.socket)))
        ran = self.done(self.as_nobody("resolve", "gated", "--arch", "9.0"), 8)
        self.assertIn("public = true", ran.err)
        self.done(self.world.run("resolve", "gated", "--arch", "9.0",
                                 LIBREYOLO_KERNELS_SOCKET=str(self.world.socket)))
        self.done(self.as_nobody("resolve", SLOT, "--arch", "9.0"))

    def test_files_of_a_gated_repository_are_served_where_the_pin_says_public(self):
        self.serve(public=True)
        self.done(self.as_nobody("resolve", "gated", "--arch", "9.0"))

    def test_nobodys_environment_reaches_the_service(self):
        self.serve()
        self.hub.control("POST", "reset")
        ran = self.world.run("fetch", SLOT, LIBREYOLO_KERNELS_SOCKET=str(self.world.socket),
                             HF_ENDPOINT="http://127.0.0.1:1", HF_TOKEN="hf_other")
        self.done(ran)
        self.assertNotEqual(self.hub.counters()["connections"], {})

    def test_the_token_reaches_the_hub_alone(self):
        self.serve()
        self.done(self.world.run("fetch", "gated", LIBREYOLO_KERNELS_SOCKET=str(self.world.socket)))
        self.assertEqual(self.hub.counters()["token_leaks"], [])
        self.assertNotIn(TOKEN, self.world.log())


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: it takes root to be several users")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
