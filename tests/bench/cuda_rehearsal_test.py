#!/usr/bin/env python3
"""bench/torch_cuda_kernels.py goes its whole way where there is no GPU, and every result of ours is LibreYOLO's.

    cuda_rehearsal_test.py --library libreyolo_kernels.so.1 --driver libcuda.so.1

Runs in .venv-oracle (script/bootstrap oracle) or whatever $LYK_TORCH_PYTHON names. Exit code 77 (skipped) where that has no
PyTorch.
"""

import argparse
import importlib.util
import os
import pathlib
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))
from cpu_kernels import TORCH_PYTHON  # noqa: E402

if importlib.util.find_spec("libreyolo") is None:
    if "LYK_REHEARSAL" in os.environ or not TORCH_PYTHON.exists():
        print("skipped: libreyolo is not installed; script/bootstrap oracle does it")
        sys.exit(77)
    os.environ["LYK_REHEARSAL"] = "started again"
    os.execv(TORCH_PYTHON, [str(TORCH_PYTHON), *sys.argv])

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--library", required=True, type=pathlib.Path, help="with its fatbin beside it")
OPTIONS.add_argument("--driver", required=True, type=pathlib.Path, help="the stand-in")
SETTINGS, UNITTEST_WORDS = OPTIONS.parse_known_args()
os.environ["SOFTCUDA_PTX_PATH"] = str(SETTINGS.library.with_name("libreyolo_kernels.fatbin"))

from rehearsal import Processor, StandIn  # noqa: E402

import cuda_kernels  # noqa: E402
import lyk_calls  # noqa: E402
import scenes  # noqa: E402
import torch  # noqa: E402
import torch_cuda_kernels  # noqa: E402
from oracle_libreyolo import CUDA, rules  # noqa: E402

SMALL = {"small": scenes.Scene(3, 2, 32, 4, (8, 4)), "odd": scenes.Scene(2, 3, 5, 2, (3,))}


def sample_in_float32(value, grid, real=torch.nn.functional.grid_sample, **how):
    """PyTorch's own is wrong for 16 bits on a processor."""
    return real(value.float(), grid.float(), **how).to(value.dtype)


class Rehearsal(unittest.TestCase):
    def setUp(self):
        self.enterContext(mock.patch.dict(os.environ))
        for name in [name for name in os.environ if name.startswith("LIBREYOLO_")]:
            del os.environ[name]
        self.enterContext(mock.patch.object(scenes, "SCENES", SMALL))

    def require_all_measured(self, cases, types):
        """Of every slot and scene; each with times of ours, the reference and the copy."""
        device, *cases = cases
        self.assertEqual(device["kind"], "device")
        self.assertEqual([case["case"].split(",")[0] for case in cases if case["kind"] == "quantization"],
                         list(torch_cuda_kernels.quantization_calls(128, "cpu")))
        self.assertEqual(sum(case["kind"] != "quantization" for case in cases), 3 * len(SMALL) * len(types))
        for case in cases:
            beside = cuda_kernels.ATOMIC if case["kind"] == "deterministic" else cuda_kernels.REFERENCE
            self.assertEqual(list(case["seconds"]), [cuda_kernels.OURS, beside, cuda_kernels.COPY], case)
            self.assertEqual(case["alone"], [])

    def test_the_bench_runs_from_end_to_end_on_a_processor(self):
        cases = list(torch_cuda_kernels.measurements(Processor(), SETTINGS.library))
        self.require_all_measured(cases, Processor.types)
        absent = {peer for case in cases for peer in case["absent"]}
        self.assertTrue({cuda_kernels.TRITON, cuda_kernels.HUB} <= absent, absent)

    def test_the_kernels_of_the_gpu_take_every_call_and_have_the_references_results(self):
        device = StandIn(SETTINGS.driver)
        with mock.patch.object(lyk_calls, "described", device.described), \
                mock.patch.object(lyk_calls, "Library", device.library), \
                mock.patch.object(torch.nn.functional, "grid_sample", sample_in_float32), rules(CUDA):
            cases = list(torch_cuda_kernels.measurements(device, SETTINGS.library))
        self.require_all_measured(cases, device.types)

    def test_the_tensors_of_a_slot_are_as_large_as_its_bytes_say(self):
        side = 256
        for name, (tensors, _, _) in torch_cuda_kernels.quantization_calls(side, "cpu").items():
            with self.subTest(name):
                read = sum(tensor.nbytes for tensor in tensors if tensor is not None and tensor.numel() > side)
                again = tensors[0].nbytes if name == "fake_quant_nvfp4_dynamic" else 0
                self.assertEqual(cuda_kernels.QUANTIZATION[name] * side * side, read + again + 4 * side * side)

    def test_a_wrong_result_is_told_and_not_timed(self):
        right = torch.ones(8)
        wrong, nan = right.clone(), right.clone()
        wrong[3], nan[3] = 2.0, float("nan")
        sides = {cuda_kernels.OURS: lambda: (wrong,), cuda_kernels.TRITON: lambda: (nan,),
                 cuda_kernels.HUB: lambda: (right, right)}
        case = torch_cuda_kernels.measure(Processor(), {"kind": "quantization"}, sides, (right,))
        self.assertEqual(list(case["seconds"]), [cuda_kernels.COPY])
        self.assertIn("differ from LibreYOLO's reference by 1.2e-01", case["absent"][cuda_kernels.OURS])
        self.assertIn("by nan", case["absent"][cuda_kernels.TRITON])
        self.assertIn("ValueError", case["absent"][cuda_kernels.HUB])

    def test_a_side_that_no_graph_takes_is_launched_one_by_one(self):
        device, result = Processor(), (torch.ones(8),)
        with mock.patch.object(device, "graph_of", side_effect=RuntimeError("operation not permitted")):
            case = torch_cuda_kernels.measure(device, {"kind": "attention"}, {cuda_kernels.OURS: lambda: result}, result)
        self.assertEqual(case["alone"], [cuda_kernels.OURS])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
