"""Our `cuda` beside LibreYOLO's reference and Triton kernels, the Hub's kernel and deformops, on a GPU.

torch_cuda_kernels.py measures in the process that has PyTorch. Here is what is measured, how many bytes each case has to
move, and what becomes of the measurements: rows.
"""

import json
import os
import statistics
import subprocess

from cpu_kernels import ROOT, TORCH_PYTHON
from rows import report, skip, spread

OURS, COPY, ATOMIC = "ours", "a copy", "the atomic form"
REFERENCE, TRITON, HUB = "LibreYOLO's reference", "LibreYOLO's Triton kernel", "the Hub's kernel"
DEFORMOPS, DEFORMOPS_CUDA = "deformops", "deformops' CUDA kernel"  # the first is what it chooses itself

SIDE = 8192  # of the matrices that are quantized: 64 Mi elements, which no cache holds
SHARE = 0.85  # of memory bandwidth, of every quantization slot
FASTER = {HUB: 1.5, DEFORMOPS: 1.0, DEFORMOPS_CUDA: 1.0}  # ms_deform_attn, at least
SLOWER = 1.5  # the deterministic backward beside the atomic one, at most

# Bytes that a slot has to move per element, with what it reads before what it writes: each number once, but for
# fake_quant_nvfp4_dynamic, where no block can begin before the greatest magnitude of the whole tensor is known.
# Scales of a channel or of the tensor are nothing beside that.
QUANTIZATION = {
    "fake_quant_int8_affine": 4 + 4,
    "fake_quant_int8_per_channel": 4 + 4,
    "fake_quant_fp8 per tensor": 4 + 4,
    "fake_quant_fp8 per channel": 4 + 4,
    "fake_quant_int_grouped 4 bits": 4 + 4,
    "fake_quant_int_grouped 2 bits": 4 + 4,
    "fake_quant_nvfp4_weight": 4 + 4,
    "fake_quant_nvfp4_dynamic": 4 + 4 + 4,
    "fake_quant_mxfp4_weight": 4 + 4,
    "fake_quant_mxfp4_dynamic": 4 + 4,
    "unpack_int_grouped 4 bits": 4 / 8 + 4 / 128 + 4,  # a scale for 128 columns
    "unpack_int_grouped 2 bits": 2 / 8 + 4 / 64 + 4,
    "unpack_nvfp4": 4 / 8 + 1 / 16 + 4,  # a scale for 16
}


def attention_bytes(scene, element_bytes):
    """What forward and backward have to move, by name: each tensor once, of value the cells that a point can touch."""
    samples = scene.queries * scene.points
    touched = sum(min(side * side, 4 * samples) for side in scene.sides) * scene.heads * scene.channels
    value = sum(side * side for side in scene.sides) * scene.heads * scene.channels
    output = scene.queries * scene.heads * scene.channels
    places = samples * len(scene.sides) * scene.heads * 3  # two numbers of a location and a weight
    forward = touched + places + output
    backward = forward + value + places  # grad_output instead of output, and three gradients
    return {"forward": forward * element_bytes, "backward": backward * element_bytes,
            "forward and backward": (forward + backward) * element_bytes}


def times_as_fast(seconds, side):
    """How many times as fast as `side` ours is."""
    return statistics.median(seconds[side]) / statistics.median(seconds[OURS])


def bandwidth(measured):
    return measured["copied_bytes"] / statistics.median(measured["seconds"][COPY])


def verdict(kind, seconds, share):
    """What is to be reached, what was, and whether that is enough."""
    if kind == "quantization":
        return f">= {SHARE} of memory bandwidth", f"{share:.2f}", share >= SHARE
    if kind == "deterministic":
        ratio = 1 / times_as_fast(seconds, ATOMIC)
        return f"<= {SLOWER}x {ATOMIC}", f"{ratio:.2f}x", ratio <= SLOWER
    judged = {side: times_as_fast(seconds, side) for side in FASTER if side in seconds}
    if not judged:
        return "reported", f"{share:.2f} of memory bandwidth", True
    return (", ".join(f">= {FASTER[side]}x {side}" for side in judged),
            ", ".join(f"{ratio:.2f}x {side}" for side, ratio in judged.items()),
            all(ratio >= FASTER[side] for side, ratio in judged.items()))


def report_case(measured):
    """The row of one line of torch_cuda_kernels.py."""
    name, seconds = f"cuda {measured['case']}", measured["seconds"]
    wrong = [f"{side}: {measured['absent'][side]}" for side in (OURS, ATOMIC) if side in measured["absent"]]
    if wrong:
        report(name, "the reference's results", "not timed", False, "; ".join(wrong))
        return
    share = measured["bytes"] / statistics.median(seconds[OURS]) / bandwidth(measured)
    reach, value, met = verdict(measured["kind"], seconds, share)
    notes = [f"{measured['bytes'] / 1e6:.4g} MB to move, {share:.2f} of a copy's bandwidth",
             *(f"{times_as_fast(seconds, side):.2f}x as fast as {side}" for side in seconds if side not in (OURS, COPY)),
             *(f"{side} launched one by one, as no graph takes it" for side in measured["alone"])]
    # What a ms_deform_attn of these sizes reads lies in the cache of a large GPU: memory is not its roof.
    report(name, reach, value, met, "; ".join(notes), share=share if measured["kind"] == "quantization" else None,
           sides={side: spread(times) for side, times in seconds.items() if side != COPY})


def report_absent(cases):
    """One row for each peer and reason why it is not in the rows above."""
    reasons = {}
    for measured in cases:
        for side, reason in measured["absent"].items():
            if side not in (OURS, ATOMIC):
                reasons.setdefault((side, reason), []).append(measured["case"])
    for (side, reason), missing in reasons.items():
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        skip(f"cuda beside {side}", f"{reason} ({missing[0]}{more})")


def report_rows(library):
    if not TORCH_PYTHON.exists():
        skip("cuda kernels on a GPU", "PyTorch is not there; run script/bootstrap oracle")
        return
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBREYOLO_")}
    command = [TORCH_PYTHON, ROOT / "bench/torch_cuda_kernels.py", library]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        report_lines(process.stdout)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def report_lines(lines):
    """The rows of what torch_cuda_kernels.py prints, as it comes."""
    cases = []
    for measured in map(json.loads, lines):
        match measured["kind"]:
            case "skipped":
                skip("cuda kernels on a GPU", f"no GPU ({measured['reason']})")
            case "device":
                report("cuda memory bandwidth", "reported", f"{bandwidth(measured) / 1e9:.0f} GB/s", True,
                       f"{measured['case']}; a copy of {measured['copied_bytes'] >> 21} MiB, read and written")
            case _:
                report_case(measured)
                cases.append(measured)
    report_absent(cases)
