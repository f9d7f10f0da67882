"""The ways of bench/torch_cuda_kernels.py without a GPU: devices on which all of it runs but events and graphs.

Needs PyTorch and LibreYOLO.
"""

import ctypes
import pathlib
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/reference")]

import lyk_calls  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)  # cases are small


class Processor:
    """A Gpu to all but the clock, for the implementation `cpu`."""

    name, implementation = "cpu", "cpu"
    side, queries, types = 512, 20, ("float32",)
    rounds, enough_s, graph_calls = 1, 0, 2

    def describe(self):
        return "rehearsal"

    def stream(self):
        return None

    def workspace(self, size):
        return torch.zeros(size, dtype=torch.uint8)

    def graph_of(self, call):
        return lambda: [call() for _ in range(self.graph_calls)]

    def seconds(self, run, times):
        begin = time.perf_counter()
        for _ in range(times):
            run()
        return max(time.perf_counter() - begin, 1e-9)


class StandIn(Processor):
    """The device of tests/fakes/softcuda, for `cuda`: what a call is handed lies there too, and comes back after it."""

    implementation = "cuda"
    side, queries, types = 128, 3, ("float32", "float16")
    graph_calls = 1

    def __init__(self, driver):
        self.driver = ctypes.CDLL(str(driver))
        self.placed = {}  # a tensor and its address there, by its address here
        context = ctypes.c_void_p()
        self.require(self.driver.cuInit(0))
        self.require(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.require(self.driver.cuCtxSetCurrent(context))

    def require(self, result):
        if result:
            raise RuntimeError(f"the stand-in driver answers {result}")

    def copy(self, function, to, source, size):
        self.require(function(ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size)))

    def place(self, tensor):
        if tensor.data_ptr() not in self.placed:
            address = ctypes.c_uint64()
            self.require(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(tensor.nbytes)))
            self.copy(self.driver.cuMemcpyHtoD_v2, address.value, tensor.data_ptr(), tensor.nbytes)
            self.placed[tensor.data_ptr()] = tensor, address.value
        return self.placed[tensor.data_ptr()][1]

    def workspace(self, size):
        address = self.place(torch.zeros(size, dtype=torch.uint8))
        return types.SimpleNamespace(data_ptr=lambda: address)

    def described(self, tensor, real=lyk_calls.described):
        """Instead of lyk_calls.described."""
        pointer = real(tensor)
        if tensor is not None:
            pointer.contents.data, pointer.contents.device_type = self.place(tensor), lyk_calls.DEVICES["cuda"]
        return pointer

    def library(self, *arguments, real=lyk_calls.Library):
        """Instead of lyk_calls.Library: what a launch has written comes back."""
        library = real(*arguments)
        launching = library._launching

        def fetching(*call):
            launch = launching(*call)

            def launch_and_fetch():
                launch()
                self.require(self.driver.cuStreamSynchronize(None))
                for tensor, address in self.placed.values():
                    self.copy(self.driver.cuMemcpyDtoH_v2, tensor.data_ptr(), address, tensor.nbytes)

            return launch_and_fetch

        library._launching = fetching
        return library
