#!/usr/bin/env python3
"""The occupancy in docs/kernels-res-usage.md is that of the blocks that the kernels are launched with."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "kernels" / "cuda"))

import res_usage  # noqa: E402


class ResUsage(unittest.TestCase):
    def test_occupancy_depends_on_the_size_of_a_block(self):
        for arch, threads, registers, expected in [
                (80, 256, 32, 100), (80, 256, 37, 75), (80, 256, 48, 62), (90, 1024, 48, 50), (86, 1024, 48, 66),
                (75, 1024, 64, 100), (80, 32, 48, 50), (86, 32, 48, 33)]:
            self.assertEqual(res_usage.occupancy(arch, threads, registers, 0), expected, (arch, threads, registers))

    # 40 registers are 1,280 of a warp: 12 warps to each of four parts, not 51 to all.
    def test_a_warp_lies_in_one_part_of_the_registers(self):
        self.assertEqual(res_usage.occupancy(80, 64, 40, 0), 75)

    def test_shared_memory_bounds_the_blocks(self):
        self.assertEqual(res_usage.occupancy(75, 256, 32, 32768), 50)

    def test_rows_are_told_for_each_size_that_their_blocks_have(self):
        usage = {arch: (48, 128, 0) for arch in res_usage.LIMITS}
        lines = res_usage.table({"lyk_a_rows_f32": usage, "lyk_a_f32": usage}).splitlines()
        self.assertEqual([line.split(" | ")[:2] for line in lines if line.startswith("| lyk")],
                         [["| lyk_a_f32", "256"], ["| lyk_a_rows_f32", "32"], ["| lyk_a_rows_f32", "256"],
                          ["| lyk_a_rows_f32", "1024"]])


if __name__ == "__main__":
    unittest.main()
