#!/usr/bin/env python3
"""check_layers.py must find what it is there to find: each case is a small tree with one fault."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_layers.py")

# A tree that keeps every rule. The cases below add or replace one file of it.
GOOD = {
    "proto/result.hpp": "#include <string>\n",
    "proto/codec.hpp": '#include <nlohmann/json.hpp>\n#include "proto/result.hpp"\n',
    "proto/message.cpp": '#include "proto/codec.hpp"\n',
    "proto/hash.cpp": "#include <openssl/evp.h>\n",
    "kernels/image/image.hpp": '#include "proto/result.hpp"\n',
    "cache/store.hpp": '#include "kernels/image/image.hpp"\n',
    "cache/sqlite.cpp": "#include <sqlite3.h>\n",
    "fetcher/fetch.cpp": '#include "cache/store.hpp"\n',
    "daemon/main.cpp": '#include <sys/socket.h>\n#include "cache/store.hpp"\n',
    "client/lyk.h": "#include <stdint.h>\n",
    "client/settings.hpp": '#include "proto/result.hpp"\n',
    "cli/main.cpp": '#include "client/settings.hpp"\n',
    "examples/resolve.c": '#include "client/lyk.h"\n',
    "tests/daemon/any_test.cpp": '#include "cache/store.hpp"\n#include "client/settings.hpp"\n',
}


class CheckLayers(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True,
                                  check=False)
        return done.returncode, done.stdout

    def assert_found(self, changes, message):
        code, output = self.check(changes)
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)
        self.assertEqual(output.count("\n"), 1, output)

    def test_a_tree_that_keeps_the_rules_passes(self):
        self.assertEqual(self.check({}), (0, ""))

    def test_an_arrow_that_points_up_is_found(self):
        self.assert_found({"proto/frame.cpp": '\n#include "cache/store.hpp"\n'},
                          "proto/frame.cpp:2: proto/ must not include cache/ (cache/store.hpp)")

    def test_the_client_reaches_the_cache_only_through_the_protocol(self):
        self.assert_found({"client/shortcut.cpp": '#include "cache/store.hpp"\n'},
                          "client/ must not include cache/")
        self.assert_found({"cli/shortcut.cpp": '#include "fetcher/fetch.hpp"\n',
                           "fetcher/fetch.hpp": ""}, "cli/ must not include fetcher/")
        self.assert_found({"cli/shortcut.cpp": '#include "daemon/log.hpp"\n', "daemon/log.hpp": ""},
                          "cli/ must not include daemon/")

    def test_examples_see_the_public_header_alone(self):
        self.assert_found({"examples/inside.cpp": '#include "client/settings.hpp"\n'},
                          "may include only client/lyk.h, client/lyk.hpp of client/")

    def test_a_library_is_named_by_its_owner_alone(self):
        for header in ("sqlite3.h", "curl/curl.h", "git2.h", "git2/oid.h", "openssl/sha.h",
                       "nlohmann/json.hpp", "toml++/toml.h", "cxxopts.hpp", "zstd.h", "lz4frame.h",
                       "dlfcn.h", "zlib.h", "systemd/sd-daemon.h", "cuda.h", "cuda_runtime.h"):
            with self.subTest(header):
                self.assert_found({"daemon/other.cpp": f"#  include <{header}>\n"},
                                  f"daemon/other.cpp:1: <{header}> belongs to")

    def test_quotes_do_not_hide_a_library(self):
        code, output = self.check({"daemon/other.cpp": '#include "sqlite3.h"\n'})
        self.assertEqual(code, 1, output)

    def test_internal_headers_stay_in_their_folder(self):
        self.assert_found({"daemon/other.cpp": '#include "proto/codec.hpp"\n'},
                          "proto/codec.hpp is internal to proto/")

    def test_includes_are_written_from_the_root(self):
        self.assert_found({"cache/index.cpp": '#include "store.hpp"\n'},
                          '"store.hpp" is not a path from the root of the sources')

    def test_a_folder_without_a_place_is_found(self):
        self.assert_found({"kernels/new/x.cpp": ""}, "its folder has no place among the arrows")

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
