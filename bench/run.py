#!/usr/bin/env python3
"""Measures the product beside what a user would pick instead, as ratios within one run.

    bench/run.py [--only NAME ...] [--idle-seconds 60] [--json] [--page FILE]

Needs the preset `release` built with the target `benchmarks`, and the packages of packaging/python-requirements.txt;
script/bench sees to both. Every comparison alternates between its two sides; min, median and max are printed.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

import cpu_kernels
import cuda_kernels
import page
from rows import ROWS, report, skip, spread, text
from world import BIN, REPO, ROOT, SLOT, World


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def alternate(rounds, *actions):
    """The seconds of each action in `rounds` rounds, taken in turns."""
    seconds = [[] for _ in actions]
    for _ in range(rounds):
        for times, action in zip(seconds, actions):
            times.append(timed(action))
    return [spread(times) for times in seconds]


def python_hub_download(world, file, prefix):
    """Seconds of one hf_hub_download of a cached file, inside one warm Python process.

    Means of runs of 0.1 s, as the other side's are: other load hits both alike.
    """
    program = f"""
import json, time
from huggingface_hub import hf_hub_download
def once():
    hf_hub_download({REPO!r}, {file!r}, repo_type="kernel", revision={world.commit!r})
once()
seconds = []
for _ in range(15):
    begin = time.perf_counter()
    for _ in range(1500):
        once()
    seconds.append((time.perf_counter() - begin) / 1500)
print(json.dumps(seconds))
"""
    return spread(json.loads(world.run([*prefix, sys.executable, "-c", program]).stdout))


def google_bench(world, program, *, prefix=(), environment=None, clock="real_time"):
    """The spread of each benchmark of a program; of one launch where an iteration makes many."""
    out = world.run([*prefix, BIN / program, "--benchmark_repetitions=15",
                     "--benchmark_min_time=0.1", "--benchmark_enable_random_interleaving=true",
                     "--benchmark_format=json"], environment=environment)
    seconds = {}
    for row in json.loads(out.stdout)["benchmarks"]:
        if row["run_type"] == "iteration":
            seconds.setdefault(row["run_name"].split("/")[0], []).append(row[clock] * 1e-9 / row.get("launches", 1))
    return {name: spread(values) for name, values in seconds.items()}


def warm_resolve():
    with World() as world:
        world.make_pin()
        file = world.library_path()
        for pinned in (True, False):
            prefix = ("taskset", "-c", "0") if pinned else ()
            world.start_daemon(prefix=prefix)
            world.run(["libreyolo-kernels", "fetch", SLOT])
            bench = google_bench(world, "resolve_bench", prefix=prefix)
            world.stop_daemon()
            ours, bare = bench["warm_resolve"], bench["ping_pong_with_descriptor"]
            ratio = ours["median"] / bare["median"]
            report(f"warm Resolve, {'one core' if pinned else 'unpinned'}", "<= 3x ping-pong" if pinned else "reported",
                   f"{ratio:.2f}x", ratio <= 3 or not pinned,
                   sides={"Resolve": ours, "ping-pong": bare,
                          "Resolve of two devices in turns": bench["warm_resolve_of_changing_devices"]})
            if pinned:
                python = python_hub_download(world, file, prefix)
                faster = python["median"] / ours["median"]
                report("warm Resolve against hf_hub_download", ">= 4x faster", f"{faster:.1f}x faster", faster >= 4,
                       sides={"Resolve": ours, "hf_hub_download of a cached file": python})


def first_resolve():
    with World() as world:
        world.make_pin()
        world.start_daemon()
        world.run(["libreyolo-kernels", "fetch", SLOT])
        file = world.library_path()
        hf = [pathlib.Path(sys.executable).with_name("hf"), "download", "--repo-type", "kernel", REPO, file,
              "--revision", world.commit]
        world.run(hf)
        ours, theirs = alternate(15, lambda: world.run([BIN / "resolve", SLOT, "9.0"]), lambda: world.run(hf))
        faster = theirs["median"] / ours["median"]
        report("first Resolve of a process", ">= 50x faster than hf download", f"{faster:.0f}x faster", faster >= 50,
               sides={"exec to descriptor": ours, "hf download of a cached file": theirs})


def launch():
    """Calls on the stand-in driver, which checks and queues launches and does not run them; but for the last row."""
    with World() as world:
        world.make_pin()
        world.start_daemon()
        world.run(["libreyolo-kernels", "fetch", SLOT])
        driver = {"LD_LIBRARY_PATH": str(ROOT / "build/release/softcuda"), "SOFTCUDA_DEVICES": "sm_90",
                  "SOFTCUDA_EXECUTE": "0"}
        environment = world.environment | driver
        bench = google_bench(world, "launch_bench", environment=environment)
        # Nanoseconds of computing alone: processor time, which other load of the machine leaves as it is.
        busy = google_bench(world, "launch_bench", environment=environment, clock="cpu_time")
        above = busy["registry_call"]["median"] - busy["direct_call"]["median"]
        report("registry call above a direct call", "<= 50 ns", f"{above * 1e9:.0f} ns", above <= 50e-9,
               "processor time", sides={"lyk_call": busy["registry_call"], "the function itself": busy["direct_call"]})
        above = bench["slot_launch"]["median"] - bench["bare_launch"]["median"]
        report("launch above a bare cuLaunchKernel", "<= 1 us", f"{above * 1e6:.2f} us", above <= 1e-6,
               sides={"lyk_ms_deform_attn_forward": bench["slot_launch"], "cuLaunchKernel": bench["bare_launch"]})
        allocations = int(world.run([BIN / "launch_bench", "allocations"], environment=environment).stdout)
        report("allocations of 1000 launches", "0", str(allocations), allocations == 0, "of the library; the driver has its own")
        first_call(world, environment, "a running daemon", 5e-3)
        alone = {name: value for name, value in environment.items() if name != "LIBREYOLO_KERNELS_SOCKET"}
        alone |= {"XDG_RUNTIME_DIR": str(world.folder / "nobody"), "LIBREYOLO_KERNELS_EXEC": str(BIN / "libreyolo-kernelsd")}
        first_call(world, alone, "exec activation", 60e-3)
        execution(world, environment)


def execution(world, environment):
    """How long the stand-in takes to execute a forward of a whole decoder: what tests of the kernels cost."""
    store = pathlib.Path(world.environment["XDG_CACHE_HOME"]) / "libreyolo-kernels/blobs"
    twins = ":".join(str(path) for path in store.rglob("*") if path.is_file())
    environment = environment | {"SOFTCUDA_EXECUTE": "1", "SOFTCUDA_PTX_PATH": twins}
    command = ["taskset", "-c", "0,1", BIN / "launch_bench", "executed"]
    seconds = spread([float(world.run(command, environment=environment).stdout) for _ in range(3)])
    report("the stand-in driver executes a forward: B=1, Q=300, 8 heads of 32, levels of 80, 40 and 20, 4 points", "<= 5 s",
           text(seconds), seconds["median"] <= 5, "on two cores", sides={"lyk_ms_deform_attn_forward, until it has run": seconds})


def first_call(world, environment, service, reach):
    """The first call of a process, without what the driver takes for the same image and launch."""
    first, bare = ([], [])
    for _ in range(15):
        for seconds, mode in ((first, "first"), (bare, "first_bare")):
            seconds.append(float(world.run([BIN / "launch_bench", mode], environment=environment).stdout))
    first, bare = spread(first), spread(bare)
    own = first["median"] - bare["median"]
    report(f"first call of a process, {service}", f"<= {reach * 1e3:.0f} ms", f"{own * 1e3:.2f} ms", own <= reach,
           sides={"connect, resolve, load, launch": first, "of which the driver": bare})


def fetch_proven_by_git(world):
    """Its seconds. The Hub must have sent the pack that the proof is made of."""
    world.control("/reset", {})
    seconds = timed(lambda: world.run(["libreyolo-kernels", "fetch", SLOT]))
    kinds = world.control("/counters")["kinds"]
    if not kinds.get("git-pack"):
        raise RuntimeError(f"the fetch was not proven by git: the Hub was asked for {kinds}")
    return seconds


def cold_fetch():
    with World(library_padding_bytes=64 << 20) as world:
        world.make_pin(proof="git")
        file = world.library_path()
        url = f"{world.hub_url}/kernels/{REPO}/resolve/{world.commit}/{file}"
        hf = pathlib.Path(sys.executable).with_name("hf")
        target = world.folder / "curl.so"

        ours, hub, curl = [], [], []
        for _ in range(7):
            forget_store(world)
            shutil.rmtree(world.environment["HF_HOME"], ignore_errors=True)
            ours.append(fetch_proven_by_git(world))
            hub.append(timed(lambda: world.run([hf, "download", "--repo-type", "kernel", REPO, file, "--revision",
                                                world.commit])))
            target.unlink(missing_ok=True)
            curl.append(timed(lambda: world.run(["sh", "-c", f"curl -sfL -o {target} '{url}' && sha256sum {target}"])))
        ours, hub, curl = spread(ours), spread(hub), spread(curl)
        ratio = ours["median"] / hub["median"]
        report("cold fetch of 64 MiB against hf download", "<= 0.5x", f"{ratio:.2f}x", ratio <= 0.5,
               sides={"fetch, proof included": ours, "hf download": hub})
        ratio = ours["median"] / curl["median"]
        report("cold fetch of 64 MiB against curl and sha256sum", "<= 0.9x", f"{ratio:.2f}x", ratio <= 0.9,
               sides={"fetch, proof included": ours, "curl to a file and sha256sum": curl})


def openssl_bytes_per_second():
    """By the clock on the wall, as ours is: what other load takes away is taken from both."""
    out = subprocess.run(["openssl", "speed", "-mr", "-elapsed", "-seconds", "1", "-bytes", "16384", "-evp", "sha256"],
                         check=True, capture_output=True, text=True)
    return float(next(line for line in out.stdout.splitlines() if line.startswith("+F:")).split(":")[-1])


def verify():
    with World(library_padding_bytes=1 << 30) as world:
        world.make_pin()
        world.start_daemon()
        world.run(["libreyolo-kernels", "fetch", SLOT])
        ours, theirs = [], []
        for _ in range(9):
            begin = time.perf_counter()
            answer = json.loads(world.run(["libreyolo-kernels", "verify", "--json"]).stdout)
            ours.append(answer["bytes"] / (time.perf_counter() - begin))
            theirs.append(openssl_bytes_per_second())
        ratio = statistics.median(ours) / statistics.median(theirs)
        sides = {side: spread([1e9 / rate for rate in rates])
                 for side, rates in (("verify, for each GB", ours), ("openssl on one core", theirs))}
        report("verify", ">= 0.95x openssl speed -evp sha256", f"{ratio:.2f}x", ratio >= 0.95,
               f"{statistics.median(ours) / 1e6:.0f} and {statistics.median(theirs) / 1e6:.0f} MB/s", sides=sides)


def waiters():
    with World() as world:
        world.make_pin()
        world.control("/options", {"file_duration_s": 10})
        forget_store(world)
        world.start_daemon()
        one = json.loads(world.run([BIN / "waiters_bench", "1", SLOT, "9.0"]).stdout)
        world.stop_daemon()
        forget_store(world)
        world.control("/reset", {})
        world.start_daemon()
        many = json.loads(world.run([BIN / "waiters_bench", "1000", SLOT, "9.0"]).stdout)
        memory = world.daemon_memory()["VmHWM"] / 1024
        paths = world.control("/counters")["paths"]
        downloads = max(count for path, count in paths.items() if path.endswith(".so") and "/resolve/" in path)
        ratio = many["slowest_s"] / one["slowest_s"]
        report("1,000 processes ask for one missing kernel", "1 download, <= 1.2x of one fetch, <= 64 MiB",
               f"{downloads} download, {ratio:.2f}x, {memory:.0f} MiB",
               downloads == 1 and ratio <= 1.2 and memory <= 64 and many["served"] == 1000,
               f"served {many['served']}",
               sides={"the slowest": spread([many["slowest_s"]]), "one process alone": spread([one["slowest_s"]])})


def forget_store(world):
    store = world.environment["XDG_CACHE_HOME"]
    subprocess.run(["chmod", "-R", "u+w", store], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(store, ignore_errors=True)


def fill_index(store, files):
    """Rows as docs/store_format.md has them, for `files` more files in other revisions."""
    with sqlite3.connect(store / "index.sqlite3") as index:
        columns = [row[1] for row in index.execute("PRAGMA table_info(images)")]
        image = list(index.execute("SELECT * FROM images LIMIT 1").fetchone())
        for n in range(files):
            if n % 50 == 0:
                revision = index.execute(
                    "INSERT INTO revisions (repo, type, commit_id, gated) VALUES (?, 'kernel', ?, 0)",
                    (f"bench/repo{n // 50}", os.urandom(20))).lastrowid
            blob = index.execute(
                "INSERT INTO blobs (sha256, bytes, added_s, verified_s, inode, mtime_ns) VALUES (?, 4096, ?, ?, 0, 0)",
                (os.urandom(32), n, n)).lastrowid
            index.execute("INSERT INTO files (revision, path, blob, proof, added_s) VALUES (?, ?, ?, 'git', ?)",
                          (revision, f"build/torch212-cxx11-cu130-x86_64-linux/file{n}.so", blob, n))
            image[columns.index("blob")] = blob
            image[columns.index("place")] = 0
            index.execute(f"INSERT INTO images VALUES ({', '.join('?' * len(image))})", image)


def large_index():
    with World() as world:
        world.make_pin()
        config = "image_cache_max_bytes = 0\n"
        resolve = ("Resolve", {"slot": SLOT, "device": {"arch": "9.0"}})
        listing = ("List", {"slot": SLOT})
        seconds = {}
        world.start_daemon(config=config)
        world.run(["libreyolo-kernels", "fetch", SLOT])
        for size in ("empty", "full"):
            for method, parameters in (resolve, listing):
                world.call(method, parameters, 20)
                seconds[size, method] = spread(world.call(method, parameters, 300))
            world.stop_daemon()
            if size == "empty":
                fill_index(pathlib.Path(world.environment["XDG_CACHE_HOME"]) / "libreyolo-kernels", 100_000)
                world.start_daemon(config=config)
        for method in ("Resolve", "List"):
            empty, full = seconds["empty", method], seconds["full", method]
            ratio = full["median"] / empty["median"]
            report(f"index with 100,000 files: {method}", "<= 1.5x of an empty index", f"{ratio:.2f}x", ratio <= 1.5,
                   sides={"full": full, "empty": empty})


def idle(seconds):
    def switches():
        return {task.name: next(int(line.split()[1]) for line in open(task / "status")
                                if line.startswith("voluntary_ctxt_switches"))
                for task in pathlib.Path(f"/proc/{world.daemon.pid}/task").iterdir()}

    with World() as world:
        world.make_pin()
        starts = []
        for _ in range(10):
            starts.append(world.start_daemon())
            world.stop_daemon()
        world.start_daemon()
        world.run(["libreyolo-kernels", "fetch", SLOT])
        world.stop_daemon()
        starts.append(world.start_daemon())
        time.sleep(1)
        before = switches()
        time.sleep(seconds)
        woken = sum(count - before.get(task, 0) for task, count in switches().items())
        memory = world.daemon_memory()
        own = (memory["RssAnon"] + memory["RssShmem"]) / 1024
        start = spread(starts)
        report("idle daemon: memory", "RssAnon + RssShmem <= 4 MiB, RSS <= 20 MiB", f"{own:.1f} MiB, {memory['VmRSS'] / 1024:.1f} MiB",
               own <= 4 and memory["VmRSS"] <= 20 * 1024, "from /proc/PID/status")
        report("idle daemon: wake-ups", "no voluntary context switch in 60 s", f"{woken} in {seconds} s", woken == 0, "all threads")
        report("daemon: start to ready", "<= 50 ms", text(start), start["median"] <= 0.05, "11 starts, until READY=1")


def backward_bytes():
    """What the deterministic backward of ms_deform_attn moves on a device beside the atomic one, by the stand-in's count."""
    if not (BIN / "backward_bytes").exists():
        skip("deterministic CUDA backward: bytes", "nothing was built, for want of nvcc or GTest")
        return
    for case, modes in json.loads(subprocess.run([BIN / "backward_bytes"], check=True, capture_output=True).stdout).items():
        atomic, deterministic = (sum(modes[mode].values()) for mode in ("atomic", "deterministic"))
        parts = "; ".join(f"{mode}: " + ", ".join(f"{count / 1e6:.3g} MB {what}" for what, count in modes[mode].items())
                          for mode in ("deterministic", "atomic"))
        ratio = deterministic / atomic
        report(f"deterministic CUDA backward: bytes, {case}", "<= 2x the atomic form", f"{ratio:.2f}x", ratio <= 2, parts)


def processor():
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main():
    benches = {"warm_resolve": warm_resolve, "first_resolve": first_resolve, "cold_fetch": cold_fetch, "verify": verify,
               "launch": launch, "waiters": waiters, "large_index": large_index,
               "cpu_kernels": lambda: cpu_kernels.report_rows(BIN / "cpu_kernels_bench"),
               "backward_bytes": backward_bytes,
               "cuda_kernels": lambda: cuda_kernels.report_rows(BIN.parent / "lib/libreyolo_kernels.so.1"), "idle": None}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=benches, metavar="NAME", help=f"of {', '.join(benches)}")
    parser.add_argument("--idle-seconds", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="one JSON document at the end, on standard output")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "build/bench.html", metavar="FILE",
                        help="where the page with charts goes (build/bench.html)")
    arguments = parser.parse_args()
    if arguments.json:
        sys.stdout = sys.stderr
    benches["idle"] = lambda: idle(arguments.idle_seconds)
    host = f"{processor()}, {os.cpu_count()} cores, Linux {platform.release()}"
    print(f"host: {host}\ntimes are min/median/max\n", flush=True)
    for name in arguments.only or benches:
        before = len(ROWS)
        benches[name]()
        for row in ROWS[before:]:
            row.bench = name
    arguments.page.parent.mkdir(parents=True, exist_ok=True)
    page.write(arguments.page, ROWS, host)
    print(f"\ncharts: {arguments.page}", flush=True)
    if arguments.json:
        json.dump({"host": host, "rows": [dataclasses.asdict(row) for row in ROWS]}, sys.__stdout__, indent=2)
    return 0 if all(row.met is not False for row in ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
