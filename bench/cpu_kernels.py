"""The kernels of kernels/cpu beside LibreYOLO's own on PyTorch, and beside a copy of as many bytes.

Both sides are processes that time a case when asked for it (cpu_kernels_bench.cpp, torch_kernels.py), on as many threads
each, in turns. PyTorch's gets the inputs and results of the other one first, and answers only if it computes the same.

A quantization slot can be as fast as the copy only where its arithmetic is. How long that takes is measured as well, on data
that stay in the threads' second-level caches.
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

# What a case reads and writes per element, as the copy beside it does, and whether it shall reach SHARE of the copy's
# bandwidth: so shall what does a few multiplications per element. Finding a format's next number takes longer than a copy.
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
IN_THE_CACHE = ", in the cache"
SHARE = 0.6
ATTENTION = {"forward": (10, 6), "forward and backward": (8, 4)}  # times PyTorch: the mean of the scenes, and each


def attention_case(what, scene):
    return f"ms_deform_attn {what}, {scene}"


class Side:
    """A process that is asked for cases. `wall` and `processor` are lists of seconds by case."""

    def __init__(self, name, command, environment):
        self.name = name
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
            raise RuntimeError(f"{self.name} ended with exit code {self.process.wait()}, asked for {case}")
        wall, processor = map(float, answer.split())
        self.wall.setdefault(case, []).append(wall)
        self.processor.setdefault(case, []).append(processor)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def measure(binary, threads, rounds):
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    both = [*QUANTIZATION, *(attention_case(what, scene) for what in ATTENTION for scene in SCENES)]
    copies = {f"copy {copied}" for copied, _ in QUANTIZATION.values()}
    only_ours = [*(case + IN_THE_CACHE for case in QUANTIZATION), *copies]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "--write", folder], check=True, env=environment)
        program = [TORCH_PYTHON, ROOT / "bench/torch_kernels.py", folder]
        with Side("our side", [binary], environment) as ours, Side("PyTorch's side", program, environment) as torch:
            for _ in range(rounds):
                for case in both:
                    torch.time(case)
                    ours.time(case)
                for case in only_ours:
                    ours.time(case)
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

    for case, (copied, is_memory_bound) in QUANTIZATION.items():
        copy = spread(ours.wall[f"copy {copied}"])
        report(f"cpu {case}, 1 Mi elements", ">= 15x PyTorch", f"{faster(case):.1f}x", faster(case) >= 15, note(case),
               sides=sides(case) | {"a copy of as many bytes": copy})
        share = copy["median"] / statistics.median(ours.wall[case])
        arithmetic = statistics.median(ours.wall[case + IN_THE_CACHE]) / copy["median"]
        report(f"cpu {case}, share of a copy's bandwidth", f">= {SHARE}" if is_memory_bound else "reported", f"{share:.2f}",
               share >= SHARE or not is_memory_bound, f"that copy above; on data in the cache it takes {arithmetic:.2f} of its time",
               share=share)
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
