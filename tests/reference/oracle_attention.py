"""Cases of ms_deform_attn, with the answer of LibreYOLO's portable form, which is built on grid_sample.

The two round differently, so that answers are compared within a tolerance, and they differ by design where
kernels/reference/ms_deform_attn.hpp says so. Those places are generated too: the portable form is then
asked for what the kernel is to give, or the element is left out of the comparison and counted.
"""

from typing import NamedTuple

import numpy as np
from libreyolo.models.deformable_detr.ms_deform_attn import ms_deform_attn_core_pytorch

from oracle_libreyolo import to_numpy, torch

SLOT = "ms_deform_attn"
# Relative to the larger of 1 and the expected value. fp32 as LibreYOLO's own tests have it for the
# compiled kernel: 1e-5 beside 1e-4 of the value forward, 1e-4 beside 1e-3 in gradients.
TOLERANCES = {np.float64: ((1e-11, 1e-11), (1e-10, 1e-10)),
              np.float32: ((1e-5, 1e-4), (1e-4, 1e-3))}
_FAR_OUTSIDE = -10.0
_NEAR_A_KINK = 1e-3


class Attention(NamedTuple):
    slot: str
    numbers: list
    arrays: list
    expected: list
    compared: list  # which elements of each expected array


def _locations(rng, samples, shapes, scalar):
    """x and y of each sample: around the level, on the centres of cells, on its edges, and far out."""
    locations = rng.uniform(-0.3, 1.3, (*samples, 2))
    sizes = np.array(shapes, dtype=np.float64)[:, None, ::-1]  # width before height
    choice = rng.random((*samples, 1))
    cells = np.floor(rng.uniform(-1, 1.2, (*samples, 2)) * sizes)
    locations = np.where(choice < 0.1, (cells + 0.5) / sizes, locations)
    locations = np.where((choice > 0.1) & (choice < 0.13), rng.choice([0.0, 1.0, 0.5]), locations)
    locations = np.where((choice > 0.13) & (choice < 0.16), 1e30, locations)
    if rng.random() < 0.3:
        odd = rng.choice([np.nan, np.inf, -np.inf], (*samples, 2))
        locations = np.where(rng.random((*samples, 2)) < 0.2, odd, locations)
    return locations.astype(scalar)


def _counts(locations, shapes):
    """Which samples the kernel takes into account: none that is a whole cell outside, or not finite. And
    which coordinates are so near to the centre of a cell that the gradient may be that of either side."""
    sizes = np.array(shapes, dtype=np.float64)[:, None, ::-1]
    with np.errstate(all="ignore"):
        pixels = locations.astype(np.float64) * sizes - 0.5
        inside = (pixels > -1) & (pixels < sizes)
        near_kink = np.abs(pixels - np.round(pixels)) < _NEAR_A_KINK
    return inside.all(-1), near_kink


def _portable(value, shapes, locations, weights, grad_output):
    leaves = [torch.from_numpy(array).requires_grad_(True) for array in (value, locations, weights)]
    output = ms_deform_attn_core_pytorch(leaves[0], shapes, leaves[1], leaves[2])
    output.backward(torch.from_numpy(grad_output))
    return [to_numpy(output), *[to_numpy(leaf.grad) for leaf in leaves]]


def make(rng, scalar):
    batch, heads, queries = (int(n) for n in rng.integers(1, 3, 3))
    channels, points = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    shapes = [tuple(int(n) for n in rng.integers(1, 7, 2)) for _ in range(rng.integers(1, 4))]
    cells, levels = sum(height * width for height, width in shapes), len(shapes)
    samples = (batch, queries, heads, levels, points)
    value = rng.standard_normal((batch, cells, heads, channels)).astype(scalar)
    locations = _locations(rng, samples, shapes, scalar)
    weights = rng.standard_normal(samples).astype(scalar)
    grad_output = rng.standard_normal((batch, queries, heads * channels)).astype(scalar)
    counts, near_kink = _counts(locations, shapes)
    on_border = near_kink.any(-1) & np.isfinite(locations).all(-1)
    # What does not count may have any location and any weight; the portable form must not see them.
    shown_locations = np.where(counts[..., None] | on_border[..., None], locations,
                               scalar(_FAR_OUTSIDE)).astype(scalar)
    if rng.random() < 0.3:
        odd = rng.choice(np.array([np.nan, np.inf], dtype=scalar), samples)
        weights = np.where(counts | on_border, weights, odd)
    shown_weights = np.where(np.isfinite(weights), weights, scalar(0)).astype(scalar)
    answer = _portable(value, shapes, shown_locations, shown_weights, grad_output)
    strides = [cells * heads * channels, heads * channels, channels, 1]
    if rng.random() < 0.5:  # as LW-DETR hands value over: cells are the innermost axis of the memory
        strides = [cells * heads * channels, 1, channels * cells, cells]
        value, answer[1] = (np.ascontiguousarray(array.transpose(0, 2, 3, 1))
                            for array in (value, answer[1]))
    compared = [np.ones(array.shape, dtype=bool) for array in answer]
    compared[2] = np.broadcast_to(~on_border[..., None], locations.shape)
    numbers = [int(scalar is np.float64), batch, cells, heads, channels, queries, levels, points, *strides,
               *[size for shape in shapes for size in shape]]
    return Attention(SLOT, numbers, [value, locations, weights, grad_output], answer, compared)


def faults(case, actual):
    """How many elements of the answer are outside of the tolerance, and how many were not compared."""
    scalar = case.arrays[0].dtype.type
    wrong = left_out = 0
    for index, (expected, compared) in enumerate(zip(case.expected, case.compared)):
        absolute, relative = TOLERANCES[scalar][index > 0]
        got = actual[index].view(scalar).reshape(expected.shape)
        is_near = np.abs(got - expected) <= absolute + relative * np.abs(expected)
        wrong += int((compared & ~is_near).sum())
        left_out += int((~compared).sum())
    return wrong, left_out
