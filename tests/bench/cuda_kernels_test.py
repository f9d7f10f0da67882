#!/usr/bin/env python3
"""What bench/cuda_kernels.py makes of measurements: bytes, shares, ratios, verdicts, and what could not be measured."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cuda_kernels  # noqa: E402
import page  # noqa: E402
import rows  # noqa: E402
from cuda_kernels import ATOMIC, COPY, DEFORMOPS, DEFORMOPS_CUDA, HUB, OURS, REFERENCE, TRITON  # noqa: E402
from scenes import Scene  # noqa: E402


def line(kind, *, absent=None, alone=(), **microseconds):
    """A measurement whose copy moves 100 bytes in a microsecond; 100 bytes are to be moved."""
    sides = {"ours": OURS, "copy": COPY, "reference": REFERENCE, "triton": TRITON, "hub": HUB, "deformops": DEFORMOPS,
             "deformops_cuda": DEFORMOPS_CUDA, "atomic": ATOMIC}
    seconds = {sides[side]: [value * 1e-6, value * 1e-6, value * 9e-6] for side, value in {**microseconds, "copy": 1}.items()}
    return {"kind": kind, "case": "a_slot, 64 Mi elements", "bytes": 100, "copied_bytes": 100, "seconds": seconds,
            "absent": absent or {}, "alone": list(alone)}


class CudaKernels(unittest.TestCase):
    def setUp(self):
        self.kept = self.enterContext(mock.patch.object(rows, "ROWS", []))
        self.printed = self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def report(self, *lines):
        cuda_kernels.report_lines(map(json.dumps, lines))
        return self.kept

    def test_every_slot_is_measured_and_moves_each_number_once(self):
        slots = {name.split()[0] for name in cuda_kernels.QUANTIZATION}
        self.assertEqual(slots, {"fake_quant_int8_affine", "fake_quant_int8_per_channel", "fake_quant_fp8",
                                 "fake_quant_int_grouped", "fake_quant_nvfp4_weight", "fake_quant_nvfp4_dynamic",
                                 "fake_quant_mxfp4_weight", "fake_quant_mxfp4_dynamic", "unpack_int_grouped", "unpack_nvfp4"})
        of = cuda_kernels.QUANTIZATION
        self.assertEqual({of[name] for name in of if name.startswith("fake") and "nvfp4_dynamic" not in name}, {8})
        self.assertEqual(of["fake_quant_nvfp4_dynamic"], 12)
        self.assertEqual(of["unpack_int_grouped 4 bits"], 4.53125)
        self.assertEqual(of["unpack_int_grouped 2 bits"], 4.3125)
        self.assertEqual(of["unpack_nvfp4"], 4.5625)

    def test_attention_moves_the_cells_that_points_can_touch_and_the_gradient_of_all(self):
        # One query with one point on each of 4 x 4 and 1 x 1 cells of two channels: 5 cells touched, 6 numbers of places.
        moved = cuda_kernels.attention_bytes(Scene(queries=1, heads=1, channels=2, sides=(4, 1), points=1), 4)
        self.assertEqual(moved["forward"], (10 + 6 + 2) * 4)
        self.assertEqual(moved["backward"], (10 + 6 + 2 + 34 + 6) * 4)
        self.assertEqual(moved["forward and backward"], moved["forward"] + moved["backward"])

    def test_the_share_is_of_what_a_copy_of_the_same_run_reaches(self):
        row, slower = self.report(line("quantization", ours=1.1, reference=11), line("quantization", ours=1.25, reference=11))
        self.assertEqual((row.reach, row.value, row.met), (">= 0.85 of memory bandwidth", "0.91", True))
        self.assertAlmostEqual(row.share, 1 / 1.1)  # as the page draws it
        self.assertIn("10.00x as fast as LibreYOLO's reference", row.detail)
        self.assertEqual(list(row.sides), [OURS, REFERENCE])
        self.assertEqual((slower.value, slower.met), ("0.80", False))

    def test_the_hubs_kernel_and_deformops_are_judged_where_they_are(self):
        both, hub, slow, neither = self.report(
            line("attention", ours=2, hub=3, deformops=2, reference=9), line("attention", ours=2, hub=2.9),
            line("attention", ours=2, hub=4, deformops=2, deformops_cuda=1.9), line("attention", ours=2, reference=9))
        self.assertEqual((both.reach, both.value, both.met),
                         (">= 1.5x the Hub's kernel, >= 1.0x deformops", "1.50x the Hub's kernel, 1.00x deformops", True))
        self.assertEqual((hub.value, hub.met), ("1.45x the Hub's kernel", False))
        self.assertFalse(slow.met)
        self.assertEqual((neither.reach, neither.met), ("reported", True))

    def test_the_deterministic_backward_may_take_half_as_long_again(self):
        enough, slow = self.report(line("deterministic", ours=3, atomic=2), line("deterministic", ours=3.2, atomic=2))
        self.assertEqual((enough.reach, enough.value, enough.met), ("<= 1.5x the atomic form", "1.50x", True))
        self.assertEqual((slow.value, slow.met), ("1.60x", False))

    def test_a_peer_that_is_not_there_is_one_row_that_says_why(self):
        absent = {DEFORMOPS: "No module named 'deformops'"}
        *_, row = self.report(line("attention", ours=1, hub=2, absent=absent), line("attention", ours=1, hub=2, absent=absent))
        self.assertEqual((row.name, row.met, row.detail), ("cuda beside deformops", None,
                                                           "No module named 'deformops' (a_slot, 64 Mi elements and 1 more)"))
        self.assertEqual(len(self.kept), 3)

    def test_a_wrong_result_of_ours_is_missed_however_fast(self):
        wrong, deterministic = self.report(line("quantization", reference=2, absent={OURS: "its results differ"}),
                                           line("deterministic", ours=1, absent={ATOMIC: "not_eligible: no"}))
        self.assertEqual((wrong.value, wrong.met, wrong.detail), ("not timed", False, "ours: its results differ"))
        self.assertFalse(deterministic.met)

    def test_what_no_graph_takes_is_said(self):
        row, = self.report(line("attention", ours=1, hub=2, alone=[HUB]))
        self.assertIn("the Hub's kernel launched one by one", row.detail)

    def test_without_a_gpu_there_is_one_line(self):
        self.report({"kind": "skipped", "reason": "Found no NVIDIA driver"})
        self.assertEqual(self.printed.getvalue(), "skipped  cuda kernels on a GPU: no GPU (Found no NVIDIA driver)\n")

    def test_without_pytorch_there_is_one_line(self):
        with mock.patch.object(cuda_kernels, "TORCH_PYTHON", pathlib.Path("/nowhere/python")):
            cuda_kernels.report_rows("libreyolo_kernels.so.1")
        self.assertEqual(self.printed.getvalue(),
                         "skipped  cuda kernels on a GPU: PyTorch is not there; run script/bootstrap oracle\n")

    def test_a_measurement_that_dies_is_an_error(self):
        with mock.patch.object(cuda_kernels, "TORCH_PYTHON", pathlib.Path("/bin/false")), \
                self.assertRaises(subprocess.CalledProcessError):
            cuda_kernels.report_rows("libreyolo_kernels.so.1")

    def test_the_page_draws_what_was_measured_and_names_what_was_not(self):
        self.report({"kind": "device", "case": "a GPU", "copied_bytes": 1 << 29, "seconds": {COPY: [1e-4]}, "absent": {}},
                    line("quantization", ours=1.1, reference=11, absent={TRITON: "<not installed>"}))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            page.write(path, self.kept, "a host")
            text = path.read_text(encoding="utf-8")
        self.assertIn("cuda a_slot", text)
        self.assertIn("5369 GB/s", text)
        self.assertIn("91% of a copy", text)
        self.assertIn("&lt;not installed&gt; (a_slot, 64 Mi elements)</td><td>skipped", text)


if __name__ == "__main__":
    unittest.main()
