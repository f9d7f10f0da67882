"""Compiles hub_kernel/ms_deform_attn.cu to a shared library, once per content and set of architectures."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional, Sequence

SOURCE_FOLDER = Path(__file__).resolve().parent.parent / "hub_kernel"
_SOURCE = "ms_deform_attn.cu"


class NoCompiler(Exception):
    pass


def find_nvcc(given: Optional[str]) -> str:
    """--nvcc, else $NVCC, else the one on PATH."""
    name = given or os.environ.get("NVCC") or "nvcc"
    found = shutil.which(name)
    if found is None:
        raise NoCompiler(f"'{name}' is no program; give --nvcc PATH or set NVCC")
    return found


def compile_library(nvcc: str, architectures: Sequence[str], work: Path,
                    flags: Sequence[str] = ()) -> Path:
    """`architectures` are nvcc's names: sm_90 is machine code, compute_75 is PTX."""
    command = [nvcc, "-shared", "-std=c++17", "-O3", "-cudart", "none", "-Xcompiler", "-fPIC,-g0", *flags]
    for name in architectures:
        kind, _, number = name.partition("_")
        if kind not in ("sm", "compute") or not number:
            raise ValueError(f"'{name}' is no architecture: expected sm_NN or compute_NN")
        command += ["-gencode", f"arch=compute_{number},code={kind}_{number}"]
    target = work / "compiled" / f"{_key(nvcc, command[1:])}.so"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.so")
    done = subprocess.run([*command, "-o", str(partial), _SOURCE], cwd=SOURCE_FOLDER,
                          capture_output=True, text=True, check=False)
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
