"""libreyolo_kernels.so.1 through its C interface (client/lyk.h), for what describes itself as PyTorch's tensors do.

`device` is what the calls run on: stream() is its current stream, workspace(bytes) a tensor of that many bytes.
"""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

FOR_BACKWARD, DETERMINISTIC = 1, 2  # flags: LYK_NEEDS_GRADIENT, LYK_DETERMINISTIC

DEVICES = {"cpu": 1, "cuda": 2}
DTYPES = {  # DLPack's code, and bits
    "torch.float32": (2, 32), "torch.float16": (2, 16), "torch.bfloat16": (4, 16), "torch.float8_e4m3fn": (10, 8),
    "torch.int64": (0, 64), "torch.uint8": (1, 8)}


class Tensor(ctypes.Structure):
    """lyk_tensor; what its device and its dtype consist of lies in it as here."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Arguments(ctypes.Structure):
    """lyk_arguments."""
    _fields_ = [("size", c_uint32), ("operation", c_uint32), ("flags", c_uint32), ("tensor_count", c_uint32),
                ("tensors", POINTER(POINTER(Tensor))), ("parameters", c_void_p), ("stream", c_void_p),
                ("workspace", c_void_p), ("workspace_bytes", c_uint64)]


class Parameters(ctypes.Structure):
    """Those of every quantization slot that has any: `number` is the bits or reserved, `length` a group's or an axis."""
    _fields_ = [("size", c_uint32), ("number", c_uint32), ("length", c_int64)]


class AttentionCall(ctypes.Structure):
    """lyk_ms_deform_attn_call."""
    _fields_ = [("size", c_uint32), ("flags", c_uint32),
                *((name, POINTER(Tensor)) for name in ("value", "spatial_shapes", "level_start_index",
                                                       "sampling_locations", "attention_weights")),
                ("host_spatial_shapes", POINTER(c_int64)),
                *((name, POINTER(Tensor)) for name in ("output", "grad_output", "grad_value",
                                                       "grad_sampling_locations", "grad_attention_weights")),
                ("stream", c_void_p), ("workspace", c_void_p), ("workspace_bytes", c_uint64)]


def numbers(values):
    return (c_int64 * len(values))(*values)


def described(tensor):
    """A pointer to the lyk_tensor of a tensor; of NULL for None."""
    if tensor is None:
        return POINTER(Tensor)()
    code, bits = DTYPES[str(tensor.dtype)]
    return ctypes.pointer(Tensor(tensor.data_ptr(), DEVICES[tensor.device.type], tensor.device.index or 0, len(tensor.shape),
                                 code, bits, 1, numbers(tensor.shape), numbers(tensor.stride()), 0))


class Library:
    """Makes functions that launch one call each and raise RuntimeError where the library does not take it."""

    def __init__(self, path, implementation):
        """Calls reach `implementation` alone, whatever else the library has."""
        self.c = ctypes.CDLL(str(path))
        self.c.lyk_error_message.restype = self.c.lyk_status_name.restype = c_char_p
        os.environ["LIBREYOLO_KERNELS"] = implementation
        self.require(self.c.lyk_reload_environment())
        del os.environ["LIBREYOLO_KERNELS"]  # LibreYOLO heeds it too

    def require(self, status):
        if status:
            raise RuntimeError(f"{self.c.lyk_status_name(status).decode()}: {self.c.lyk_error_message(None).decode()}")

    def quantization(self, device, slot, tensors, parameters=None):
        """`tensors` in the slot's order, the output last, None for what is left out; `parameters` as Parameters has them."""
        slot = slot.encode()
        parameters = parameters and Parameters(ctypes.sizeof(Parameters), *parameters)
        pointers = (POINTER(Tensor) * len(tensors))(*map(described, tensors))
        arguments = Arguments(ctypes.sizeof(Arguments), 0, 0, len(tensors), pointers,
                              parameters and ctypes.addressof(parameters))
        bytes_needed = c_uint64()
        self.require(self.c.lyk_quantization_workspace_bytes(slot, ctypes.byref(arguments), ctypes.byref(bytes_needed)))
        return self._launching(device, arguments, bytes_needed.value, lambda: self.c.lyk_call(slot, ctypes.byref(arguments)),
                               (tensors, parameters))

    def attention(self, device, tensors, sides, flags):
        """`tensors` by the names that AttentionCall has for them; with a grad_output it is a backward."""
        call = AttentionCall(size=ctypes.sizeof(AttentionCall), flags=flags,
                             host_spatial_shapes=numbers([length for side in sides for length in (side, side)]),
                             **{name: described(tensor) for name, tensor in tensors.items()})
        bytes_needed = c_uint64()
        self.require(self.c.lyk_ms_deform_attn_workspace_bytes(ctypes.byref(call), ctypes.byref(bytes_needed)))
        run = self.c.lyk_ms_deform_attn_backward if "grad_output" in tensors else self.c.lyk_ms_deform_attn_forward
        return self._launching(device, call, bytes_needed.value, lambda: run(ctypes.byref(call)), tensors)

    def _launching(self, device, call, workspace_bytes, run, kept):
        workspace = device.workspace(workspace_bytes) if workspace_bytes else None
        call.workspace, call.workspace_bytes = workspace and workspace.data_ptr(), workspace_bytes

        def launch():
            call.stream = device.stream()
            self.require(run())

        launch.kept = kept, workspace  # the call has their addresses alone
        return launch
