#!/usr/bin/env python3
"""prove_races.py and what docs/kernels.md says of it are of the kernels as they are now. Nothing is compiled."""

import collections
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import prove_races  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels" / "cuda"
DOCUMENT = ROOT / "docs" / "kernels.md"
SIZES = {"std::uint64_t": 8, "std::int64_t": 8, "std::uint32_t": 4, "std::int32_t": 4, "float": 4, "ElementCode": 4}


def kernels():
    """{name: the struct that it takes}"""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(KERNELS.glob("*.cu")))
    return dict(re.findall(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\((\w+) call\)', text))


def structs():
    """{name: the sizes of its fields, in their order, those of structs in it one by one}"""
    text = re.sub(r"//.*", "", "".join((KERNELS / name).read_text(encoding="utf-8")
                                       for name in ("divisor.hpp", "arguments.hpp")))
    found = {}
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", text, re.DOTALL):
        fields = re.findall(r"(?:const )?([\w:]+)(\*?) \w+\s*(?:=[^;]*|\{\})?;", body)
        found[name] = [size for kind, star in fields for size in ([8] if star else found.get(kind) or [SIZES[kind]])]
    return found


def documented():
    """[(words, how many kernels)] of the first column of the table of what the verifier proves."""
    part = DOCUMENT.read_text(encoding="utf-8").split("### What a verifier proves")[1]
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| ")][1:]
    items = [item.strip() for cell in cells for item in cell.split(",")]
    return [(re.sub(r" \(\d+\)$", "", item), int((re.findall(r"\((\d+)\)$", item) or ["1"])[0])) for item in items]


class ProveRaces(unittest.TestCase):
    def test_every_kernel_has_arguments_of_its_own_layout(self):
        layouts = structs()
        for kernel, struct in kernels().items():
            sizes = [argument["type"] for argument in prove_races.configuration(kernel)["arguments"]]
            self.assertEqual(sizes, [f"u{8 * size}" for size in layouts[struct]], kernel)

    def test_all_arguments_are_some_kernels(self):
        for name in prove_races.ARGUMENTS:
            self.assertTrue(any(prove_races.arguments_name(kernel) == name for kernel in kernels()), name)

    def test_the_table_has_every_kernel_once(self):
        table = {words.replace(" ", "_"): count for words, count in documented()}
        # What a kernel does says more than for which slot: each has one row.
        rows = sorted(table, key=lambda words: words not in ("amax", "unpack"))
        found = collections.Counter(next((row for row in rows if row in kernel), kernel) for kernel in kernels())
        self.assertEqual(found, table)


if __name__ == "__main__":
    unittest.main()
