"""The kernels of kernels/cpu beside LibreYOLO's own on PyTorch, and beside a copy of as many bytes.

Both sides are processes that time a case when asked for it (cpu_kernels_bench.cpp, torch_kernels.py), on as many threads
each, in turns. PyTorch's gets the inputs and results of the other one first, and answers only if it computes the same.

A quantization slot can be as fast as the copy only where its arithmetic is. How long that takes is measured on data that
stay in the threads' second-level caches, and the share of the copy's bandwidth that a slot reaches is judged by what that allows.
"""

import contextlib
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

from rows import report, skip, spread
from scenes import SCENES

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The Python of `script/bootstrap oracle`, where PyTorch is.
TORCH_PYTHON = pathlib.Path(os.environ.get("LYK_TORCH_PYTHON", ROOT / ".venv-oracle/bin/python"))

# What a case reads and writes per element, as the copy beside it does.
QUANTIZATION = {
    "fake_quant_int8_affine": "8 bytes",
    "fake_quant_int8_per_channel": "8 bytes",
    "fake_quant_fp8 per tensor": "8 bytes",
    "fake_quant_fp8 per channel": "8 bytes",
    "fake_quant_int_grouped 4 bits": "8 bytes",
    "fake_quant_int_grouped 2 bits": "8 bytes",
    "fake_quant_nvfp4_weight": "8 bytes",
    "fake_quant_nvfp4_dynamic": "8 bytes",
    "fake_quant_mxfp4": "8 bytes",
    "unpack_int_grouped 4 bits": "4.5 bytes",
    "unpack_int_grouped 2 bits": "4.25 bytes",
    "unpack_nvfp4": "4.5 bytes",
}
IN_THE_CACHE = ", in the cache"
SHARE = 0.6
ATTENTION = {"forward": (10, 6), "forward and backward": (8, 4)}  # times PyTorch: the mean of the scenes, and each


def attention_case(what, scene):
    return f"ms_deform_attn {what}, {scene}"


class Side:
    """A process that is asked for cases. `wall` and `processor` are lists of seconds by case."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.wall, self.processor = {}, {}

    def time(self, case):
        try:
            self.process.stdin.write(case + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError(f"{self.process.args[-1]} ended with exit code {self.process.wait()}, asked for {case}")
        wall, processor = map(float, answer.split())
        self.wall.setdefault(case, []).append(wall)
        self.processor.setdefault(case, []).append(processor)

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def measure(binary, threads, rounds):
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    both = [*QUANTIZATION, *(attention_case(what, scene) for what in ATTENTION for scene in SCENES)]
    only_ours = [case + IN_THE_CACHE for case in QUANTIZATION] + [f"copy {copied}" for copied in set(QUANTIZATION.values())]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "--write", folder], check=True, env=environment)
        ours, torch = Side([binary], environment), Side([TORCH_PYTHON, ROOT / "bench/torch_kernels.py", folder], environment)
        try:
            for _ in range(rounds):
                for case in both:
                    torch.time(case)
                    ours.time(case)
                for case in only_ours:
                    ours.time(case)
        finally:
            ours.close()
            torch.close()
    return ours, torch


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

    for case, copied in QUANTIZATION.items():
        copy = spread(ours.wall[f"copy {copied}"])
        report(f"cpu {case}, 1 Mi elements", ">= 15x PyTorch", f"{faster(case):.1f}x", faster(case) >= 15, note(case),
               sides=sides(case) | {"a copy of as many bytes": copy})
        share = copy["median"] / statistics.median(ours.wall[case])
        arithmetic = statistics.median(ours.wall[case + IN_THE_CACHE])
        allowed = min(1, copy["median"] / arithmetic)
        report(f"cpu {case}, share of a copy's bandwidth",
               f">= {SHARE}" if allowed == 1 else f">= {SHARE} of the {allowed:.2f} that its arithmetic allows", f"{share:.2f}",
               share >= SHARE * allowed,
               f"that copy above; on data in the cache it takes {arithmetic / copy['median']:.2f} of its time", share=share)
    for what, (mean, least) in ATTENTION.items():
        ratios = []
        for scene in SCENES:
            case = attention_case(what, scene)
            ratios.append(faster(case))
            report(f"cpu {case}", f">= {least}x PyTorch", f"{ratios[-1]:.1f}x", ratios[-1] >= least, note(case),
                   sides=sides(case))
        average = geometric_mean(ratios)
        report(f"cpu ms_deform_attn {what}, geometric mean", f">= {mean}x", f"{average:.1f}x", average >= mean,
               "of the three above")
