#!/usr/bin/env python3
"""Changes one thing of the CUDA kernels at a time and says for which of them no test fails.

    mutate_kernels.py --tests build/dev/bin/cuda_tests [--nvcc NVCC] [--only PATTERN] [--jobs N]
    mutate_kernels.py --list

What is changed is said at CHANGES. Of the kernels those that the line has a part in are compiled to PTX and go through
the tests of their families on the stand-in device; the headers of the quantization slots through theirs alone. A
survivor is a line that no test needs: what it does is exact, or a case is missing. The known ones stand in SURVIVORS
with their reasons; the exit status is 1 if there is another, or if one of those is caught. Unchanged, the kernels must
pass all of these tests: that is tried first.
"""

import argparse
import collections
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels" / "cuda"

# What an operation becomes: the other way to round, or to treat NaN.
OTHERS = {"__fadd_rn": "__fadd_rz", "__fsub_rn": "__fsub_rz", "__fmul_rn": "__fmul_rz", "__fdiv_rn": "__fdiv_rz",
          "__fmaf_rn": "__fmaf_rz", "__fadd_ru": "__fadd_rn", "__ll2float_rn": "__ll2float_rz", "rintf": "roundf",
          "cvt.rn.f16.f32": "cvt.rz.f16.f32", "__float2int_rd": "__float2int_rz", "floorf": "truncf",
          "fmaxf": "at_least", "fminf": "at_most"}

# What is looked for in every line, and what it becomes. A `+=` in the head of a loop has no semicolon behind it.
CHANGES = [(re.escape(word), other) for word, other in OTHERS.items()] + [
    (r"(?<!float )\bat_least(?=\()", "fmaxf"),
    (r"(?<!float )\bat_most(?=\()", "fminf"),
    (r"1\.0F / (\w+|\([^()]*\))", r"\g<0> * 0x1.fffffep-1F"),
    (r"\+= (?=[a-z][^;]*$)", "+= 2 * "),
    (r"(?<![\w.\]])([\w.]+(\[i\])?) \+= (?=.*;)", r"\1 = "),
    (r"(?<![\w.\]])[\w.]+(\[i\])? \+= (.*);", r"(void)(\2);"),
]

# Lines that compute with floats, with their bits and with codes. There a comparison lets in what is equal, or does not,
# and a number becomes the next one up and the next one down: that is how masks, shifts and bounds round.
ARITHMETIC = re.compile(r"\b(float|const(expr)? int|codes?|byte|bound|mask|many|exponent|magnitude)\b|_r[nzud]\("
                        r"|\w*bits\b|_uint\(|_int8\b|__clz|isnan|constexpr std::uint(32|64)_t|y > -1")
# Places, sizes and numbers of threads, which round nothing.
GEOMETRY = re.compile(r"^\s*(for|while|#|struct|if constexpr)\b|^\s*[\w:]+ \w+ = 0;|__shfl|asm\(|threadIdx|_lanes\b"
                      r"|_quads|quads_|_quad\b|_kept|lane_channels|channels_of_sum|sums_of_lane|\bbins?\b|_in_level"
                      r"|\btap\b|2 \* sample|bits\([0-9i]|of\[|\brow [->]|cell|column >|\bposition|\bfirst_bin|\blane\b"
                      r"|= load_pack")
NUMBER = re.compile(r"(?<![\w.\[])(?!1\.0F / )(0x[0-9A-F]+(?![\w.])|0x1p\d+|\d+\.\d+|\d+e-\d+|\d+)(F|U|)(?![\w.\]])")
COMPARISON = re.compile(r"(?<= )(<=|>=|<|>)(?= )")

# Source: the tests of its kernels.
TESTS = {"fake_quant_fp8.cu": "FakeQuantFp8*", "fake_quant_int8_affine.cu": "FakeQuantInt8Affine*",
         "fake_quant_int8_per_channel.cu": "FakeQuantInt8PerChannel*",
         "fake_quant_int_grouped.cu": "FakeQuantIntGrouped*", "fake_quant_mxfp4.cu": "FakeQuantMxfp4*",
         "fake_quant_nvfp4.cu": "FakeQuantNvfp4*", "unpack.cu": "Unpack*",
         "ms_deform_attn_backward.cu": "MsDeformAttn*", "ms_deform_attn_forward.cu": "MsDeformAttn*",
         "ms_deform_attn_gather.cu": "MsDeformAttn*"}
# Its kernels serve those of two others.
AMAX = "amax.cu"
AMAX_USERS = {"fake_quant_int8_per_channel.cu", "fake_quant_nvfp4.cu"}

# "file: what: line of code", or "file: what -> change: line" for numbers and comparisons, (2) being the second such one
# in the line: why it cannot be seen.
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
    "arithmetic.cuh: < -> <=: return value < bound ? bound : value;":
        "what is equal: but for the sign of a zero, and those of lo and hi do nothing",
    "arithmetic.cuh: > -> >=: return value > bound ? bound : value;":
        "what is equal: but for the sign of a zero, and those of lo and hi do nothing",
    "arithmetic.cuh: 0x7FC00000 -> 0x7FC00001: return magnitude == nan_code ? __uint_as_float(0x7FC00000)":
        "which NaN it is, nobody promises",
    "arithmetic.cuh: 0x7FC00000 -> 0x7FBFFFFF: return magnitude == nan_code ? __uint_as_float(0x7FC00000)":
        "which NaN it is, nobody promises",
    "arithmetic.cuh: fminf: const float magnitude = fminf(fabsf(scaled), e2m1_max);":
        "NaN: the straight-through estimator has it again",
    "arithmetic.cuh: 1.0F -> 0x1.000002p+0F: const float base = magnitude < 1.0F ? 1.0F : 0.0F;":
        "1 becomes 1 either way",
    "arithmetic.cuh: 1.0F -> 0x1.fffffep-1F: const float base = magnitude < 1.0F ? 1.0F : 0.0F;":
        "the float below 1 becomes 1 either way",
    "arithmetic.cuh: < -> <=: const float base = magnitude < 1.0F ? 1.0F : 0.0F;":
        "1 becomes 1 either way",
    "fake_quant_fp8.cu: fmaxf: const float scaled = fminf(fmaxf(__fdiv_rn(x, scale), -e4m3_max), e4m3_max);":
        "NaN: the line's comment says where it comes back",
    "fake_quant_fp8.cu: fminf: const float scaled = fminf(fmaxf(__fdiv_rn(x, scale), -e4m3_max), e4m3_max);":
        "NaN: fmaxf has dropped it",
    "fake_quant_int8_affine.cu: at_most: "
    "at_most(at_least(rintf(__fsub_rn(lowest_int8, quotient)), lowest_int8), highest_int8);":
        "NaN: the scale is infinite or NaN then, and any zero point but the lowest code does",
    "fake_quant_int8_affine.cu: 0 -> 1: return {scale, __fdiv_rn(1.0F, scale), isnan(zero_point) ? 0 : zero_point};":
        "NaN: the scale is infinite or NaN then, and any zero point but the lowest code does",
    "fake_quant_int_grouped.cu: fmaxf: "
    "const float clipped = fminf(fmaxf(__fdiv_rn(weight, scale), -highest - 1.0F), highest);":
        "NaN: the line's comment says where it comes back",
    "fake_quant_int_grouped.cu: fminf: "
    "const float clipped = fminf(fmaxf(__fdiv_rn(weight, scale), -highest - 1.0F), highest);":
        "NaN: fmaxf has dropped it",
    "fake_quant_int_grouped.cu: 1.0F -> 0x1.000002p+0F: "
    "const float clipped = fminf(fmaxf(__fdiv_rn(weight, scale), -highest - 1.0F), highest);":
        "the difference is rounded to the same whole number",
    "fake_quant_int_grouped.cu: 1.0F -> 0x1.fffffep-1F: "
    "const float clipped = fminf(fmaxf(__fdiv_rn(weight, scale), -highest - 1.0F), highest);":
        "the difference is rounded to the same whole number",
    "fake_quant_mxfp4.cu: 31 -> 30: const int distance = exponent ^ (exponent >> 31);":
        "of eight bits and their sign, any shift from 8 to 31 leaves the sign",
    "fake_quant_mxfp4.cu: 1 -> 0: const std::uint32_t early = 44U >> (__clz(distance | 1) - 25);":
        "no bit of 44 is left for a distance of 0 or 1",
    "fake_quant_mxfp4.cu: 0x0DA24260 -> 0x0DA24261: constexpr std::uint32_t smallest_amax_bits = 0x0DA24260;":
        "only its exponent counts",
    "fake_quant_mxfp4.cu: 0x0DA24260 -> 0x0DA2425F: constexpr std::uint32_t smallest_amax_bits = 0x0DA24260;":
        "only its exponent counts",
    "int8.cuh: fminf: return fminf(fmaxf(code, lowest_int8), highest_int8);":
        "NaN: fmaxf has dropped it",
    "unpack.cu: 7 -> 6: const int code = static_cast<int>((byte >> (bit & 7)) & mask) - zero_code;":
        "codes of two or four bits begin at even ones",
    "ms_deform_attn_backward.cu: 0 -> 1: greatest = max(greatest, bits < float_infinity_bits ? bits : 0);":
        "a bound may be greater, and the weight times the least float is hardly that",
    "ms_deform_attn_backward.cu: < -> <=: greatest = max(greatest, bits < float_infinity_bits ? bits : 0);":
        "an infinite one makes bound_of look at all others, which gives the same bound",
    "ms_deform_attn_backward.cu: 0 -> 1: bound = 0;":
        "the least float has the same unit as zero",
    "ms_deform_attn_backward.cu: 0 -> 1: bound = max(bound, product < float_infinity_bits ? product : 0);":
        "the least float has the same unit as zero",
    "ms_deform_attn_gather.cu: 0 -> 1: "
    "return __uint_as_float(shift >= 0 ? static_cast<std::uint32_t>(shift + 1) << float_mantissa_bits":
        "both sides give the least normal float",
    "ms_deform_attn_gather.cu: >= -> >: "
    "return __uint_as_float(shift >= 0 ? static_cast<std::uint32_t>(shift + 1) << float_mantissa_bits":
        "both sides give the least normal float",
    "ms_deform_attn_gather.cu: 18 -> 19: const auto many = static_cast<int>(count >> 18);":
        "tells where 2^18 points meet at a cell, of which no test has so many",
    "ms_deform_attn_gather.cu: 18 -> 17: const auto many = static_cast<int>(count >> 18);":
        "tells where 2^17 points meet at a cell, of which no test has so many",
}


def float_beside(value, step):
    """As C++ writes it."""
    bits, = struct.unpack("<I", struct.pack("<f", value))
    beside, = struct.unpack("<f", struct.pack("<I", bits + step))
    return re.sub(r"\.?0*p", "p", beside.hex()) + "F"


def numbers_beside(text, suffix):
    """What a number becomes: what is next to it, up and down. A zero goes up alone."""
    if suffix == "F":
        value = float.fromhex(text) if text.startswith("0x") else float(text)
        return [float_beside(value, step) for step in ((1, -1) if value else (1,))]
    value = int(text, 0)
    digits = len(text) - 2
    written = (lambda number: f"0x{number:0{digits}X}") if text.startswith("0x") else str
    return [written(value + step) + suffix for step in ((1, -1) if value else (1,))]


def changes_of(code):
    """Where something is changed in a line: begin, end, what the line is known by, and what comes there."""
    for pattern, other in CHANGES:
        for match in re.finditer(pattern, code):
            yield match.start(), match.end(), match[0], match.expand(other)
    if not ARITHMETIC.search(code) or GEOMETRY.search(code):
        return
    for match in NUMBER.finditer(code):
        for other in numbers_beside(*match.groups()):
            yield match.start(), match.end(), f"{match[0]} -> {other}", other
    for match in COMPARISON.finditer(code):
        other = match[0].rstrip("=") if match[0].endswith("=") else match[0] + "="
        yield match.start(), match.end(), f"{match[0]} -> {other}", other


def sites():
    """(file, number of the line, key as in SURVIVORS, changed line) of every change."""
    for path in sorted(KERNELS.glob("*.cu*")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//")[0].rstrip()
            words = collections.Counter()
            for begin, end, word, other in changes_of(code):
                words[word] += 1
                which = f" ({words[word]})" if words[word] > 1 else ""
                yield path, number, f"{path.name}: {word}{which}: {code.strip()}", code[:begin] + other + code[end:]


def files_in(name, seen=None):
    """The files of kernels/cuda that a source has in it, itself among them."""
    seen = set() if seen is None else seen
    if name not in seen:
        seen.add(name)
        for found in re.findall(r'#include "kernels/cuda/([^"]+)"', (KERNELS / name).read_text(encoding="utf-8")):
            files_in(found, seen)
    return seen


def tests_with(name):
    """The tests that a change of a file concerns."""
    users = {source for source in TESTS
             if name in files_in(source) or (source in AMAX_USERS and name in files_in(AMAX))}
    quantization = {source for source in users if not source.startswith("ms_deform")}
    return frozenset(TESTS[source] for source in quantization or users)


def sources_for(tests):
    """The sources of all kernels that tests launch."""
    sources = {source for source in TESTS if TESTS[source] in tests}
    return sources | ({AMAX} if sources & AMAX_USERS else set())


def is_caught(arguments, tree, tests):
    """Whether a test fails with the kernels of a tree. Ends the program where no test could say so."""
    kernels, ptx = tree / "some.cu", tree / "kernels.ptx"
    includes = [f'#include "kernels/cuda/{part}"\n' for part in sorted(sources_for(tests))]
    kernels.write_text("".join(includes), encoding="utf-8")
    subprocess.run([arguments.nvcc, "-ptx", "-arch=compute_75", "-std=c++20", "-fmad=false", "-w", f"-I{tree}", "-o",
                    str(ptx), str(kernels)], check=True)
    wanted = ":".join(sorted(tests))
    run = subprocess.run([arguments.tests, "--gtest_brief=1", f"--gtest_filter={wanted}", "--gtest_fail_fast"],
                         env=dict(os.environ, LYK_CUDA_KERNELS=str(ptx)), capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1) or " 0 tests from" in run.stdout:
        sys.exit(f"{arguments.tests} ends with {run.returncode} for {wanted}:\n{run.stdout}{run.stderr}")
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
        return is_caught(arguments, tree, tests_with(path.name))
    return with_tree(use)


def run_all(arguments, wanted):
    """Prints a line for each change, in their order, and returns how many went otherwise than SURVIVORS says."""
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = pool.map(lambda site: is_change_caught(arguments, site[0], site[1], site[3]), wanted)
        for (path, number, key, changed), caught in zip(wanted, verdicts):
            verdict = "caught" if caught else f"survives: {SURVIVORS.get(key, 'no reason is known')}"
            faults += caught == (key in SURVIVORS)
            print(f"{path.name}:{number}: {changed.strip()}: {verdict}", flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    wanted = [site for site in sites() if re.search(arguments.only, site[2])]
    if arguments.list:
        print(*(site[2] for site in wanted), sep="\n")
        return 0
    if arguments.tests is None:
        parser.error("--tests is missing")
    for tests in {tests_with(path.name) for path, *_ in wanted}:
        if with_tree(functools.partial(is_caught, arguments, tests=tests)):
            sys.exit(f"the kernels fail as they are: {', '.join(sorted(tests))}")
    faults = run_all(arguments, wanted)
    print(f"{len(wanted)} mutations, {faults} not as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
