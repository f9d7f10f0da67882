"""Makes git repositories that look like kernel repositories of the Hub (6.1 and 6.4 of the protocol notes).

Everything is reproducible: the same files give the same commit id on every machine. LFS needs no
git-lfs: pointers are written here, contents go to ROOT/lfs.
"""

import base64
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .gitprocess import COMMIT_DATE, create_repository, git
from .pointer import Pointer, pointer_to

Content = bytes | Path

LFS_SUFFIXES = (".so", ".cubin", ".fatbin", ".bin", ".safetensors")
_WHO = "Kernel Builder <builder@example.com> 1785578400 +0000"
assert COMMIT_DATE == "2026-08-01T10:00:00Z"  # the same moment as 1785578400


@dataclass(frozen=True)
class BuildVariant:
    """One folder below build/."""

    name: str  # as torch212-cxx11-cu130-x86_64-linux
    library: Content
    architectures: Sequence[str]  # as metadata.json lists them: "7.5"
    license: str = "Apache-2.0"
    extra: Mapping[str, Content] = field(default_factory=dict)


def gitattributes() -> bytes:
    return "".join(
        f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LFS_SUFFIXES
    ).encode()


def readme(repo_id: str, license_name: str = "apache-2.0") -> bytes:
    name = repo_id.split("/")[-1]
    return (
        f"---\nlibrary_name: kernels\nlicense: {license_name}\ntags:\n- kernel\n---\n\n"
        f"# {name}\n\nDevice code for tests; made by make_kernel_repo.py.\n"
    ).encode()


def variant_files(variant: BuildVariant, kernel: str) -> dict:
    """Path in the repository -> content, of one complete build variant."""
    module = kernel.replace("-", "_")
    library = _bytes(variant.library)
    backend = "cuda" if "-cu" in variant.name else "cpu"
    ops = f"_{module}_{backend}_{hashlib.sha256(library).hexdigest()[:7]}"
    files = {
        "__init__.py": _INIT.encode(),
        "_ops.py": _OPS.format(ops=ops).encode(),
        f"{ops}.abi3.so": library,
        **variant.extra,
    }
    metadata = {
        "name": kernel,
        "id": ops,
        "version": 1,
        "license": variant.license,
        "python-depends": [],
        "backend": {
            "type": backend,
            **({"archs": list(variant.architectures)} if backend == "cuda" else {}),
        },
        "digest": {
            "algorithm": "sha256",
            "files": {
                path: base64.b64encode(hashlib.sha256(_bytes(content)).digest()).decode()
                for path, content in sorted(files.items())
            },
        },
    }
    files["metadata.json"] = (json.dumps(metadata, indent=2) + "\n").encode()
    return {f"build/{variant.name}/{path}": content for path, content in files.items()}


def commit_files(
    root: Path, key: str, branch: str, files: Mapping[str, Content], subject: str
) -> str:
    """Puts one commit, with exactly these files, on a branch of ROOT/<key>.git. Returns its id."""
    repository = root / f"{key}.git"
    if not repository.is_dir():
        create_repository(repository)
    stream = [b"feature done\n", f"commit refs/heads/{branch}\n".encode()]
    stream += [f"author {_WHO}\ncommitter {_WHO}\n".encode(), _data(subject.encode())]
    if git(repository, "for-each-ref", f"refs/heads/{branch}"):
        stream.append(f"from refs/heads/{branch}^0\n".encode())
    stream.append(b"deleteall\n")
    for path, content in sorted(files.items()):
        blob = store_lfs(root, content).text() if path.endswith(LFS_SUFFIXES) else _bytes(content)
        stream += [f'M 100644 inline "{path}"\n'.encode(), _data(blob)]
    stream.append(b"done\n")
    git(repository, "fast-import", "--quiet", "--date-format=raw", stdin=b"".join(stream))
    return git(repository, "rev-parse", f"refs/heads/{branch}").decode().strip()


def store_lfs(root: Path, content: Content) -> Pointer:
    """Puts a content into ROOT/lfs and returns the pointer that names it."""
    pointer = _pointer(content)
    target = root / "lfs" / pointer.oid
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{pointer.oid}.partial")
        if isinstance(content, bytes):
            partial.write_bytes(content)
        else:
            shutil.copyfile(content, partial)
        partial.rename(target)
    return pointer


def trust_publisher(root: Path, namespace: str) -> None:
    """Lets hub.json say that this organisation is a trusted kernel publisher."""
    file = root / "hub.json"
    settings = json.loads(file.read_text()) if file.exists() else {}
    settings.setdefault("organizations", {})[namespace] = {"trusted": True, "verified": True}
    file.write_text(json.dumps(settings, indent=2) + "\n")


def _pointer(content: Content) -> Pointer:
    if isinstance(content, bytes):
        return pointer_to(content)
    with open(content, "rb") as file:
        return Pointer(hashlib.file_digest(file, "sha256").hexdigest(), content.stat().st_size)


def _bytes(content: Content) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


_INIT = '''"""Multi-scale deformable attention: the operators of one build."""

from ._ops import ops


def ms_deform_attn_forward(value, spatial_shapes, level_start_index, locations, weights, im2col_step):
    return ops.ms_deform_attn_forward(
        value, spatial_shapes, level_start_index, locations, weights, im2col_step)


def ms_deform_attn_backward(
        value, spatial_shapes, level_start_index, locations, weights, grad_output, im2col_step):
    return ops.ms_deform_attn_backward(
        value, spatial_shapes, level_start_index, locations, weights, grad_output, im2col_step)
'''

_OPS = """import torch

from . import {ops}

ops = torch.ops.{ops}


def add_op_namespace_prefix(name: str) -> str:
    return f"{ops}::{{name}}"
"""
