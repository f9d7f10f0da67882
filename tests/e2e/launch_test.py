"""From a pin to numbers: the kernel that is fetched runs, on the stand-in driver, and what a machine lacks is named.
Each test is a machine with other GPUs, another driver, or another thing in the way."""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import device_files
from world import ABI, SKIPPED, SLOT, Programs, RunningHub, World, make_repository, pin_text

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--cli", required=True)
OPTIONS.add_argument("--daemon", required=True)
OPTIONS.add_argument("--example", required=True, help="the program deform_attn")
OPTIONS.add_argument("--driver", required=True, type=Path, help="the stand-in libcuda.so.1")
OPTIONS.add_argument("--fatbin", required=True, help="the library's own kernels")
OPTIONS.add_argument("--compiled", required=True, help="where the compiled kernel is kept between runs")
SETTINGS, UNITTEST_WORDS = OPTIONS.parse_known_args()
PROGRAMS = Programs(SETTINGS.cli, SETTINGS.daemon)
NO_DRIVER, REFUSED, THREE = 7, 8, 3


class Launch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lyk_hub.")
        cls.addClassCleanup(folder.cleanup)
        cls.made = make_repository(Path(folder.name) / "hub", "--work", SETTINGS.compiled)
        cls.hub = RunningHub(Path(folder.name) / "hub")
        cls.addClassCleanup(cls.hub.errors)

    def setUp(self):
        self.world = World(PROGRAMS, self.hub.url)
        self.addCleanup(self.world.__exit__)
        self.world.pin(pin_text(self.made["commit"], abi=ABI))

    def machine(self, **more: str) -> dict:
        """The environment of a machine with the stand-in driver, which executes what the store holds."""
        blobs = [str(path) for path in (self.world.store / "blobs").rglob("*") if path.is_file()]
        # What the hub does is not to be covered up by the library's own kernels.
        return {"LD_LIBRARY_PATH": str(SETTINGS.driver.parent), "SOFTCUDA_PTX_PATH": ":".join(blobs),
                "LIBREYOLO_KERNELS": "hub", **more}

    def own_machine(self, **more: str) -> dict:
        """What of it is different where the library's own kernels may run, and are executed."""
        path = ":".join([self.machine()["SOFTCUDA_PTX_PATH"], SETTINGS.fatbin])
        return {"LIBREYOLO_KERNELS": "", "SOFTCUDA_PTX_PATH": path.strip(":"), **more}

    def run_cli(self, *words: str, exit_code: int = 0, **machine: str):
        ran = self.world.run(*words, **self.machine(**machine))
        self.assertEqual(ran.exit_code, exit_code, f"{ran.out}\n{ran.err}")
        return ran

    def outlook(self, exit_code: int = 0, **machine: str) -> list:
        return self.run_cli("doctor", SLOT, "--json", exit_code=exit_code, **machine).json()["outlook"]

    def run_example(self, *words: str, exit_code: int = 0, **machine: str):
        environment = self.world.environment(**self.machine(**machine))
        ran = subprocess.run([SETTINGS.example, *words], capture_output=True, check=False, text=True, timeout=100,
                             env=environment, stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, exit_code, f"{ran.stdout}\n{ran.stderr}")
        return ran

    def test_the_fetched_kernel_computes_what_a_loop_computes(self):
        self.run_cli("fetch", SLOT)
        ran = self.run_example("1")
        self.assertIn("call 1: forward and backward ran on the GPU", ran.stdout)
        self.assertEqual(ran.stdout.count(": good"), 4, ran.stdout)
        self.assertEqual(ran.stderr, "")

    def test_ptx_runs_where_no_machine_code_fits(self):
        self.run_cli("fetch", SLOT, SOFTCUDA_DEVICES="sm_120")
        row = self.outlook(SOFTCUDA_DEVICES="sm_120")[0]
        self.assertIn("sm_75 ptx", row["reason"])
        self.assertIn(": good", self.run_example("1", SOFTCUDA_DEVICES="sm_120").stdout)

    def test_a_refused_launch_warns_once_and_the_program_goes_its_own_way(self):
        self.run_cli("fetch", SLOT)
        ran = self.run_example("3", exit_code=THREE, SOFTCUDA_FAIL="cuLaunchKernel:1:701")
        self.assertEqual(ran.stdout.count("not eligible, so the program's own loop serves it"), 3, ran.stdout)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertIn("hub is off for the rest of this process", ran.stderr)

    def test_a_lost_context_is_said_to_be_lost(self):
        self.run_cli("fetch", SLOT)
        ran = self.run_example("2", exit_code=1, SOFTCUDA_FAIL="cuLaunchKernel:1:700:async")
        self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS (700)", ran.stderr)
        self.assertNotIn("good", ran.stdout)

    def test_what_is_switched_off_asks_nobody(self):
        self.world.start(**self.machine())
        self.run_cli("fetch", SLOT)
        counters = self.run_cli("status", "--json").json()["counters"]
        ran = self.run_example("2", exit_code=THREE, LIBREYOLO_HUB_KERNELS="0")
        self.assertIn("hub: LIBREYOLO_HUB_KERNELS=0", ran.stdout)
        after = self.run_cli("status", "--json").json()["counters"]
        self.assertEqual(after["connections_accepted"], counters["connections_accepted"] + 1)

    def test_a_daemon_that_ends_leaves_what_is_loaded_alone(self):
        daemon = self.world.start(**self.machine())
        self.run_cli("fetch", SLOT)
        self.world.stop(daemon)
        # The example then starts a private one; with that forbidden it keeps its own way, once and for good.
        ran = self.run_example("2", exit_code=THREE, LIBREYOLO_KERNELS_EXEC="0")
        self.assertEqual(ran.stdout.count("not eligible"), 2, ran.stdout)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)

    def test_doctor_names_one_obstacle_after_the_other(self):
        no_driver = self.world.run("doctor", SLOT, "--json", LD_LIBRARY_PATH="", LIBREYOLO_KERNELS="hub")
        self.assertEqual(no_driver.exit_code, NO_DRIVER, no_driver.err)
        self.assertEqual(no_driver.json()["outlook"][0]["code"], "no_driver")
        row = self.outlook(exit_code=THREE)[0]
        self.assertEqual((row["code"], row["mend"]), ("not_cached", f"libreyolo-kernels fetch {SLOT}"))
        self.run_cli("fetch", SLOT)
        row = self.outlook()[0]
        self.assertEqual((row["implementation"], row["gpu"]), ("hub", 0))

    def test_doctor_tells_each_kind_of_gpu_apart(self):
        machine = {"SOFTCUDA_DEVICES": "sm_87,sm_90,sm_90"}
        self.run_cli("fetch", SLOT, "--arch", "all")
        rows = self.outlook(**machine)
        self.assertEqual([row["gpu"] for row in rows], [0, 1])
        self.assertIn("sm_75 ptx", rows[0]["reason"])  # machine code of sm_80 is not for an Orin
        self.assertIn("sm_90 cubin", rows[1]["reason"])

    def test_doctor_tells_of_the_librarys_own_kernels(self):
        rows = self.run_cli("doctor", "--json", **self.own_machine()).json()["outlook"]
        self.assertEqual(len(rows), 11)
        self.assertEqual({row["implementation"] for row in rows}, {"cuda"})
        self.assertIn("; not hub: ", rows[0]["reason"])

    def test_doctor_calls_nothing_runnable_that_is_not_as_deterministic_as_asked(self):
        self.run_cli("fetch", SLOT)
        row = self.outlook(exit_code=THREE, LIBREYOLO_KERNELS_DETERMINISTIC="1")[0]
        self.assertEqual((row["code"], row["reason"]),
                         ("not_eligible",
                          "LIBREYOLO_KERNELS_DETERMINISTIC: the pin does not mark its forward deterministic"))

    def test_doctor_offers_nothing_where_the_context_is_lost(self):
        self.run_cli("fetch", SLOT)
        row = self.outlook(exit_code=NO_DRIVER, **self.own_machine(SOFTCUDA_FAIL="cuModuleLoadDataEx:1:700"))[0]
        self.assertEqual((row["implementation"], row["code"]), (None, "cuda"))

    def test_doctor_offers_the_librarys_own_kernels_where_the_pins_image_does_not_serve(self):
        self.run_cli("fetch", SLOT)
        for fault in ({"LIBREYOLO_KERNELS_DETERMINISTIC": "1"}, {"SOFTCUDA_FAIL": "cuModuleLoadDataEx:1:200"}):
            row = self.outlook(**self.own_machine(**fault))[0]
            self.assertEqual(row["implementation"], "cuda", fault)
            self.assertIn("; not hub: ", row["reason"])
            self.assertNotIn("code", row)

    def test_doctor_finds_what_only_the_driver_can_say(self):
        self.run_cli("fetch", SLOT)
        row = self.outlook(exit_code=REFUSED, SOFTCUDA_FAIL="cuModuleLoadDataEx:1+:200")[0]
        self.assertIn("CUDA_ERROR_INVALID_IMAGE (200)", row["reason"])

    def test_nobody_says_of_the_librarys_own_kernels_that_they_run_under_a_driver_that_is_too_old(self):
        machine = self.own_machine(SOFTCUDA_DRIVER="12.8")
        told = {"doctor": self.run_cli("doctor", "--json", exit_code=THREE, **machine),
                "status": self.run_cli("status", "--json", **machine)}
        for command, ran in told.items():
            rows = ran.json()["outlook"]
            self.assertEqual({row["implementation"] for row in rows}, {None}, command)
            for row in rows:
                self.assertRegex(row["reason"], "the driver (knows 12.8|compiles up to 8.7)", command)
            self.assertEqual((rows[1]["code"], rows[1]["mend"]), ("no_image", "install a newer NVIDIA driver"))

    def test_doctor_tries_the_librarys_own_kernels_too(self):
        words = ("doctor", "fake_quant_fp8", "--json")
        for fault, code in (("cuModuleLoadDataEx:1:200", "refused"), ("cuModuleGetFunction:1:500", "refused"),
                            ("cuModuleLoadDataEx:1:700", "cuda")):
            exit_code = NO_DRIVER if code == "cuda" else REFUSED
            row = self.run_cli(*words, exit_code=exit_code, **self.own_machine(SOFTCUDA_FAIL=fault)).json()["outlook"][0]
            self.assertEqual((row["implementation"], row["code"]), (None, code), fault)
        # What no driver was asked about, nobody has tried.
        status = self.run_cli("status", "--json", **self.own_machine(SOFTCUDA_FAIL="cuModuleLoadDataEx:1:200"))
        self.assertEqual({row["implementation"] for row in status.json()["outlook"]}, {"cuda"})

    def test_a_machine_without_a_gpu_has_the_processor_and_nothing_to_mend(self):
        for machine in ({"LD_LIBRARY_PATH": ""}, {"SOFTCUDA_DEVICES": "none"}):
            rows = self.run_cli("doctor", "--json", **self.own_machine(**machine)).json()["outlook"]
            self.assertEqual({row["implementation"] for row in rows}, {"cpu"})
            for row in rows:
                self.assertRegex(row["reason"], "^on host tensors: ")
                self.assertNotIn("code", row)

    def test_a_driver_that_fails_is_told_as_what_it_is_whatever_the_slot(self):
        machine = self.own_machine(SOFTCUDA_FAIL="cuInit:1:999")
        told = {"doctor": self.run_cli("doctor", "--json", exit_code=REFUSED, **machine),
                "status": self.run_cli("status", "--json", **machine)}
        for command, ran in told.items():
            rows = ran.json()["outlook"]
            self.assertEqual(len(rows), 11)
            for row in rows:
                self.assertEqual((row["implementation"], row["code"]), (None, "refused"), command)
                self.assertIn("CUDA_ERROR_UNKNOWN (999)", row["reason"], command)

    def test_fetch_takes_what_this_machines_gpus_need(self):
        fetched = self.run_cli("fetch", SLOT, "--json", SOFTCUDA_DEVICES="sm_86").json()["fetched"][0]
        everything = self.run_cli("fetch", SLOT, "--arch", "all", "--json").json()["fetched"][0]
        self.assertLess(fetched["files"], everything["files"])

    def test_fetch_takes_what_this_machines_driver_can_load(self):
        with tempfile.TemporaryDirectory(prefix="lyk_hub.") as made:
            folder, kernels, builds = Path(made), device_files.abi_kernels(), []
            for cuda, target, listed in (("cu128", "sm_80", "8.0"), ("cu130", "sm_86", "8.0,8.6")):
                library = folder / f"{cuda}.so"
                library.write_bytes(device_files.fatbin({target: device_files.ptx(target, kernels)}))
                builds += ["--library", f"torch212-cxx11-{cuda}-x86_64-linux={library}={listed}"]
            commit = make_repository(folder / "hub", *builds)["commit"]
            hub = RunningHub(folder / "hub")
            self.addCleanup(hub.errors)
            with World(PROGRAMS, hub.url) as self.world:
                self.world.pin(pin_text(commit, abi=ABI))
                machine = {"SOFTCUDA_DEVICES": "sm_86", "SOFTCUDA_DRIVER": "12.8"}
                fetched = self.run_cli("fetch", SLOT, "--json", **machine).json()["fetched"][0]
                self.assertEqual(fetched["files"], 1)
                resolve = ("resolve", SLOT, "--arch", "8.6", "--json", "--driver")
                old = self.run_cli(*resolve, "12.8", HF_HUB_OFFLINE="1").json()
                self.assertIn("cu128", old["file"])
                new = self.run_cli(*resolve, "13.0").json()
                self.assertIn("cu130", new["file"])


if __name__ == "__main__":
    if not os.environ.get("NVCC"):
        print("skipped: built without nvcc, so there is no kernel to run")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *UNITTEST_WORDS])
