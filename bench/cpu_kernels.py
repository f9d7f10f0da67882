"""The kernels of kernels/cpu beside LibreYOLO's own on PyTorch, and beside a copy of as many bytes.

Both sides are processes that time a case when asked for it (cpu_kernels_bench.cpp, torch_kernels.py), on as many threads
each, in turns.
"""

import math
import os
import pathlib
import statistics
import subprocess

from rows import report, skip, spread

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The Python of `script/bootstrap oracle`, where PyTorch is.
TORCH_PYTHON = pathlib.Path(os.environ.get("LYK_TORCH_PYTHON", ROOT / ".venv-oracle/bin/python"))
SCENES = ("encoder", "decoder", "RF-DETR")

# What a case reads and writes per element, as the copy beside it does. Whether memory or arithmetic bounds it: a division
# takes as long as a copy of the element, and rounding to FP4 or FP8 takes longer than the division.
QUANTIZATION = {
    "fake_quant_int8_affine": ("8 bytes", True),
    "fake_quant_int8_per_channel": ("8 bytes", True),
    "fake_quant_fp8 per tensor": ("8 bytes", False),
    "fake_quant_fp8 per channel": ("8 bytes", False),
    "fake_quant_int_grouped 4 bits": ("8 bytes", False),
    "fake_quant_int_grouped 2 bits": ("8 bytes", False),
    "fake_quant_nvfp4_weight": ("8 bytes", False),
    "fake_quant_nvfp4_dynamic": ("8 bytes", False),
    "fake_quant_mxfp4": ("8 bytes", False),
    "unpack_int_grouped 4 bits": ("4.5 bytes", True),
    "unpack_int_grouped 2 bits": ("4.25 bytes", True),
    "unpack_nvfp4": ("4.5 bytes", False),
}


class Side:
    """A process that is asked for cases. `wall` and `processor` are lists of seconds by case."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.wall, self.processor = {}, {}

    def time(self, case):
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        wall, processor = map(float, self.process.stdout.readline().split())
        self.wall.setdefault(case, []).append(wall)
        self.processor.setdefault(case, []).append(processor)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(binary, threads, rounds):
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    sides = [Side([binary], environment), Side([TORCH_PYTHON, ROOT / "bench/torch_kernels.py"], environment)]
    listed = subprocess.run([binary, "--list"], check=True, capture_output=True, text=True)
    for _ in range(rounds):
        for case in listed.stdout.splitlines():
            for side in sides[:1] if case.startswith("copy") else sides:
                side.time(case)
    for side in sides:
        side.close()
    return sides


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def report_rows(binary):
    if not TORCH_PYTHON.exists():
        skip("kernels on a CPU", "PyTorch is not there; run script/bootstrap oracle")
        return
    threads = len(os.sched_getaffinity(0))
    ours, torch = measure(binary, threads, rounds=7)

    def faster(case):
        return statistics.median(torch.wall[case]) / statistics.median(ours.wall[case])

    def sides(case):
        return {"ours": spread(ours.wall[case]), "PyTorch": spread(torch.wall[case])}

    def note(case):
        processor = statistics.median(torch.processor[case]) / statistics.median(ours.processor[case])
        return f"{threads} threads each; {processor:.1f}x in processor time"

    for case, (copied, is_memory_bound) in QUANTIZATION.items():
        copy = spread(ours.wall[f"copy {copied}"])
        report(f"cpu {case}, 1 Mi elements", ">= 15x PyTorch", f"{faster(case):.1f}x", faster(case) >= 15, note(case),
               sides=sides(case) | {"a copy of as many bytes": copy})
        share = copy["median"] / statistics.median(ours.wall[case])
        report(f"cpu {case}, share of a copy's bandwidth", ">= 0.6" if is_memory_bound else "reported: arithmetic bounds it",
               f"{share:.2f}", share >= 0.6 or not is_memory_bound, "that copy above", share=share)
    for what, mean, least in (("forward", 10, 6), ("forward and backward", 8, 4)):
        ratios = []
        for scene in SCENES:
            case = f"ms_deform_attn {what}, {scene}"
            ratios.append(faster(case))
            report(f"cpu {case}", f">= {least}x PyTorch", f"{ratios[-1]:.1f}x", ratios[-1] >= least, note(case),
                   sides=sides(case))
        average = geometric_mean(ratios)
        report(f"cpu ms_deform_attn {what}, geometric mean", f">= {mean}x", f"{average:.1f}x", average >= mean,
               "of the three above")
