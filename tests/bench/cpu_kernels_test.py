#!/usr/bin/env python3
"""What bench/cpu_kernels.py makes of measurements, and of a side that has nothing to say."""

import contextlib
import io
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cpu_kernels  # noqa: E402
import rows  # noqa: E402


def side(seconds):
    """As a Side whose every case took as long as `seconds` says."""
    taken = {case: [value, value, value * 9] for case, value in seconds.items()}
    return types.SimpleNamespace(wall=taken, processor=taken)


def shared_cases():
    return [*cpu_kernels.QUANTIZATION, *(cpu_kernels.attention_case(what, scene) for what in cpu_kernels.ATTENTION
                                         for scene in cpu_kernels.SCENES)]


class CpuKernels(unittest.TestCase):
    def report(self, ours, in_the_cache):
        """The rows where a copy takes 1, PyTorch 20, and our slots `ours` seconds."""
        own = {case: ours for case in shared_cases()}
        own |= {f"copy {copied}": 1 for copied, _ in cpu_kernels.QUANTIZATION.values()}
        own |= {case + cpu_kernels.IN_THE_CACHE: in_the_cache for case in cpu_kernels.QUANTIZATION}
        torch = {case: 20 for case in shared_cases()}
        with mock.patch.object(rows, "ROWS", []) as kept, contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(cpu_kernels, "TORCH_PYTHON", pathlib.Path("/bin/true")), \
                mock.patch.object(cpu_kernels, "measure", lambda *_, **__: (side(own), side(torch))):
            cpu_kernels.report_rows("/bin/true")
        return kept

    def shares(self, **seconds):
        return [row for row in self.report(**seconds) if "share" in row.name]

    def test_what_memory_bounds_has_to_reach_its_share_of_a_copy_however_long_its_arithmetic_takes(self):
        enough, slow = self.shares(ours=1.6, in_the_cache=1), self.shares(ours=1.7, in_the_cache=1.7)
        self.assertEqual([len(enough), len(slow)], [len(cpu_kernels.QUANTIZATION)] * 2)
        self.assertEqual({(row.reach, row.value, row.met) for row in enough},
                         {(">= 0.6", "0.62", True), ("reported", "0.62", True)})
        self.assertEqual({(row.reach, row.met) for row in slow}, {(">= 0.6", False), ("reported", True)})

    def test_a_side_that_ends_is_an_error_and_no_row(self):
        with tempfile.TemporaryDirectory() as folder:
            binary, python = pathlib.Path(folder, "binary"), pathlib.Path(folder, "python")
            binary.write_text("#!/bin/sh\ncat\n", encoding="utf-8")
            python.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
            binary.chmod(0o755)
            python.chmod(0o755)
            with mock.patch.object(cpu_kernels, "TORCH_PYTHON", python), self.assertRaisesRegex(RuntimeError, "PyTorch's side ended with exit code 3"):
                cpu_kernels.measure(binary, threads=1, rounds=1)

    def test_the_scenes_are_those_of_the_file(self):
        self.assertEqual(list(cpu_kernels.SCENES), ["encoder", "decoder", "RF-DETR"])
        self.assertEqual(cpu_kernels.SCENES["decoder"].sides, (80, 40, 20))


if __name__ == "__main__":
    unittest.main()
