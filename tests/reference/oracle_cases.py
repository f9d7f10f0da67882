"""Cases of the quantization slots, each with LibreYOLO's answer.

A maker draws one case from a generator and answers it by the rules of a device. The numbers and arrays
of a case are those of run_case.cpp. Arrays are in the order of their memory.
"""

from typing import NamedTuple

import numpy as np

from oracle_libreyolo import fake_quant, packing, to_numpy, torch, with_gradient
from oracle_values import (
    beside,
    floats,
    gradients,
    on_midpoints,
    rows_and_columns,
    scales,
    signed,
)

E2M1_MIDPOINTS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
# Between two neighbouring E4M3 values, of all exponents and of what is below them.
E4M3_MIDPOINTS = np.concatenate([(np.arange(8) + 0.5) * 2.0**-9]
                                + [(np.arange(8, 16) + 0.5) * 2.0**k for k in range(-9, 6)])[:-1]


class Case(NamedTuple):
    slot: str
    numbers: list
    arrays: list
    expected: list


def _answers(output, gradient):
    return [to_numpy(output), to_numpy(gradient)]


# ---- tensors with an axis of channels -------------------------------------------------------------------


class _Channels(NamedTuple):
    """A dense tensor of any order of axes: its memory, and how to see it as the caller does."""

    shape: tuple  # in memory
    order: tuple  # axis i of the caller is axis order[i] of the memory
    place: int  # of the channels, in memory

    def seen(self, memory):
        return torch.from_numpy(memory).permute(self.order)

    def memory(self, tensor):
        return to_numpy(tensor.permute(tuple(np.argsort(self.order))).contiguous())

    def along(self, per_channel):
        """Something per channel in the shape that goes with the memory."""
        shape = [1] * len(self.shape)
        shape[self.place] = -1
        return np.asarray(per_channel).reshape(shape)

    @property
    def axis(self):
        return self.order.index(self.place)

    @property
    def numbers(self):
        return [int(np.prod(self.shape[: self.place])), self.shape[self.place],
                int(np.prod(self.shape[self.place + 1 :]))]


def _channels(rng):
    rank = int(rng.integers(1, 5))
    shape = tuple(int(size) for size in rng.integers(1, 7, rank))
    order = tuple(range(rank)) if rng.random() < 0.5 else tuple(int(i) for i in rng.permutation(rank))
    return _Channels(shape, order, int(rng.integers(rank)))


def _but_the_greatest(weight, replacement):
    """`replacement`, but where the weight has its greatest magnitudes: those make the scale."""
    return np.where(np.abs(weight) == np.abs(weight).max(), weight, replacement).astype(np.float32)


def int8_per_channel(rng, device):
    tensor = _channels(rng)
    weight = floats(rng, tensor.shape)
    if rng.random() < 0.15:
        weight = on_midpoints(rng, tensor.shape, 127, np.arange(0.5, 127))
    made = fake_quant.int8_weight_qparams(tensor.seen(weight), tensor.axis)
    choice = rng.random()
    if choice < 0.4:
        scale = None
    elif choice < 0.7:
        scale = made * 0.75  # frozen before the weight grew
    else:
        scale = torch.from_numpy(scales(rng, made.shape))
    if rng.random() < 0.25:
        used = tensor.along(to_numpy(made if scale is None else scale))
        codes = signed(rng, np.arange(0.5, 126), tensor.shape)
        weight = _but_the_greatest(weight, beside(rng, codes * used))
    grad_output = gradients(rng, tensor.shape)
    output, gradient = with_gradient(fake_quant.fake_quant_int8_per_channel, tensor.seen(weight),
                                     tensor.seen(grad_output), tensor.axis, scale)
    given = np.empty(0, np.float32) if scale is None else to_numpy(scale)
    return Case("fake_quant_int8_per_channel", [*tensor.numbers, device, device],
                [weight, given, grad_output], [tensor.memory(output), tensor.memory(gradient)])


def fp8(rng, _device):
    tensor = _channels(rng)
    per_tensor = rng.random() < 0.3
    x = floats(rng, tensor.shape)
    count = 1 if per_tensor else tensor.shape[tensor.place]
    scale = scales(rng, (count,))
    if rng.random() < 0.3:  # what the greatest magnitude makes of it
        scale = np.full(count, np.abs(x).max() / np.float32(448), np.float32)
    if rng.random() < 0.3:
        codes = signed(rng, E4M3_MIDPOINTS, tensor.shape)
        x = beside(rng, codes * (scale if per_tensor else tensor.along(scale)))
    shape = [1] * len(tensor.shape)
    shape[tensor.axis] = count
    grad_output = gradients(rng, tensor.shape)
    output, gradient = with_gradient(
        fake_quant.fake_quant_fp8, tensor.seen(x), tensor.seen(grad_output),
        torch.from_numpy(scale).reshape([1] if per_tensor else shape))
    numbers = [1, 1, x.size] if per_tensor else tensor.numbers
    return Case("fake_quant_fp8", numbers, [x, scale, grad_output],
                [tensor.memory(output), tensor.memory(gradient)])


def int8_affine(rng, device):
    shape = tuple(int(size) for size in rng.integers(1, 9, int(rng.integers(0, 4))))
    x = floats(rng, shape)
    choice = rng.random()
    if choice < 0.3:
        lo, hi = x.min(), x.max()
    elif choice < 0.6:
        lo, hi = np.sort(rng.standard_normal(2) * 10.0 ** rng.uniform(-3, 3))
    elif choice < 0.75:  # a zero point, and codes, that are just decided one way or the other
        span = np.float32(2.0 ** rng.integers(-10, 10) * rng.choice([255, rng.uniform(1, 255)]))
        lo = beside(rng, -(rng.integers(0, 255) + 0.5) * (span / np.float32(255)))
        hi = lo + span
    else:
        lo, hi = floats(rng, (2,))
    bounds = np.array([lo, hi], dtype=np.float32).reshape(2)
    if rng.random() < 0.4:
        scale, _zero_point = fake_quant.int8_act_qparams(*torch.from_numpy(bounds))
        x = beside(rng, signed(rng, np.arange(0.5, 260), shape) * scale.numpy()).reshape(shape)
    grad_output = gradients(rng, shape)
    output, gradient = with_gradient(
        fake_quant.fake_quant_int8_affine, torch.from_numpy(x), torch.from_numpy(grad_output),
        torch.from_numpy(bounds[:1]), torch.from_numpy(bounds[1:]))
    return Case("fake_quant_int8_affine", [device, device], [x, bounds, grad_output],
                _answers(output, gradient))


# ---- tensors of rows ------------------------------------------------------------------------------------


def _group_scale(rng, rows, groups, of_groups):
    """A scale of rows x groups, of one row, of one group or of both, with its strides. `of_groups` gives
    the one that the weight itself would make."""
    full = scales(rng, (rows, groups)) if rng.random() < 0.5 else of_groups()
    shape = [(rows, groups), (rows, groups), (rows, 1), (1, groups), (1, 1)][rng.integers(5)]
    scale = np.ascontiguousarray(full[: shape[0], : shape[1]])
    return scale, [0 if shape[0] == 1 else shape[1], 0 if shape[1] == 1 else 1]


def int_grouped(rng, device):
    bits, size = [(4, 128), (2, 64), (4, 16), (2, 8), (3, 5), (8, 7), (4, 1)][rng.integers(7)]
    rows, columns = rows_and_columns(rng, size)
    weight = floats(rng, (rows, columns))
    if rng.random() < 0.15:
        greatest = 2 ** (bits - 1) - 1
        weight = on_midpoints(rng, (rows, columns), greatest, np.arange(0.5, greatest))
    tensor = torch.from_numpy(weight)
    scale, strides = np.empty(0, np.float32), [0, 0]
    if rng.random() < 0.6:
        scale, strides = _group_scale(
            rng, rows, -(-columns // size),
            lambda: to_numpy(fake_quant.int_group_qparams(tensor, bits, size) * 0.75))
    if rng.random() < 0.25:
        made = scale if scale.size else to_numpy(fake_quant.int_group_qparams(tensor, bits, size))
        used = np.broadcast_to(made, (rows, -(-columns // size))).repeat(size, axis=1)[:, :columns]
        codes = signed(rng, np.arange(0.5, 2 ** (bits - 1) - 1), (rows, columns))
        tensor = torch.from_numpy(_but_the_greatest(weight, beside(rng, codes * used)))
        weight = to_numpy(tensor)
    grad_output = gradients(rng, (rows, columns))
    output, gradient = with_gradient(
        fake_quant.fake_quant_int_grouped, tensor, torch.from_numpy(grad_output), bits, size,
        torch.from_numpy(scale) if scale.size else None)
    return Case("fake_quant_int_grouped", [rows, columns, bits, size, *strides, device],
                [weight, scale, grad_output], _answers(output, gradient))


def _row_tensor(rng, unit, greatest):
    """x and its shape as the caller sees it: the last axis is that of the blocks."""
    rows, columns = rows_and_columns(rng, unit)
    if rng.random() < 0.15:
        x = on_midpoints(rng, (rows, columns), greatest, E2M1_MIDPOINTS)
    else:
        x = floats(rng, (rows, columns))
    if rng.random() < 0.2:  # blocks of very different size, some of which underflow their scale
        x = (x * 2.0 ** rng.integers(-40, 1, (rows, 1))).astype(np.float32)
    shapes = [(rows, columns), (rows, 1, columns), (1, rows, columns)]
    shape = (columns,) if rows == 1 and rng.random() < 0.5 else shapes[rng.integers(3)]
    return x, shape


def _beside_nvfp4_decisions(rng, x, amax):
    """x with the greatest of each block, and all the others, on a decision of the format: that of the
    block's scale and those of its elements."""
    padded = np.pad(x, ((0, 0), (0, -x.shape[1] % 16)))
    blocks = padded.reshape(-1, 16)
    six = 6 * np.maximum(amax / np.float32(2688), np.float32(1e-12))
    blocks[:, 0] = beside(rng, rng.choice(E4M3_MIDPOINTS, len(blocks)) * six)
    blocks[:, 1:] = 0
    _, _, scale = packing._nvfp4_eff_scales(torch.from_numpy(padded), torch.from_numpy(amax))
    scale = to_numpy(scale).reshape(-1, 1)
    others = beside(rng, signed(rng, E2M1_MIDPOINTS, (len(blocks), 15)) * scale)
    blocks[:, 1:] = np.where(np.abs(others) <= np.abs(blocks[:, :1]), others, 0)
    return np.ascontiguousarray(padded[:, : x.shape[1]])


def nvfp4_weight(rng, device):
    with np.errstate(all="ignore"):
        weight, shape = _row_tensor(rng, 16, 6)
        choice = rng.random()
        amax = np.abs(weight).max()
        if choice < 0.3:
            amax = amax * np.float32(rng.uniform(0.2, 3))  # stale
        elif choice < 0.5:
            amax = floats(rng, (1,))[0]
        elif choice < 0.6:
            amax = np.float32(2688 * 2.0 ** rng.integers(-10, 10))
        amax = np.array([amax], dtype=np.float32)
        if rng.random() < 0.3:
            weight = _beside_nvfp4_decisions(rng, weight, amax)
    grad_output = gradients(rng, weight.shape)
    output, gradient = with_gradient(
        fake_quant.fake_quant_nvfp4_weight, torch.from_numpy(weight).reshape(shape),
        torch.from_numpy(grad_output).reshape(shape), torch.from_numpy(amax))
    return Case("fake_quant_nvfp4_weight", [*weight.shape, device], [weight, amax, grad_output],
                _answers(output, gradient))


def nvfp4_dynamic(rng, device):
    with np.errstate(all="ignore"):
        x, shape = _row_tensor(rng, 16, 6)
        if rng.random() < 0.3:
            x = _beside_nvfp4_decisions(rng, x, np.abs(x).max(keepdims=True)[0])
    grad_output = gradients(rng, x.shape)
    output, gradient = with_gradient(
        fake_quant.fake_quant_nvfp4_dynamic, torch.from_numpy(x).reshape(shape),
        torch.from_numpy(grad_output).reshape(shape))
    return Case("fake_quant_nvfp4_dynamic", [*x.shape, device], [x, grad_output],
                _answers(output, gradient))


def _mxfp4(slot):
    def make(rng, device):
        with np.errstate(all="ignore"):
            x, shape = _row_tensor(rng, 32, 6)
        grad_output = gradients(rng, x.shape)
        output, gradient = with_gradient(
            getattr(fake_quant, slot), torch.from_numpy(x).reshape(shape),
            torch.from_numpy(grad_output).reshape(shape))
        return Case(slot, [*x.shape, device], [x, grad_output], _answers(output, gradient))

    return make


def below_every_power_of_two(device):
    """200 floats below each power of two from 2^-100 to 2^127, each a block of its own: which exponent a
    block gets there is decided by the rounding of a logarithm."""
    powers = (2.0 ** np.arange(-100, 128)).astype(np.float32)
    bits = powers.view(np.int32)[:, None] - np.arange(200, dtype=np.int32)
    x = bits.reshape(-1, 1).view(np.float32)
    grad_output = np.ones_like(x)
    output, gradient = with_gradient(fake_quant.fake_quant_mxfp4_weight, torch.from_numpy(x),
                                     torch.from_numpy(grad_output))
    return Case("fake_quant_mxfp4_weight", [*x.shape, device], [x, grad_output],
                _answers(output, gradient))


# ---- unpack ---------------------------------------------------------------------------------------------


def unpack_int_grouped(rng, _device):
    bits, size = [(4, 128), (2, 64), (4, 16), (2, 8), (4, 2), (2, 4)][rng.integers(6)]
    rows, groups = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    held = groups * size
    wanted = int(rng.integers(1, held + 1)) if rng.random() < 0.9 else held + 3
    if rng.random() < 0.4:  # as LibreYOLO itself packs it
        packed, scale = packing.pack_int_grouped_weight(
            torch.from_numpy(floats(rng, (rows, held))), bits, size)
        payload, scale, strides = to_numpy(packed), to_numpy(scale), [groups, 1]
    else:
        payload = rng.integers(0, 256, (rows, held * bits // 8), dtype=np.uint8)
        scale, strides = _group_scale(rng, rows, groups, lambda: scales(rng, (rows, groups)))
    output = packing.unpack_int_grouped_weight(
        torch.from_numpy(payload), torch.from_numpy(scale), bits, size, wanted)
    return Case("unpack_int_grouped",
                [rows, payload.shape[1], min(wanted, held), bits, size, *strides],
                [payload, scale], [to_numpy(output)])


def unpack_nvfp4(rng, device):
    rows, blocks = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    columns = int(rng.integers(1, blocks * 16 + 1))
    payload = rng.integers(0, 256, (rows, blocks * 8), dtype=np.uint8)
    with np.errstate(all="ignore"):
        amax = np.abs(floats(rng, (1,)))
    choice = rng.random()
    if choice < 0.3:
        weight = torch.from_numpy(floats(rng, (rows, blocks * 16)))
        packed, scale = packing.pack_nvfp4_weight(weight, torch.from_numpy(amax))
        payload = to_numpy(packed)
    elif choice < 0.7:
        codes = rng.integers(0, 256, (rows, blocks), dtype=np.uint8)
        scale = torch.from_numpy(codes).view(torch.float8_e4m3fn)
    else:
        scale = torch.from_numpy(scales(rng, (rows, blocks)))
        if choice > 0.9:  # after model.half()
            scale = scale.half()
    output = packing.unpack_nvfp4_weight(torch.from_numpy(payload), scale, torch.from_numpy(amax),
                                         columns)
    is_fp32 = scale.dtype != torch.float8_e4m3fn
    given = to_numpy(scale.float()) if is_fp32 else to_numpy(scale.view(torch.uint8))
    return Case("unpack_nvfp4", [rows, blocks, columns, device, int(is_fp32)],
                [payload, given, amax], [to_numpy(output)])


MAKERS = {
    "fake_quant_int8_per_channel": int8_per_channel,
    "fake_quant_int8_affine": int8_affine,
    "fake_quant_fp8": fp8,
    "fake_quant_int_grouped": int_grouped,
    "fake_quant_nvfp4_weight": nvfp4_weight,
    "fake_quant_nvfp4_dynamic": nvfp4_dynamic,
    "fake_quant_mxfp4_weight": _mxfp4("fake_quant_mxfp4_weight"),
    "fake_quant_mxfp4_dynamic": _mxfp4("fake_quant_mxfp4_dynamic"),
    "unpack_int_grouped": unpack_int_grouped,
    "unpack_nvfp4": unpack_nvfp4,
}
# What a device decides: the rest has no mode, so that one device says it all.
WITH_MODES = [slot for slot in MAKERS if slot not in ("fake_quant_fp8", "unpack_int_grouped")]
