"""LibreYOLO itself, as it computes on a CPU, and the same code under the rules by which a GPU differs.

The rules of a GPU are not run on one: the real functions run with four of their parts replaced by
models of what PyTorch and LibreYOLO's Triton kernels do there. docs/kernels.md says from where that is
known.
"""

import contextlib
import os
from unittest import mock

os.environ["LIBREYOLO_KERNELS"] = "reference"  # nobody else's kernels, ours least of all

import numpy as np
import torch
from libreyolo.quant import fake_quant, packing

torch.set_num_threads(1)  # cases are small

CPU, CUDA = 0, 1


def to_numpy(tensor):
    return np.ascontiguousarray(tensor.detach().numpy())


def with_gradient(function, x, grad_output, *arguments):
    """function(x, *arguments) and what reaches x of grad_output. Both are tensors."""
    leaf = x.detach().requires_grad_(True)
    output = function(leaf, *arguments)
    output.backward(grad_output)
    return output.detach(), leaf.grad


def _cuda_true_divide(tensor, other, divide=torch.Tensor.__truediv__):
    """PyTorch on CUDA multiplies by the reciprocal of a number, rounded to fp32."""
    if isinstance(other, (int, float)):
        return tensor * float(np.float32(1) / np.float32(other))
    return divide(tensor, other)


class _CudaPerChannel(torch.autograd.Function):
    """fake_quantize_per_channel_affine on CUDA: what overflows saturates, only NaN has the lowest code."""

    @staticmethod
    def forward(context, weight, scale, axis):
        shape = [1] * weight.dim()
        shape[axis] = -1
        scale = scale.reshape(shape)
        code = torch.round(weight * (1.0 / scale).float())
        context.save_for_backward((code >= -128) & (code <= 127))
        clipped = torch.where(code.isnan(), -128.0, code.clamp(-128, 127)) + 0.0
        return clipped * scale

    @staticmethod
    def backward(context, grad_output):
        (mask,) = context.saved_tensors
        return grad_output * mask, None, None


def _cuda_per_channel(weight, scale, _zero_point, axis, _lowest, _highest):
    return _CudaPerChannel.apply(weight, scale, axis)


def _cuda_per_tensor(x, scale, zero_point, lowest, highest, quantise=torch.fake_quantize_per_tensor_affine):
    """fake_quantize_per_tensor_affine where NaN becomes an integer as on CUDA: 0. x86 has made the lowest of it,
    which no other zero point is."""
    return quantise(x, scale, torch.where(zero_point < lowest, 0, zero_point), lowest, highest)


def _triton_e8m0_scale(amax):
    """The power of two from the exponent field, as LibreYOLO's Triton kernels read it."""
    clamped = amax.clamp(min=1e-30)
    field = (clamped.view(torch.int32) >> 23) & 0xFF
    scale = torch.exp2((field - 127 - 2).clamp(-127, 127).float())
    return torch.where(clamped.isnan(), clamped, scale)


@contextlib.contextmanager
def rules(device):
    """LibreYOLO computes by the rules of `device` inside."""
    if device == CPU:
        yield
        return
    with mock.patch.object(torch.Tensor, "__truediv__", _cuda_true_divide), \
            mock.patch.object(torch, "fake_quantize_per_channel_affine", _cuda_per_channel), \
            mock.patch.object(torch, "fake_quantize_per_tensor_affine", _cuda_per_tensor), \
            mock.patch.object(fake_quant, "_e8m0_scale", _triton_e8m0_scale):
        yield


def versions():
    import libreyolo

    return (f"libreyolo {libreyolo.__version__}, torch {torch.__version__.split('+')[0]} on a CPU, "
            f"numpy {np.__version__}")


__all__ = ["CPU", "CUDA", "fake_quant", "packing", "rules", "to_numpy", "torch", "versions",
           "with_gradient"]
