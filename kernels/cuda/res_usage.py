#!/usr/bin/env python3
"""The registers and the shared memory of each kernel, and how many threads of it a multiprocessor holds.

    res_usage.py FATBIN             prints the table as Markdown
    res_usage.py FATBIN --write F   writes it to F
    res_usage.py FATBIN --check F   says what differs from F; 1 if anything does

Needs NVIDIA's cuobjdump (pip: nvidia-cuda-cuobjdump), beside this interpreter or on PATH; without it 77.
"""

import argparse
import difflib
import pathlib
import re
import shutil
import subprocess
import sys

# Threads of a block, as launch.hpp has them: of all kernels, and of those whose names end in _rows_ at the ends and in
# the middle of what row_threads gives.
THREADS = [256]
THREADS_OF_ROWS = [32, 256, 1024]

PARTITIONS = 4  # of a multiprocessor: a warp lies in one of them
REGISTERS = 16384  # of a partition
REGISTER_UNIT = 256  # that a warp is given registers in

# What a multiprocessor holds at most: warps, blocks, KiB of shared memory. (CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability".)
LIMITS = {75: (32, 16, 64), 80: (64, 32, 164), 86: (48, 16, 100), 89: (48, 24, 100), 90: (64, 32, 228),
          100: (64, 32, 228), 120: (48, 24, 100)}

HEADER = """# Resources of the CUDA kernels

Made by the target `kernels_res_usage` from what the compiler has built; a test compares. Per architecture: registers of
a thread, and of the threads that a multiprocessor can hold the share that it does hold, in blocks of the size that the
kernel is launched with. A row of fake_quant_int8_per_channel has a block of its own: of 32 threads up to 256 elements,
of 256 for 2,048, of 1,024 from 7,937 on. Shared memory is that of a block, in bytes, as sm_75 counts it. Where
registers are spilled, the bytes of it follow.

"""

FUNCTION = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def find_cuobjdump():
    beside = sorted(pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/cu13/bin/cuobjdump"))
    return str(beside[0]) if beside else shutil.which("cuobjdump")


def usages(cuobjdump, fatbin):
    """{kernel: {architecture: (registers, shared bytes, bytes on the stack)}}"""
    text = subprocess.run([cuobjdump, "-res-usage", fatbin], check=True, capture_output=True,
                          text=True).stdout
    found = {}
    for part in re.split(r"^arch = sm_", text, flags=re.MULTILINE)[1:]:
        arch = int(re.match(r"\d+", part)[0])
        for name, registers, stack, shared, local in FUNCTION.findall(part):
            found.setdefault(name, {})[arch] = (int(registers), int(shared), int(stack) + int(local))
    return found


def occupancy(arch, threads, registers, shared):
    warps_max, blocks_max, shared_kib = LIMITS[arch]
    warps = threads // 32
    of_warp = -(-registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
    blocks = min(blocks_max, warps_max // warps, REGISTERS // of_warp * PARTITIONS // warps)
    if shared:
        blocks = min(blocks, shared_kib * 1024 // shared)
    return 100 * blocks * warps // warps_max


def cell(arch, threads, registers, shared, stack):
    text = f"{registers}, {occupancy(arch, threads, registers, shared)} %"
    return f"{text}, {stack} B" if stack else text


def table(found):
    archs = sorted(LIMITS)
    lines = ["| kernel | threads | shared | " + " | ".join(f"sm_{arch}" for arch in archs) + " |",
             "|---|---:|---:|" + "---:|" * len(archs)]
    for name in sorted(found):
        by_arch = found[name]
        for threads in THREADS_OF_ROWS if "_rows_" in name else THREADS:
            cells = [cell(arch, threads, *by_arch[arch]) for arch in archs]
            lines.append(f"| {name} | {threads} | {by_arch[75][1]} | " + " | ".join(cells) + " |")
    return HEADER + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fatbin")
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--check", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    cuobjdump = find_cuobjdump()
    if cuobjdump is None:
        print("no cuobjdump: pip install nvidia-cuda-cuobjdump")
        return 77
    found = usages(cuobjdump, arguments.fatbin)
    text = table(found)
    if arguments.write:
        arguments.write.write_text(text, encoding="utf-8")
    elif arguments.check:
        kept = arguments.check.read_text(encoding="utf-8")
        difference = list(difflib.unified_diff(kept.splitlines(), text.splitlines(), str(arguments.check),
                                               "as built", lineterm="", n=0))
        print("\n".join(difference))
        return 1 if difference else 0
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
