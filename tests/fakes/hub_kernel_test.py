#!/usr/bin/env python3
"""The compiled hub_kernel/ has the Hub kernel's entry points, and the repository around it is a kernel repo.

Exit code 77 (skipped) without nvcc.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from hub.compiled import NoCompiler, compile_image, find_nvcc
from hub.kernel_repo import BuildVariant, variant_files
from running_hub import SKIPPED, clean_environment, make_repository

FORWARD = "EviPKT_PKlS4_S2_S2_iiiiiiiPS0_"
BACKWARD = "EviPKT_S2_PKlS4_S2_S2_iiiiiiiPS0_S5_S5_"
PLAIN = (
    "_Z34ms_deformable_col2im_gpu_kernel_gmI",
    "_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v1I",
    "_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v2I",
    "_Z58ms_deformable_col2im_gpu_kernel_shm_reduce_v2_multi_blocksI",
)
AWARE = "_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v"


def published_names() -> set:
    """Sixteen kernels of each type, as a C++ compiler mangles the published ones on Linux."""
    names = set()
    for kind in "fd":
        names.add(f"_Z31ms_deformable_im2col_gpu_kernelI{kind}{FORWARD}")
        names |= {f"{prefix}{kind}{BACKWARD}" for prefix in PLAIN}
        names |= {f"{AWARE}1I{kind}Lj{block}E{BACKWARD}" for block in (1, 2, 4, 8, 16, 32)}
        names |= {f"{AWARE}2I{kind}Lj{block}E{BACKWARD}" for block in (64, 128, 256, 512, 1024)}
    return names


class Compiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="hub-kernel-")
        cls.work = Path(cls.folder.name) / "work"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_entry_points_have_the_published_names_and_parameters(self):
        text = compile_image(find_nvcc(None), ["compute_75"], self.work).read_text()
        entries = {
            name: parameters.count(".param")
            for name, parameters in re.findall(r"\.entry (\w+)\(([^)]*)\)", text)
        }
        self.assertEqual(set(entries), published_names())
        for name, count in entries.items():
            self.assertEqual(count, 14 if "im2col" in name else 17, name)

    def test_a_repository_with_two_builds_is_made(self):
        root = Path(self.folder.name) / "root"
        made = make_repository(
            root,
            "--work",
            str(self.work),
            "--build",
            "torch212-cxx11-cu130-x86_64-linux=sm_75,compute_75",
            "--build",
            "torch212-cxx11-cu128-x86_64-linux=sm_80,compress=speed",
        )
        store = str(root / "kernels" / "kernels-community" / "deformable-detr.git")
        for cuda, archs in (("cu130", ["7.5"]), ("cu128", ["8.0"])):
            path = f"v1:build/torch212-cxx11-{cuda}-x86_64-linux/metadata.json"
            text = subprocess.run(
                ["git", "-C", store, "show", path],
                env=clean_environment(),
                capture_output=True,
                check=True,
            ).stdout
            metadata = json.loads(text)
            self.assertEqual(metadata["backend"], {"type": "cuda", "archs": archs})
            library = next(
                name for name in metadata["digest"]["files"] if name.endswith(".abi3.so")
            )
            digest = base64.b64decode(metadata["digest"]["files"][library]).hex()
            content = (root / "lfs" / digest).read_bytes()
            self.assertEqual(
                (hashlib.sha256(content).hexdigest(), content[:4]), (digest, b"\x7fELF")
            )
            self.assertTrue(library.startswith(metadata["id"]))
        self.assertEqual(len(made["commit"]), 40)


class Layout(unittest.TestCase):
    def test_digests_cover_every_file_but_the_metadata(self):
        files = variant_files(
            BuildVariant("torch212-cxx11-cu130-x86_64-linux", b"ELF" + bytes(5), ["9.0"]), "a-b"
        )
        folder = "build/torch212-cxx11-cu130-x86_64-linux/"
        metadata = json.loads(files[f"{folder}metadata.json"])
        self.assertEqual(
            {folder + name for name in metadata["digest"]["files"]} | {f"{folder}metadata.json"},
            set(files),
        )
        self.assertIn(
            "y8N2vEt1R8/PkbJW9Fm7/OQTPJ872Y/xyr7HhfaGARE=", metadata["digest"]["files"].values()
        )


if __name__ == "__main__":
    try:
        find_nvcc(None)
    except NoCompiler as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
