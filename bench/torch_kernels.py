#!/usr/bin/env python3
"""Times LibreYOLO's own implementations on PyTorch, one case per line of standard input.

    torch_kernels.py FOLDER

Speaks as bench/cpu_kernels_bench does and knows the same cases: prints the seconds of one call, by the clock on the
wall and in processor time, as a mean of some 50 ms. Its inputs are those that the other one has written to FOLDER
(--write), and before anything is timed its results are compared with that one's: where they differ it ends with an error.
Needs packaging/oracle-requirements.txt.
"""

import math
import os
import pathlib
import sys
import time

os.environ["LIBREYOLO_KERNELS"] = "reference"

import scenes  # noqa: E402
import torch  # noqa: E402
from libreyolo.models.deformable_detr.ms_deform_attn import ms_deform_attn_core_pytorch  # noqa: E402
from libreyolo.quant import fake_quant, packing  # noqa: E402

SIDE = 1024
ENOUGH_S = 0.05
# All differences beside the sum of what is compared; quantization has the same bits. grid_sample finds its places and adds
# in another order.
ATTENTION_TOLERANCE = 1e-5


class Folder:
    """What bench/cpu_kernels_bench has written."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read(self, name, *shape, dtype=torch.float32):
        """The first numbers of a file, as many as the shape has; without one, all."""
        numbers = torch.frombuffer(bytearray((self.path / name).read_bytes()), dtype=dtype)
        return numbers[:math.prod(shape)].reshape(shape) if shape else numbers


def quantization(folder):
    x, amax = folder.read("x", SIDE, SIDE), torch.tensor([4.0])
    bound = torch.tensor([-2.5]), torch.tensor([3.25])
    one, rows = folder.read("one_scale"), folder.read("row_scales", SIDE, 1)
    cases = {
        "fake_quant_int8_affine": lambda: fake_quant.fake_quant_int8_affine(x, *bound),
        "fake_quant_int8_per_channel": lambda: fake_quant.fake_quant_int8_per_channel(x),
        "fake_quant_fp8 per tensor": lambda: fake_quant.fake_quant_fp8(x, one),
        "fake_quant_fp8 per channel": lambda: fake_quant.fake_quant_fp8(x, rows),
        "fake_quant_nvfp4_weight": lambda: fake_quant.fake_quant_nvfp4_weight(x, amax),
        "fake_quant_nvfp4_dynamic": lambda: fake_quant.fake_quant_nvfp4_dynamic(x),
        "fake_quant_mxfp4": lambda: fake_quant.fake_quant_mxfp4_dynamic(x),
    }
    for bits, size in ((4, 128), (2, 64)):
        payload = folder.read("payload", SIDE, SIDE * bits // 8, dtype=torch.uint8)
        scale = folder.read("group_scales", SIDE, SIDE // size)
        cases[f"fake_quant_int_grouped {bits} bits"] = lambda b=bits, s=size: fake_quant.fake_quant_int_grouped(x, b, s)
        cases[f"unpack_int_grouped {bits} bits"] = (
            lambda b=bits, s=size, p=payload, g=scale: packing.unpack_int_grouped_weight(p, g, b, s, SIDE))
    payload = folder.read("payload", SIDE, SIDE // 2, dtype=torch.uint8)
    block_scale = folder.read("block_scales", SIDE, SIDE // 16, dtype=torch.uint8).view(torch.float8_e4m3fn)
    cases["unpack_nvfp4"] = lambda: packing.unpack_nvfp4_weight(payload, block_scale, amax, SIDE)
    return {name: torch.no_grad()(call) for name, call in cases.items()}


def attention(folder):
    cases = {}
    for name, scene in scenes.SCENES.items():
        shapes = torch.tensor([(side, side) for side in scene.sides])
        cells, levels = sum(side * side for side in scene.sides), len(scene.sides)
        value = folder.read(f"{name} value", 1, cells, scene.heads, scene.channels)
        locations = folder.read(f"{name} locations", 1, scene.queries, scene.heads, levels, scene.points, 2)
        weights = folder.read(f"{name} weights", 1, scene.queries, scene.heads, levels, scene.points)
        grad_output = folder.read(f"{name} grad_output", 1, scene.queries, scene.heads * scene.channels)

        def forward(arguments=(value, shapes, locations, weights)):
            with torch.no_grad():
                return ms_deform_attn_core_pytorch(*arguments)

        def both(value=value, shapes=shapes, locations=locations, weights=weights, grad_output=grad_output):
            leaves = [tensor.detach().requires_grad_(True) for tensor in (value, locations, weights)]
            output = ms_deform_attn_core_pytorch(leaves[0], shapes, leaves[1], leaves[2])
            output.backward(grad_output)
            return output.detach(), *(leaf.grad for leaf in leaves)

        cases[f"ms_deform_attn forward, {name}"] = forward
        cases[f"ms_deform_attn forward and backward, {name}"] = both
    return cases


def difference(case, ours, theirs):
    """What is not to be told from a mistake; empty: nothing."""
    if not case.startswith("ms_deform_attn"):
        differs = ours.view(torch.int32) != theirs.contiguous().view(torch.int32)  # 0 is not -0
        count = int((differs & ~(ours.isnan() & theirs.isnan())).sum())
        return f"{count} of {ours.numel()} numbers differ" if count else ""
    ours, theirs = ours.double(), theirs.double()
    beside = float((ours - theirs).abs().sum() / theirs.abs().sum())
    return "" if beside <= ATTENTION_TOLERANCE else f"differs by {beside:.1e} in all"


def differences(cases, folder):
    for case, call in cases.items():
        results = call()
        for number, theirs in enumerate(results if isinstance(results, tuple) else (results,)):
            ours = folder.read(f"{case} {number}", *theirs.shape)
            if text := difference(case, ours, theirs):
                yield f"{case}: result {number} {text}"


def seconds_of(call):
    call()
    wall, processor = time.perf_counter(), time.process_time()
    calls = 0
    while True:
        call()
        calls += 1
        elapsed = time.perf_counter() - wall
        if elapsed >= ENOUGH_S:
            return elapsed / calls, (time.process_time() - processor) / calls


def main():
    folder = Folder(sys.argv[1])
    cases = quantization(folder) | attention(folder)
    if wrong := list(differences(cases, folder)):
        sys.exit("\n".join(["cpu_kernels_bench computes something else than PyTorch", *wrong]))
    for line in sys.stdin:
        print("{:.9f} {:.9f}".format(*seconds_of(cases[line.rstrip("\n")])), flush=True)


if __name__ == "__main__":
    main()
