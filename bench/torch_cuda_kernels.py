#!/usr/bin/env python3
"""Times our `cuda` and what else computes the same on this GPU: a JSON object a line, for each case as it is done.

    torch_cuda_kernels.py LIBRARY

Needs packaging/oracle-requirements.txt. Its peers are what else is installed: triton, kernels (and the Hub), deformops.
Every result is compared with LibreYOLO's reference before it is timed. tests/bench goes the same way without a GPU, but
for what is in Gpu.
"""

import functools
import importlib.util
import json
import logging
import math
import os
import sys
import types

import cuda_kernels
import lyk_calls
import scenes
import torch
from cuda_kernels import ATOMIC, COPY, DEFORMOPS, DEFORMOPS_CUDA, HUB, OURS, REFERENCE, TRITON

# How far results may be from the reference's, ours and a peer's: difference(). A peer may find places and make sums in
# 16 bits, and may round a scale otherwise. So may CUDA's logarithm, where a power of two is the next float.
ATTENTION_TOLERANCES = {"float32": (1e-5, 1e-4), "float16": (1e-3, 3e-2)}
QUANTIZATION_TOLERANCES = {"fake_quant_mxfp4_weight": (1e-5, 1e-5), "fake_quant_mxfp4_dynamic": (1e-5, 1e-5)}
SAME_BITS = 0, 1e-5


class Gpu:
    """Time on the device: from the end of the launches before, however long Python takes for the next."""

    name, implementation = "cuda", "cuda"
    side, queries, types = cuda_kernels.SIDE, math.inf, ("float32", "float16")
    rounds, enough_s, graph_calls = 15, 5e-3, 20

    def describe(self):
        return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"

    def stream(self):
        return torch.cuda.current_stream().cuda_stream

    def workspace(self, size):
        return torch.empty(size, dtype=torch.uint8, device=self.name)

    def graph_of(self, call):
        """Small kernels would wait for Python, so that what is timed is a graph of them."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):  # loads, compiles, tunes
                call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(self.graph_calls):
                call()
        return graph.replay

    def seconds(self, run, times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3


# ---- sides: a function without arguments that computes a case, or a text that says why there is none ---------------------


def difference(actual, expected):
    """The sum of all differences beside that of what was expected."""
    actual, expected = actual.detach().double(), expected.detach().double()
    return float((actual - expected).abs().sum() / expected.abs().sum())


def refusal(side, expected, tolerance):
    """Why `side` is not timed; empty if it computes what it should."""
    if isinstance(side, str):
        return side
    try:
        worst = max(difference(*pair) for pair in zip(side(), expected, strict=True))
    except Exception as error:  # of other people's software: whatever it is, the row says it
        return f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return "" if worst <= tolerance else f"its results differ from {REFERENCE} by {worst:.1e} in all"


def timed(device, sides, graphed):
    """The seconds of one call by side, in turns; and which no graph takes of those that are to be `graphed`."""
    runs, alone = {}, []
    for name, side in sides.items():
        run, calls = side, 1
        if name in graphed:
            try:
                run, calls = device.graph_of(side), device.graph_calls
            except Exception:  # of other people's software
                alone.append(name)
        run()
        once = device.seconds(run, 3) / 3
        runs[name] = run, calls, max(1, math.ceil(device.enough_s / once))
    seconds = {name: [] for name in sides}
    for _ in range(device.rounds):
        for name, (run, calls, times) in runs.items():
            seconds[name].append(device.seconds(run, times) / (times * calls))
    return seconds, alone


def measure(device, case, sides, expected=(), tolerances=SAME_BITS):
    """What a line says: `case`, and what became of its sides, which should compute `expected`."""
    absent = {name: refusal(side, expected, tolerances[name != OURS]) for name, side in sides.items()}
    sides = {name: side for name, side in sides.items() if not absent[name]}
    graphed = [] if case["kind"] == "quantization" else list(sides)
    source, target = (torch.empty(device.side, device.side, device=device.name) for _ in range(2))
    sides[COPY] = lambda: target.copy_(source)
    seconds, alone = timed(device, sides, graphed)
    return case | {"copied_bytes": 2 * source.nbytes, "seconds": seconds, "alone": alone,
                   "absent": {name: reason for name, reason in absent.items() if reason}}


def missing(package):
    return f"the Python package {package} is not installed" if importlib.util.find_spec(package) is None \
        else "LibreYOLO has none here"


# ---- quantization --------------------------------------------------------------------------------------------------------


def quantization_calls(side, device):
    """By case: the slot's tensors but for the output, what LibreYOLO's function takes after them, and our parameters."""
    def numbers(*values):
        return torch.tensor(values, device=device)

    def payload(bits):
        return torch.randint(0, 256, (side, side * bits // 8), dtype=torch.uint8, device=device)

    x, amax = torch.randn(side, side, device=device), numbers(6.0)
    calls = {
        "fake_quant_int8_affine": ((x, numbers(-2.5), numbers(3.25)), (), None),
        "fake_quant_int8_per_channel": ((x, None), (), (0, 0)),
        "fake_quant_fp8 per tensor": ((x, numbers(0.01)), (), None),
        "fake_quant_fp8 per channel": ((x, torch.rand(side, 1, device=device) + 0.01), (), None),
        "fake_quant_nvfp4_weight": ((x, amax), (), None),
        "fake_quant_nvfp4_dynamic": ((x,), (), None),
        "fake_quant_mxfp4_weight": ((x,), (), None),
        "fake_quant_mxfp4_dynamic": ((x,), (), None),
        "unpack_nvfp4": ((payload(4), torch.rand(side, side // 16, device=device).to(torch.float8_e4m3fn), amax), (side,),
                         None),
    }
    for bits, size in ((4, 128), (2, 64)):
        calls[f"fake_quant_int_grouped {bits} bits"] = (x, None), (bits, size), (bits, size)
        scale = torch.rand(side, side // size, device=device)
        calls[f"unpack_int_grouped {bits} bits"] = (payload(bits), scale), (bits, size, side), (bits, size)
    return calls


def measure_quantization(device, library, found):
    elements = device.side * device.side
    for name, (tensors, more, parameters) in quantization_calls(device.side, device.name).items():
        slot = name.split()[0]
        output = torch.empty(device.side, device.side, device=device.name)
        launch = library.quantization(device, slot, (*tensors, output), parameters)
        arguments = [tensor for tensor in tensors if tensor is not None] + list(more)

        def side(implementation, arguments=arguments):
            return implementation and torch.no_grad()(lambda: (implementation(*arguments),))

        sides = {OURS: lambda launch=launch, output=output: (launch(), (output,))[1],
                 REFERENCE: side(found[slot]["reference"]),
                 TRITON: side(found[slot].get("triton")) or missing("triton")}
        case = {"kind": "quantization", "case": f"{name}, {elements >> 20} Mi elements",
                "bytes": cuda_kernels.QUANTIZATION[name] * elements}
        yield measure(device, case, sides, sides[REFERENCE](), QUANTIZATION_TOLERANCES.get(slot, SAME_BITS))


# ---- ms_deform_attn ------------------------------------------------------------------------------------------------------


def through_autograd(function):
    """Forward, and forward with backward, of what is a function of a scene and its value, locations and weights."""
    def forward(scene):
        with torch.no_grad():
            return function(scene, scene.value, scene.locations, scene.weights),

    def both(scene):
        leaves = [tensor.detach().requires_grad_(True) for tensor in (scene.value, scene.locations, scene.weights)]
        output = function(scene, *leaves)
        return output.detach(), *torch.autograd.grad(output, leaves, scene.grad_output)

    return forward, both


def triton_peer(implementation):
    def function(scene, value, locations, weights):
        output = implementation(value, scene.shapes, locations, weights)
        if output is None:
            raise RuntimeError("it takes no such call")
        return output

    return through_autograd(function) if implementation else missing("triton")


def hub_peer(implementation, heard):
    """The kernel alone: not what LibreYOLO does before it, which is to find level_start_index and to cast 16 bits."""
    if not implementation:
        return missing("kernels")
    from libreyolo.kernels.attention import ms_deform_attn
    kernel = ms_deform_attn._load_hub_kernel()
    if kernel is None:
        return "; ".join(["it cannot be loaded", *heard[-1:]])

    def forward(scene):
        return kernel.ms_deform_attn_forward(scene.value, scene.shapes, scene.starts, scene.locations, scene.weights, 1),

    def both(scene):
        return *forward(scene), *kernel.ms_deform_attn_backward(
            scene.value, scene.shapes, scene.starts, scene.locations, scene.weights, scene.grad_output, 1)

    return forward, both


def deformops_peers():
    try:
        from deformops.registry import Backend, msda
    except Exception as error:  # an older Python cannot even read it
        reason = f"{error}; it needs Python 3.12, and this is {'.'.join(map(str, sys.version_info[:2]))}"
        return {DEFORMOPS: reason, DEFORMOPS_CUDA: reason}

    def peer(backend):
        return through_autograd(
            lambda scene, value, *places: msda(value, scene.shapes, scene.starts, *places, backend=backend))

    return {DEFORMOPS: peer(None), DEFORMOPS_CUDA: peer(Backend.CUDA)}


def attention_peers(found, heard):
    """By name: a forward and a forward with backward, of a scene; or why there is none."""
    from libreyolo.models.deformable_detr.ms_deform_attn import ms_deform_attn_core_pytorch
    portable = through_autograd(lambda scene, value, *places: ms_deform_attn_core_pytorch(value, scene.pairs, *places))
    return {REFERENCE: portable,
            TRITON: triton_peer(found.get("triton")), HUB: hub_peer(found.get("hub"), heard), **deformops_peers()}


def attention_scene(device, sizes, queries, dtype):
    """A scene's tensors. No place is on the border between cells, where rounding would decide which gradient it has."""
    cells = [side * side for side in sizes.sides]
    place = (1, queries, sizes.heads, len(cells), sizes.points)
    sides = torch.tensor(sizes.sides, device=device.name).view(-1, 1, 1)
    corner = (torch.rand(*place, 2, device=device.name) * (sides + 1)).floor() - 1
    locations = (corner + 0.6 + 0.8 * torch.rand_like(corner)) / sides
    made = {"value": torch.randn(1, sum(cells), sizes.heads, sizes.channels, device=device.name),
            "locations": locations, "weights": torch.rand(*place, device=device.name),
            "grad_output": torch.randn(1, queries, sizes.heads * sizes.channels, device=device.name)}
    starts = [sum(cells[:level]) for level in range(len(cells))]
    pairs = [(side, side) for side in sizes.sides]
    return types.SimpleNamespace(**{name: tensor.to(dtype) for name, tensor in made.items()}, pairs=pairs, sides=sizes.sides,
                                 shapes=torch.tensor(pairs, device=device.name), starts=torch.tensor(starts, device=device.name))


def our_attention(device, library, scene):
    """Our forward and our backward, the latter by its flags; each returns what it has written."""
    inputs = {"value": scene.value, "spatial_shapes": scene.shapes, "level_start_index": scene.starts,
              "sampling_locations": scene.locations, "attention_weights": scene.weights}
    output = torch.empty_like(scene.grad_output)
    gradients = [torch.empty_like(tensor) for tensor in (scene.value, scene.locations, scene.weights)]
    names = ("grad_value", "grad_sampling_locations", "grad_attention_weights")
    to_write = inputs | {"grad_output": scene.grad_output} | dict(zip(names, gradients))

    def returning(launch, *results):
        return lambda: (launch(), results)[1]

    return (returning(library.attention(device, inputs | {"output": output}, scene.sides, lyk_calls.FOR_BACKWARD), output),
            {flags: returning(library.attention(device, to_write, scene.sides, lyk_calls.FOR_BACKWARD | flags), *gradients)
             for flags in (0, lyk_calls.DETERMINISTIC)})


def measure_attention(device, library, peers):
    for name in scenes.SCENES:
        for dtype in device.types:
            yield from measure_scene(device, library, peers, name, dtype)


def measure_scene(device, library, peers, name, dtype):
    sizes, tolerances = scenes.SCENES[name], ATTENTION_TOLERANCES[dtype]
    scene = attention_scene(device, sizes, min(sizes.queries, device.queries), getattr(torch, dtype))
    sized = cuda_kernels.attention_bytes(sizes, scene.value.element_size())
    exact = types.SimpleNamespace(**{key: item.float() if getattr(item, "is_floating_point", bool)() else item
                                     for key, item in vars(scene).items()})
    expected = peers[REFERENCE][1](exact)
    forward, backward = our_attention(device, library, scene)
    atomic, deterministic = backward[0], backward[lyk_calls.DETERMINISTIC]

    def case(kind, what):
        return {"kind": kind, "case": f"ms_deform_attn {what}, {name} {dtype}",
                "bytes": sized[what.removeprefix("deterministic ")]}

    def beside(way):
        return {side: peer if isinstance(peer, str) else functools.partial(peer[way], scene) for side, peer in peers.items()}

    yield measure(device, case("attention", "forward"), {OURS: forward} | beside(0), expected[:1], tolerances)
    yield measure(device, case("attention", "forward and backward"),
                  {OURS: lambda: forward() + atomic()} | beside(1), expected, tolerances)
    yield measure(device, case("deterministic", "deterministic backward"), {OURS: deterministic, ATOMIC: atomic},
                  expected[1:], tolerances)


# ---- all of it -----------------------------------------------------------------------------------------------------------


def why_no_gpu():
    try:
        torch.zeros(1, device="cuda")
    except (AssertionError, RuntimeError) as error:
        return str(error).strip().splitlines()[0]
    return None


def listen():
    """The texts of what LibreYOLO warns of from now on."""
    heard = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())
    logging.getLogger("libreyolo").addHandler(handler)
    return heard


def implementations():
    """LibreYOLO's own, by slot and name."""
    from libreyolo import kernels
    found = {slot: dict(kernels.iter_impls(slot))
             for slot in (*kernels.REFERENCE_OPS, *kernels.UNPACK_OPS, "ms_deform_attn")}
    os.environ["LIBREYOLO_KERNELS"] = "reference"  # the portable form must not call the others
    return found


def measurements(device, path):
    """Of everything, beginning with what the device is."""
    torch.manual_seed(1)
    library = lyk_calls.Library(path, device.implementation)
    heard, found = listen(), implementations()
    yield measure(device, {"kind": "device", "case": device.describe()}, {})
    yield from measure_quantization(device, library, found)
    yield from measure_attention(device, library, attention_peers(found["ms_deform_attn"], heard))


def main():
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever kernels and compilers of others print
    reason = why_no_gpu()
    measured = [{"kind": "skipped", "reason": reason}] if reason else measurements(Gpu(), sys.argv[1])
    for line in measured:
        print(json.dumps(line), file=lines, flush=True)


if __name__ == "__main__":
    main()
