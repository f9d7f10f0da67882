#!/usr/bin/env python3
"""Times LibreYOLO's own implementations on PyTorch, one case per line of standard input.

Speaks as bench/cpu_kernels_bench does and knows the same cases: prints the seconds of one call, by the clock on the
wall and in processor time, as a mean of some 50 ms. Needs packaging/oracle-requirements.txt.
"""

import os
import sys
import time

os.environ["LIBREYOLO_KERNELS"] = "reference"

import torch  # noqa: E402
from libreyolo.models.deformable_detr.ms_deform_attn import ms_deform_attn_core_pytorch  # noqa: E402
from libreyolo.quant import fake_quant, packing  # noqa: E402

SIDE = 1024
ENOUGH_S = 0.05


def quantization():
    x = torch.randn(SIDE, SIDE, generator=torch.Generator().manual_seed(1))
    bound = torch.tensor([-2.5]), torch.tensor([3.25])
    one, rows, amax = torch.tensor([0.01]), torch.full((SIDE, 1), 0.01), torch.tensor([4.0])
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
        payload = torch.randint(0, 256, (SIDE, SIDE * bits // 8), dtype=torch.uint8)
        scale = torch.full((SIDE, SIDE // size), 0.1)
        cases[f"fake_quant_int_grouped {bits} bits"] = lambda b=bits, s=size: fake_quant.fake_quant_int_grouped(x, b, s)
        cases[f"unpack_int_grouped {bits} bits"] = (
            lambda b=bits, s=size, p=payload, g=scale: packing.unpack_int_grouped_weight(p, g, b, s, SIDE))
    payload = torch.randint(0, 256, (SIDE, SIDE // 2), dtype=torch.uint8)
    block_scale = torch.ones(SIDE, SIDE // 16).to(torch.float8_e4m3fn)
    cases["unpack_nvfp4"] = lambda: packing.unpack_nvfp4_weight(payload, block_scale, amax, SIDE)
    return {name: torch.no_grad()(call) for name, call in cases.items()}


def attention():
    cases = {}
    for name, queries, heads, channels, sides, points in (("encoder", 8400, 8, 32, (80, 40, 20), 4),
                                                          ("decoder", 300, 8, 32, (80, 40, 20), 4),
                                                          ("RF-DETR", 300, 16, 16, (36,), 2)):
        shapes = torch.tensor([(side, side) for side in sides])
        value = torch.randn(1, sum(side * side for side in sides), heads, channels)
        locations = torch.rand(1, queries, heads, len(sides), points, 2)
        weights = torch.rand(1, queries, heads, len(sides), points)
        grad_output = torch.randn(1, queries, heads * channels)

        def forward(arguments=(value, shapes, locations, weights)):
            with torch.no_grad():
                ms_deform_attn_core_pytorch(*arguments)

        def both(value=value, shapes=shapes, locations=locations, weights=weights, grad_output=grad_output):
            leaves = [tensor.detach().requires_grad_(True) for tensor in (value, locations, weights)]
            ms_deform_attn_core_pytorch(leaves[0], shapes, leaves[1], leaves[2]).backward(grad_output)

        cases[f"ms_deform_attn forward, {name}"] = forward
        cases[f"ms_deform_attn forward and backward, {name}"] = both
    return cases


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
    cases = quantization() | attention()
    for line in sys.stdin:
        print("{:.9f} {:.9f}".format(*seconds_of(cases[line.rstrip("\n")])), flush=True)


if __name__ == "__main__":
    main()
