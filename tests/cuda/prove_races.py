#!/usr/bin/env python3
"""Has sentryward prove, of each CUDA kernel and one launch of it, that it synchronizes and has no race.

    nvcc -ptx -arch=compute_75 -std=c++20 -fmad=false -I. -o kernels.ptx kernels/cuda/kernels.cu
    prove_races.py --ptx kernels.ptx [--sentryward SENTRYWARD] [--only PATTERN] [--timeout 120]

Prints a line for each kernel: what was proven, or why sentryward says that it cannot tell. Pointers are addresses far
apart; numbers are those of a small call, as kernels/cuda/launch.hpp would have them, by two blocks of two warps.
WARP_SZ, which sentryward 0.1.1 does not know, is written as 32. The exit status is 1 if a race or wrong
synchronization was found. docs/kernels.md says what that means.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ELEMENTS = 512


def pointer(number):
    return 8, (number + 1) << 20


def word(value):
    return 4, value


def number(value):
    return 8, value


def divisor(value):
    """kernels/cuda/divisor.hpp."""
    if value <= 1:
        return [number(1), number(0), number(0)]
    bits = (value - 1).bit_length()
    return [number(value), number(((1 << (63 + bits)) + value - 1) // value), number(bits - 1)]


def pointers(count):
    return [pointer(i) for i in range(count)]


def grouped_rows():
    return [number(1), number(ELEMENTS), *divisor(ELEMENTS // 4)]


def strides():
    """Of one head of 32 channels: batch, head, cell, channel."""
    return [number(12 * 32), number(32), word(32), word(1)]


def deform():
    """One level of 3 x 4 cells, one head of 32 channels, four queries of two points."""
    return [*pointers(13), *strides(), *strides(), *divisor(1), *divisor(4), *divisor(12), *divisor(1), *divisor(2),
            number(1), word(32), word(1), word(2), word(8), word(0), word(0)]


# Begin of a kernel's name -> the fields of its argument (kernels/cuda/arguments.hpp): bytes and value.
ARGUMENTS = {
    "lyk_fake_quant_fp8": [*pointers(3), number(ELEMENTS), *divisor(64), *divisor(8)],
    "lyk_fake_quant_int8_affine": [*pointers(5), number(ELEMENTS)],
    "lyk_fake_quant_int8_per_channel_amax": [*pointers(2), number(ELEMENTS), *divisor(64), *divisor(8)],
    "lyk_fake_quant_nvfp4_dynamic_amax": [*pointers(2), number(ELEMENTS), *divisor(ELEMENTS), *divisor(1)],
    "lyk_fake_quant_int8_per_channel": [*pointers(5), number(ELEMENTS), *divisor(64), *divisor(8)],
    "lyk_fake_quant_int_grouped": [*pointers(2), number(0), number(0), number(0), *grouped_rows(), word(64),
                                   word(0x40E00000)],
    "lyk_fake_quant_mxfp4": [*pointers(4), *grouped_rows()],
    "lyk_fake_quant_nvfp4": [*pointers(4), *grouped_rows()],
    "lyk_unpack_int_grouped": [*pointers(3), number(8), number(1), number(1), number(ELEMENTS), number(ELEMENTS // 2),
                               *divisor(ELEMENTS // 4), *divisor(64), word(4), word(0)],
    "lyk_unpack_nvfp4": [*pointers(5), number(1), number(ELEMENTS), number(ELEMENTS // 16), *divisor(ELEMENTS // 4)],
    "lyk_ms_deform_attn_cast": [*pointers(2), *strides(), number(12 * 32), *divisor(12), *divisor(1), *divisor(32)],
    "lyk_ms_deform_attn": deform(),
}


def arguments_name(kernel):
    return max((name for name in ARGUMENTS if kernel.startswith(name)), key=len)


def configuration(kernel):
    arguments, offset = [], 0
    for size, value in ARGUMENTS[arguments_name(kernel)]:
        arguments.append({"parameter": f"{kernel}_param_0", "offset": offset, "type": f"u{8 * size}", "value": value})
        offset += size
    return {"schema": "spverify.kernel-input/v1", "entry": kernel, "arguments": arguments,
            "launch": {"grid_dim": [2, 1, 1], "block_dim": [64, 1, 1]}}


def verdict(arguments, ptx, kernel):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(configuration(kernel), file)
        file.flush()
        run = subprocess.run([arguments.sentryward, ptx, "--input", file.name, "--timeout",
                              str(arguments.timeout)], capture_output=True, text=True, check=False)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx", required=True)
    parser.add_argument("--sentryward", default="sentryward")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.ptx).read_text(encoding="utf-8").replace("WARP_SZ", "32")
    found = False
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
        ptx.write(text)
        ptx.flush()
        for kernel in re.findall(r"\.entry (\w+)\(", text):
            if not re.search(arguments.only, kernel):
                continue
            report = verdict(arguments, ptx.name, kernel)
            checks = report["checks"]
            reasons = sorted({diagnostic["code"] for diagnostic in report.get("diagnostics", [])})
            print(f"{kernel}: synchronization {checks['synchronization']}, memory {checks['memory']}: "
                  + ", ".join([report["result"], *reasons]), flush=True)
            found = found or report["result"] in ("potential_race", "not_wellsynced", "invalid_lifecycle")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
