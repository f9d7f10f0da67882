"""Compiles hub_kernel/ms_deform_attn.cu with nvcc, once per content, architectures and flags.

The results are the same bytes each time, and so are the commits that hold them.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

SOURCE_FOLDER = Path(__file__).resolve().parent.parent / "hub_kernel"
_SOURCE = "ms_deform_attn.cu"
_COMMON = ["-std=c++17", "-O3", "-frandom-seed=1"]
# As a torch extension: the CUDA runtime is somebody else's. No build id, no symbols for debuggers.
_LIBRARY = [
    "-shared",
    "-cudart",
    "none",
    "-Xcompiler",
    "-fPIC,-g0",
    "-Xlinker",
    "--build-id=none",
    "-Xlinker",
    "-s",
]


class NoCompiler(Exception):
    pass


def find_nvcc(given: str | None) -> str:
    """--nvcc, else $NVCC, else the one on PATH."""
    name = given or os.environ.get("NVCC") or "nvcc"
    found = shutil.which(name)
    if found is None:
        raise NoCompiler(f"'{name}' is no program; give --nvcc PATH or set NVCC")
    return found


def compile_library(
    nvcc: str, architectures: Sequence[str], work: Path, compression: str = ""
) -> Path:
    """A shared library. `architectures` are nvcc's names: sm_90 is machine code, compute_75 is PTX."""
    return _compile(
        nvcc, [*_LIBRARY, *_targets(architectures), *_compression(compression)], ".so", work
    )


def compile_image(
    nvcc: str, architectures: Sequence[str], work: Path, macros: Sequence[str] = ()
) -> Path:
    """Device code alone: a cubin or PTX for one architecture, a fatbin for several. `macros` plant faults."""
    defined = [f"-D{macro}" for macro in macros]
    if len(architectures) > 1:
        return _compile(nvcc, [*defined, "-fatbin", *_targets(architectures)], ".fatbin", work)
    kind, number = _split(architectures[0])
    if kind == "sm":
        return _compile(nvcc, [*defined, "-cubin", f"-arch=sm_{number}"], ".cubin", work)
    return _compile(nvcc, [*defined, "-ptx", f"-arch=compute_{number}"], ".ptx", work)


def _targets(architectures: Sequence[str]) -> list:
    flags = []
    for name in architectures:
        kind, number = _split(name)
        flags += ["-gencode", f"arch=compute_{number},code={kind}_{number}"]
    return flags


def _split(architecture: str) -> tuple:
    kind, _, number = architecture.partition("_")
    if kind not in ("sm", "compute") or not number:
        raise ValueError(f"'{architecture}' is no architecture: expected sm_NN or compute_NN")
    return kind, number


def _compression(mode: str) -> list:
    return [f"-compress-mode={mode}"] if mode else []


def _compile(nvcc: str, flags: Sequence[str], suffix: str, work: Path) -> Path:
    command = [nvcc, *_COMMON, *flags]
    target = work / "compiled" / f"{_key(nvcc, command[1:])}{suffix}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}{suffix}").resolve()
    done = subprocess.run(
        [*command, "-o", str(partial), _SOURCE],
        cwd=SOURCE_FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NoCompiler(f"{' '.join(command)}: {done.stderr.strip()}")
    partial.rename(target)
    return target


def _key(nvcc: str, arguments: Sequence[str]) -> str:
    version = subprocess.run([nvcc, "--version"], capture_output=True, check=True).stdout
    hasher = hashlib.sha256(version + "\0".join(arguments).encode())
    for source in sorted(SOURCE_FOLDER.iterdir()):
        hasher.update(source.name.encode() + b"\0" + source.read_bytes())
    return hasher.hexdigest()[:32]
