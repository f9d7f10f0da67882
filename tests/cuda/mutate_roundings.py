#!/usr/bin/env python3
"""Changes one rounding of the CUDA kernels at a time and says for which of them no test fails.

    mutate_roundings.py --tests build/dev/bin/cuda_tests [--nvcc NVCC] [--only PATTERN]

Each rounded operation in kernels/cuda rounds another way, is compiled to PTX, and goes through the tests of its family
on the stand-in device. A survivor is a rounding that no test needs: it is exact, or a case is missing. The known
ones stand below with their reasons; the exit status is 1 if there is another, or if one of those is caught.
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
OPERATION = re.compile("|".join(re.escape(word) for word in OTHERS))

ALL_QUANTIZATION = "FakeQuant*:Unpack*"
FILTERS = {"fake_quant_fp8.cu": "FakeQuantFp8*", "fake_quant_int8_affine.cu": "FakeQuantInt8Affine*",
           "fake_quant_int8_per_channel.cu": "FakeQuantInt8PerChannel*", "int8.cuh": "FakeQuantInt8*",
           "fake_quant_int_grouped.cu": "FakeQuantIntGrouped*", "fake_quant_mxfp4.cu": "FakeQuantMxfp4*",
           "fake_quant_nvfp4.cu": "FakeQuantNvfp4*", "nvfp4.cuh": "*Nvfp4*", "e2m1_blocks.cuh": "FakeQuant*fp4*",
           "unpack.cu": "Unpack*", "element.cuh": "FakeQuant*"}

# "file: operation: line of code": why its rounding cannot be seen.
EXACT = {
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
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("//")[0]
        for match in OPERATION.finditer(code):
            yield number, match.start(), match[0], line.strip()


def family_filter(name):
    if name.startswith(("ms_deform", "deform")):
        return "MsDeformAttn*"
    return FILTERS.get(name, ALL_QUANTIZATION)


def mutate(tree, path, site):
    number, column, word, _ = site
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    line = lines[number - 1]
    lines[number - 1] = line[:column] + OTHERS[word] + line[column + len(word):]
    (tree / "kernels" / "cuda" / path.name).write_text("".join(lines), encoding="utf-8")


def is_caught(arguments, tree, tests):
    ptx = tree / "kernels.ptx"
    subprocess.run([arguments.nvcc, "-ptx", "-arch=compute_75", "-std=c++20", "-fmad=false", f"-I{tree}", "-o", str(ptx),
                    str(tree / "kernels" / "cuda" / "kernels.cu")], check=True, capture_output=True)
    run = subprocess.run([arguments.tests, "--gtest_brief=1", f"--gtest_filter={tests}", "--gtest_fail_fast"],
                         env=dict(os.environ, LYK_CUDA_KERNELS=str(ptx)), capture_output=True, check=False)
    return run.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--only", default="", metavar="PATTERN")
    arguments = parser.parse_args()
    count, faults = 0, 0
    for path in sorted(KERNELS.glob("*.cu*")):
        for site in sites(path):
            key = f"{path.name}: {site[2]}: {site[3]}"
            if not re.search(arguments.only, key):
                continue
            with tempfile.TemporaryDirectory() as folder:
                tree = pathlib.Path(folder)
                shutil.copytree(KERNELS, tree / "kernels" / "cuda")
                mutate(tree, path, site)
                caught = is_caught(arguments, tree, family_filter(path.name))
            count += 1
            verdict = "caught" if caught else f"survives: {EXACT.get(key, 'no reason is known')}"
            faults += caught == (key in EXACT)
            print(f"{path.name}:{site[0]}: {site[2]} -> {OTHERS[site[2]]}: {verdict}", flush=True)
    print(f"{count} mutations, {faults} not as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
