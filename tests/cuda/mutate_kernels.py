#!/usr/bin/env python3
"""Changes one thing of the CUDA kernels at a time and says for which of them no test fails.

    mutate_kernels.py --tests build/dev/bin/cuda_tests [--nvcc NVCC] [--only PATTERN]

Each rounded operation in kernels/cuda rounds another way, each reciprocal of a constant becomes the float below it, each
loop leaves out every other step, and each sum keeps only its last term, or loses a term. The kernels are compiled to PTX
and go through the tests of the line's family on the stand-in device. A survivor is a line that no test needs: what it
does is exact, or a case is missing. The known ones stand below with their reasons; the exit status is 1 if there is
another, or if one of those is caught. Unchanged, the kernels must pass all of these tests: that is tried first.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels" / "cuda"

# What an operation becomes: the other way to round.
OTHERS = {"__fadd_rn": "__fadd_rz", "__fsub_rn": "__fsub_rz", "__fmul_rn": "__fmul_rz", "__fdiv_rn": "__fdiv_rz",
          "__fmaf_rn": "__fmaf_rz", "__fadd_ru": "__fadd_rn", "__ll2float_rn": "__ll2float_rz", "rintf": "roundf",
          "cvt.rn.f16.f32": "cvt.rz.f16.f32", "+ 0x7FFF +": "+ 0x7FFE +", "__float2int_rd": "__float2int_rz"}

# What is looked for in a line, and what it becomes. A `+=` in the head of a loop has no semicolon behind it.
CHANGES = [(re.escape(word), other) for word, other in OTHERS.items()] + [
    (r"1\.0F / (\w+|\([^()]*\))", r"\g<0> * 0x1.fffffep-1F"),
    (r"\+= (?=[a-z][^;]*$)", "+= 2 * "),
    (r"(?<![\w.\]])([\w.]+(\[i\])?) \+= (?=.*;)", r"\1 = "),
    (r"(?<![\w.\]])[\w.]+(\[i\])? \+= (.*);", r"(void)(\2);"),
]

ALL_QUANTIZATION = "FakeQuant*:Unpack*"
FILTERS = {"fake_quant_fp8.cu": "FakeQuantFp8*", "fake_quant_int8_affine.cu": "FakeQuantInt8Affine*",
           "fake_quant_int8_per_channel.cu": "FakeQuantInt8PerChannel*", "int8.cuh": "FakeQuantInt8*",
           "fake_quant_int_grouped.cu": "FakeQuantIntGrouped*", "fake_quant_mxfp4.cu": "FakeQuantMxfp4*",
           "fake_quant_nvfp4.cu": "FakeQuantNvfp4*", "nvfp4.cuh": "*Nvfp4*", "e2m1_blocks.cuh": "FakeQuant*fp4*",
           "unpack.cu": "Unpack*", "element.cuh": "FakeQuant*"}

# "file: operation: line of code": why its change cannot be seen.
SURVIVORS = {
    "amax.cu: += : for (std::uint64_t single = thread_of_grid(); single < run.singles; single += stride)":
        "goes round once: at most three elements before and three after the quads, and a warp of threads",
    "arithmetic.cuh: __fadd_rn: return __fadd_rn(x, __fsub_rn(quantised, x));":
        "exact: what is added is zero, or within a factor of two of -x, or the sum is a level",
    "arithmetic.cuh: __fsub_rn: return copysignf(__fsub_rn(__fadd_rn(fabsf(value), base), base), value);":
        "exact: both are multiples of the step of the sum",
    "arithmetic.cuh: __fmul_rn: const float value = __fmul_rn(__uint_as_float(magnitude << 20), 0x1p120F);":
        "exact: a power of two",
    "arithmetic.cuh: __fsub_rn: const float level = __fsub_rn(__uint_as_float(bits & mask), base);":
        "exact: a level from a level",
    "arithmetic.cuh: __fmul_rn: const float value = __fmul_rn(__uint_as_float((code & 7) << 22), 0x1p126F);":
        "exact: a power of two",
    "fake_quant_int8_affine.cu: __fadd_rn: return __fadd_rn(grid.zero_point, rintf(__fmul_rn(x, grid.inverse)));":
        "exact: integers below 2^24; from there on, both sums are beyond the codes",
    "fake_quant_int8_affine.cu: __fsub_rn: result.at[i] = __fmul_rn(__fsub_rn(code, grid.zero_point), grid.scale);":
        "exact: integers of at most 9 bits, or -128 less -2^31, which has 24",
    "fake_quant_int8_per_channel.cu: __fsub_rn: return __fmul_rn(__fsub_rn(code, magic), grid.scale);":
        "exact: a whole number and one more",
    "fake_quant_int_grouped.cu: __fsub_rn: const float code = __fsub_rn(__fadd_rn(clipped, magic), magic);":
        "exact: a whole number and one more",
    "int8.cuh: __fmul_rn: return __fmul_rn(gradient, in_range ? 1.0F : 0.0F);":
        "exact: by one or zero",
    "ms_deform_attn_gather.cu: __fmaf_rn: "
    "const float rest = __fmaf_rn(term, format.to_upper, -__fsub_rn(upper, FixedPoint::magic));":
        "exact: what a rounding to a whole number leaves of 24 bits",
    "ms_deform_attn_gather.cu: __fsub_rn: "
    "const float rest = __fmaf_rn(term, format.to_upper, -__fsub_rn(upper, FixedPoint::magic));":
        "exact: a whole number and one more",
}


def sites(path):
    """The changes of a file: the number of a line, what is changed of it, the line, and what that becomes."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("//")[0].rstrip()
        for pattern, other in CHANGES:
            for match in re.finditer(pattern, code):
                yield number, match[0], line, line[:match.start()] + match.expand(other) + line[match.end():]


def family_filter(name):
    if name.startswith(("ms_deform", "deform")):
        return "MsDeformAttn*"
    return FILTERS.get(name, ALL_QUANTIZATION)


def is_caught(arguments, tree, tests):
    """Whether a test fails with the kernels of a tree. Ends the program where no test could say so."""
    ptx = tree / "kernels.ptx"
    subprocess.run([arguments.nvcc, "-ptx", "-arch=compute_75", "-std=c++20", "-fmad=false", "-w", f"-I{tree}", "-o",
                    str(ptx), str(tree / "kernels" / "cuda" / "kernels.cu")], check=True)
    run = subprocess.run([arguments.tests, "--gtest_brief=1", f"--gtest_filter={tests}", "--gtest_fail_fast"],
                         env=dict(os.environ, LYK_CUDA_KERNELS=str(ptx)), capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1) or " 0 tests from" in run.stdout:
        sys.exit(f"{arguments.tests} ends with {run.returncode} for {tests}:\n{run.stdout}{run.stderr}")
    return run.returncode == 1


def with_tree(use):
    """What `use` makes of a copy of the kernels that it may change."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        shutil.copytree(KERNELS, tree / "kernels" / "cuda")
        return use(tree)


def is_change_caught(arguments, path, number, changed):
    def use(tree):
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[number - 1] = changed
        (tree / "kernels" / "cuda" / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return is_caught(arguments, tree, family_filter(path.name))
    return with_tree(use)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--only", default="", metavar="PATTERN")
    arguments = parser.parse_args()
    if with_tree(lambda tree: is_caught(arguments, tree, f"{ALL_QUANTIZATION}:MsDeformAttn*")):
        sys.exit("the kernels fail as they are")
    count, faults = 0, 0
    for path in sorted(KERNELS.glob("*.cu*")):
        for number, word, line, changed in sites(path):
            key = f"{path.name}: {word}: {line.strip()}"
            if not re.search(arguments.only, key):
                continue
            caught = is_change_caught(arguments, path, number, changed)
            count += 1
            verdict = "caught" if caught else f"survives: {SURVIVORS.get(key, 'no reason is known')}"
            faults += caught == (key in SURVIVORS)
            print(f"{path.name}:{number}: {changed.strip()}: {verdict}", flush=True)
    print(f"{count} mutations, {faults} not as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
