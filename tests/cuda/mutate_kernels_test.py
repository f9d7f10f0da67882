#!/usr/bin/env python3
"""mutate_kernels.py and what docs/kernels.md says of it are of the kernels as they are now. Compiles nothing."""

import collections
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import mutate_kernels  # noqa: E402

DOCUMENT = mutate_kernels.ROOT / "docs" / "kernels.md"


class MutateKernels(unittest.TestCase):
    def setUp(self):
        self.sites = list(mutate_kernels.sites())
        self.keys = {key for _, _, key, _ in self.sites}

    def test_every_survivor_is_one_of_the_changes(self):
        self.assertEqual([key for key in mutate_kernels.SURVIVORS if key not in self.keys], [])

    def test_every_change_has_a_key_of_its_own_in_its_line(self):
        seen = collections.Counter((path, number, key) for path, number, key, _ in self.sites)
        self.assertEqual([site for site, count in seen.items() if count > 1], [])

    def test_every_change_changes_its_line(self):
        for path, number, key, changed in self.sites:
            line = path.read_text(encoding="utf-8").splitlines()[number - 1]
            self.assertNotEqual(line.split("//")[0].rstrip(), changed, key)

    def test_every_change_has_tests_and_all_kernels_that_those_launch(self):
        for name in {path.name for path, _, _, _ in self.sites}:
            self.assertTrue(mutate_kernels.tests_with(name), name)
        self.assertEqual(mutate_kernels.sources_for(mutate_kernels.tests_with("ms_deform_attn_gather.cu")),
                         {"ms_deform_attn_backward.cu", "ms_deform_attn_forward.cu", "ms_deform_attn_gather.cu"})
        self.assertEqual(mutate_kernels.sources_for(mutate_kernels.tests_with("reduce.cuh")),
                         {"amax.cu", "fake_quant_int8_per_channel.cu", "fake_quant_nvfp4.cu"})

    def test_every_source_of_the_kernels_has_tests(self):
        kernels = (mutate_kernels.KERNELS / "kernels.cu").read_text(encoding="utf-8")
        self.assertEqual({*mutate_kernels.TESTS, mutate_kernels.AMAX},
                         set(re.findall(r'"kernels/cuda/(\w+\.cu)"', kernels)))

    def test_the_documented_numbers_are_those_of_the_script(self):
        words = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
        said = re.search(r"Of (\d+) such changes, (\d+) make a test fail\. The other (\d+)", words)
        survivors = sum(key in mutate_kernels.SURVIVORS for _, _, key, _ in self.sites)
        self.assertEqual([int(number) for number in said.groups()],
                         [len(self.sites), len(self.sites) - survivors, survivors])

    def test_numbers_go_up_and_down_to_what_is_beside_them(self):
        beside = mutate_kernels.numbers_beside
        self.assertEqual(beside("0x7F", ""), ["0x80", "0x7E"])
        self.assertEqual(beside("44", "U"), ["45U", "43U"])
        self.assertEqual(beside("1.0", "F"), ["0x1.000002p+0F", "0x1.fffffep-1F"])
        self.assertEqual(beside("0x1p120", "F"), ["0x1.000002p+120F", "0x1.fffffep+119F"])
        self.assertEqual(beside("0", ""), ["1"])
        self.assertEqual(beside("0.0", "F"), ["0x1p-149F"])


if __name__ == "__main__":
    unittest.main()
