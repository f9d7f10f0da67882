"""Raising a pin takes a parity run: the kernel of the new pin computes what the reference does, on the stand-in driver,
or the pin stays as it was. The repository has an honest kernel on the branch v1 and one with a wrong corner on v2."""

import argparse
import hashlib
import os
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from world import ABI, REPO, SKIPPED, SLOT, Programs, RunningHub, World, make_repository, pin_text

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--cli", required=True)
OPTIONS.add_argument("--daemon", required=True)
OPTIONS.add_argument("--driver", required=True, type=Path, help="the stand-in libcuda.so.1")
OPTIONS.add_argument("--compiled", required=True, help="where the compiled kernels are kept between runs")
SETTINGS, UNITTEST_WORDS = OPTIONS.parse_known_args()
PROGRAMS = Programs(SETTINGS.cli, SETTINGS.daemon)
THREE, NO_DRIVER, REFUSED = 3, 7, 8
FATBIN = Path(SETTINGS.cli).parent.parent / "lib" / "libreyolo_kernels.fatbin"
SMALL = ("--set", "small")  # device code is interpreted here


class Parity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lyk_hub.")
        cls.addClassCleanup(folder.cleanup)
        root = Path(folder.name) / "hub"
        made = ("--work", SETTINGS.compiled, "--images", "compute_75", "--branch")
        cls.honest = make_repository(root, *made, "v1")["commit"]
        cls.faulty = make_repository(root, *made, "v2", "--define", "HUB_KERNEL_FAULT_CORNER")["commit"]
        cls.hub = RunningHub(root)
        cls.addClassCleanup(cls.hub.errors)

    def setUp(self):
        self.world = World(PROGRAMS, self.hub.url)
        self.addCleanup(self.world.__exit__)
        self.file = self.world.pins / f"{SLOT}.toml"

    def run_cli(self, *words: str, exit_code: int = 0, **machine: str):
        machine = {"LD_LIBRARY_PATH": str(SETTINGS.driver.parent)} | machine
        ran = self.world.run(*words, **machine)
        self.assertEqual(ran.exit_code, exit_code, f"{ran.out}\n{ran.err}")
        return ran

    def pin(self, revision: str, *words: str, **more):
        return self.run_cli("pin", SLOT, "--repo", REPO, "--revision", revision, "--abi", ABI, *SMALL, *words, **more)

    def test_the_honest_kernel_passes_and_its_image_is_recorded(self):
        self.world.pin(pin_text(self.honest, abi=ABI))
        document = self.run_cli("parity", SLOT, "--json", *SMALL).json()
        self.assertTrue(document["passed"])
        (gpu,) = document["gpus"]
        image = self.run_cli("resolve", SLOT, "--arch", "9.0", "--driver", "13.0", "--json").json()["image"]
        self.assertEqual((gpu["image"], gpu["arch"], gpu["driver"], gpu["set"]), (image["sha256"], "9.0", "13.0", "small"))
        outputs = [output for case in gpu["cases"] for output in case["outputs"]]
        self.assertEqual({output["output"] for output in outputs},
                         {"output", "grad_value", "grad_sampling_locations", "grad_attention_weights"})
        self.assertEqual(gpu["greatest_error"], max(output["greatest_error"] for output in outputs))
        self.assertEqual([output for output in outputs if output["wrong"]], [])

    def test_what_is_missing_is_fetched_and_said_to_be(self):
        self.world.pin(pin_text(self.honest, abi=ABI))
        first = self.run_cli("parity", SLOT, "--json", *SMALL)
        self.assertIn("downloading", first.err)
        self.assertEqual(self.run_cli("parity", SLOT, "--json", *SMALL).err, "")

    def test_the_librarys_own_code_needs_no_pin_and_no_service(self):
        alone = {"LIBREYOLO_KERNELS_SOCKET": "/nowhere/socket", "LIBREYOLO_KERNELS": "off",
                 # The twin of what the stand-in cannot run: its machine code.
                 "SOFTCUDA_PTX_PATH": str(FATBIN)}
        document = self.run_cli("parity", "fake_quant_mxfp4_weight", "--json", *SMALL, **alone).json()
        self.assertEqual((document["implementation"], document["passed"]), ("cuda", True))
        (gpu,) = document["gpus"]
        self.assertEqual((gpu["image"], gpu["arch"], gpu["set"], gpu["greatest_error"]), (None, "9.0", "small", 0))
        self.assertRegex(gpu["library"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(gpu["fatbin"], hashlib.sha256(FATBIN.read_bytes()).hexdigest())

    def test_the_processors_are_compared_without_a_gpu(self):
        document = self.run_cli("parity", "unpack_int_grouped", "--json", LD_LIBRARY_PATH="").json()
        self.assertEqual((document["implementation"], document["passed"], document["gpus"]), ("cpu", True, []))
        self.assertEqual(document["processors"]["set"], "whole")
        self.assertIn(document["processors"]["instructions"], ("baseline", "avx2", "avx512"))

    def test_a_wrong_corner_is_named_with_what_was_expected(self):
        self.world.pin(pin_text(self.faulty, abi=ABI))
        ran = self.run_cli("parity", SLOT, *SMALL, exit_code=REFUSED)
        self.assertRegex(ran.message, r"^device 0 \(softcuda sm_90\): \d+ of 21 cases differ from the reference; "
                                      r"'two images': forward output 2 x 3 x 8 at \[\d, \d, \d\]: expected -?[\d.e-]+, "
                                      r"got -?[\d.e-]+, \d+ of 48 elements beyond the tolerance of 1e-05 \+ 1e-04 ")
        self.assertIn("parity:          failed", ran.out)
        document = self.run_cli("parity", SLOT, "--json", *SMALL, exit_code=REFUSED).json()
        self.assertFalse(document["passed"])

    def test_a_driver_that_fails_is_no_machine_without_a_gpu(self):
        ran = self.pin("v1", exit_code=REFUSED, SOFTCUDA_FAIL="cuInit:1+:999")
        self.assertIn("parity cannot run, so the pin is not written: ", ran.message)
        self.assertFalse(self.file.exists())

    def test_pin_writes_the_record_and_the_service_reads_it(self):
        ran = self.pin("v1")
        self.assertRegex(ran.out, r"parity: +passed on 0: softcuda sm_90, small set, greatest error \S+\n")
        self.assertIn(f"warning: parity ran the small set alone; before you rely on the pin, run 'libreyolo-kernels parity {SLOT}'", ran.err)
        pin = tomllib.loads(self.file.read_text())
        (record,) = pin["parity"]
        self.assertEqual((record["arch"], record["driver"], record["gpu"], record["set"]),
                         ("9.0", "13.0", "softcuda sm_90", "small"))
        info = self.run_cli("info", SLOT, "--json").json()
        self.assertEqual(info["pin"]["source"], str(self.file))
        (told,) = info["pin"]["parity"]
        self.assertEqual(told.pop("greatest_error"), repr(record.pop("greatest_error")))
        self.assertEqual(told, record)
        self.assertIn(record["image"], {image["sha256"] for file in info["files"] for image in file["images"]})
        self.assertIn("parity:", self.run_cli("info", SLOT).out)
        self.run_cli("parity", SLOT, "--json", *SMALL)  # and the pin is in force

    def test_a_kernel_that_fails_is_not_pinned_and_the_old_pin_stays(self):
        self.pin("v1")
        before = self.file.read_bytes()
        ran = self.pin("v2", exit_code=REFUSED)
        self.assertTrue(ran.message.startswith("parity failed, so the pin is not written: device 0"), ran.message)
        self.assertEqual(self.file.read_bytes(), before)
        refused = self.pin("v2", "--output", "-", "--json", exit_code=REFUSED).json()
        self.assertEqual(refused["error"]["code"], "refused")

    def test_what_is_compared_is_the_new_pin_and_not_the_one_in_force(self):
        self.world.pin(pin_text(self.faulty, abi=ABI))
        document = self.pin("v1", "--json").json()
        self.assertEqual((document["parity"], document["replaced_commit"]), ("passed", self.faulty))
        self.assertEqual(len(document["parity_records"]), 1)
        self.assertEqual(tomllib.loads(document["pin"])["parity"][0]["image"], document["parity_records"][0]["image"])

    def test_each_kind_of_gpu_has_its_record(self):
        self.pin("v1", SOFTCUDA_DEVICES="sm_90,sm_80,sm_90")
        records = tomllib.loads(self.file.read_text())["parity"]
        self.assertEqual([record["arch"] for record in records], ["9.0", "8.0"])

    def test_without_a_gpu_it_is_said_that_nothing_was_compared(self):
        ran = self.pin("v1", LD_LIBRARY_PATH="")
        self.assertRegex(ran.out, r"parity: +not run: no driver: libcuda.so.1: .*; compare results on a GPU")
        self.assertNotIn("parity", tomllib.loads(self.file.read_text()))
        ran = self.run_cli("parity", SLOT, exit_code=NO_DRIVER, LD_LIBRARY_PATH="")
        self.assertEqual((ran.out, ran.err.count("\n")), ("", 1), ran.err)

    def test_a_gpu_without_an_image_has_no_say(self):
        old = {"SOFTCUDA_DRIVER": "12.0"}  # which cannot compile the PTX
        ran = self.pin("v1", **old)
        self.assertRegex(ran.out, r"parity: +not run: .*no image for 9\.0")
        self.assertIn("no image for 9.0", self.run_cli("parity", SLOT, exit_code=THREE, **old).message)

    def test_a_kernel_that_does_not_run_is_not_pinned(self):
        ran = self.pin("v1", exit_code=REFUSED, SOFTCUDA_FAIL="cuLaunchKernel:1:701")
        self.assertIn("case 'two images': forward: ", ran.message)
        self.assertIn("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)", ran.message)
        self.assertFalse(self.file.exists())
        ran = self.pin("v1", exit_code=REFUSED, SOFTCUDA_FAIL="cuLaunchKernel:2:700:async")
        self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS (700)", ran.message)

    def test_what_is_not_there_is_named(self):
        self.assertIn("no pin names it", self.run_cli("parity", SLOT, exit_code=THREE).message)
        self.assertIn("there is no parity set", self.run_cli("parity", "nms", exit_code=THREE).message)
        self.assertIn("there are cuda, cpu",
                      self.run_cli("parity", "fake_quant_fp8", "--implementation", "hub", exit_code=2).message)
        self.assertIn("did you mean hub?",
                      self.run_cli("parity", SLOT, "--implementation", "hob", exit_code=2).message)
        self.run_cli("parity", exit_code=2)
        self.run_cli("parity", "../x", exit_code=2)


if __name__ == "__main__":
    if not os.environ.get("NVCC"):
        print("skipped: built without nvcc, so there is no kernel to run")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
