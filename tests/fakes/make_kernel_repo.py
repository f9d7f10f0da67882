#!/usr/bin/env python3
"""Makes a kernel repository below the root folder of a fake Hub.

    make_kernel_repo.py --root HUB --work WORK                       compile our own ms_deform_attn
    make_kernel_repo.py --root HUB --file build/x/a.so=/tmp/a.so     from given files, no compiler
    make_kernel_repo.py --root HUB --random images/big.cubin=64MiB   reproducible bytes of a given length

Prints one JSON object: the repository, the branches that were written, the commit and its files.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

from hub import kernel_repo, variants
from hub.compiled import NoCompiler, compile_image, compile_library, find_nvcc
from hub.kernel_repo import BuildVariant
from hub.root import Root

DEFAULT_REPOSITORY = "kernels/kernels-community/deformable-detr"
# The two builds of the default repository: for different CUDA releases and different GPUs.
DEFAULT_VARIANTS = (
    "torch212-cxx11-cu130-x86_64-linux=sm_75,sm_80,sm_90,compute_75",
    "torch212-cxx11-cu128-x86_64-linux=sm_80,sm_86,compress=speed",
)
_UNITS = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "B": 1, "": 1}


def parse_arguments(arguments: list) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, required=True, help="root folder of the fake Hub")
    parser.add_argument(
        "--repo", default=DEFAULT_REPOSITORY, help="kernels/NS/NAME or models/NS/NAME"
    )
    parser.add_argument(
        "--branch", action="append", help="branch to write; repeatable (default: v1)"
    )
    parser.add_argument(
        "--work", type=Path, help="folder for compiled libraries; kept between calls"
    )
    parser.add_argument("--nvcc", help="the compiler (default: $NVCC, else nvcc on PATH)")
    parser.add_argument(
        "--build",
        action="append",
        metavar="VARIANT=ARCH,ARCH[,compress=MODE]",
        help="compile this variant; repeatable (default: two variants)",
    )
    parser.add_argument(
        "--library",
        action="append",
        default=[],
        metavar="VARIANT=FILE[=ARCH,...]",
        help="a complete variant around this library, without a compiler",
    )
    parser.add_argument(
        "--images",
        action="append",
        default=[],
        metavar="ARCH,ARCH...",
        help="compile images/ms_deform_attn.{ptx,cubin,fatbin} for these architectures",
    )
    parser.add_argument(
        "--define",
        action="append",
        default=[],
        metavar="MACRO",
        help="compile --images with this macro of hub_kernel/, such as HUB_KERNEL_FAULT_CORNER",
    )
    parser.add_argument("--file", action="append", default=[], metavar="PATH=FILE")
    parser.add_argument("--random", action="append", default=[], metavar="PATH=SIZE")
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        help="also make the repository NS/NAME.VARIANT with this defect",
    )
    parser.add_argument(
        "--untrusted", action="store_true", help="do not enter the publisher as trusted"
    )
    return parser.parse_args(arguments)


def split(text: str, what: str) -> tuple:
    left, separator, right = text.partition("=")
    if not separator or not left or not right:
        raise ValueError(f"{what} '{text}': expected LEFT=RIGHT")
    return left, right


def random_bytes(path: str, size: str) -> bytes:
    """The same for the same path and length, and not compressible."""
    number = size.rstrip("KMGiB")
    count = int(number) * _UNITS[size[len(number) :]]
    return hashlib.shake_256(path.encode()).digest(count)


def capability(architecture: str) -> str:
    """sm_90 -> 9.0, as metadata.json has it."""
    number = architecture.partition("_")[2].rstrip("af")
    return f"{number[:-1]}.{number[-1]}"


def built_variants(options: argparse.Namespace, kernel: str) -> dict:
    """Files of every variant that is compiled or wrapped around a given library."""
    files = {}
    given_files = options.file or options.random or options.library or options.images
    for text in options.build or ([] if given_files else DEFAULT_VARIANTS):
        name, architectures = split(text, "--build")
        words = architectures.split(",")
        names = [word for word in words if "=" not in word]
        compression = "".join(word.removeprefix("compress=") for word in words if "=" in word)
        library = compile_library(find_nvcc(options.nvcc), names, work_folder(options), compression)
        listed = [capability(one) for one in names if one.startswith("sm_")]
        files |= kernel_repo.variant_files(BuildVariant(name, library, listed), kernel)
    for text in options.library:
        name, rest = split(text, "--library")
        library, _, listed = rest.partition("=")
        variant = BuildVariant(name, Path(library), [one for one in listed.split(",") if one])
        files |= kernel_repo.variant_files(variant, kernel)
    return files


def built_images(options: argparse.Namespace) -> dict:
    """images/: a cubin or PTX for each architecture, and one fatbin with all of them."""
    files = {}
    for text in options.images:
        names = text.split(",")
        for name in names:
            image = compile_image(
                find_nvcc(options.nvcc), [name], work_folder(options), options.define
            )
            files[f"images/ms_deform_attn.{name}{image.suffix}"] = image
        if len(names) > 1:
            files["images/ms_deform_attn.fatbin"] = compile_image(
                find_nvcc(options.nvcc), names, work_folder(options), options.define
            )
    return files


def work_folder(options: argparse.Namespace) -> Path:
    if options.work is None:
        raise ValueError("--work is needed where something is compiled")
    return options.work


def all_files(options: argparse.Namespace, repo_id: str) -> dict:
    files = {
        "README.md": kernel_repo.readme(repo_id),
        ".gitattributes": kernel_repo.gitattributes(),
    }
    files |= built_variants(options, repo_id.split("/")[-1]) | built_images(options)
    for text in options.file:
        path, local = split(text, "--file")
        files[path] = Path(local)
    for text in options.random:
        path, size = split(text, "--random")
        files[path] = random_bytes(path, size)
    return files


def main(arguments: list) -> int:
    options = parse_arguments(arguments)
    plural, _, repo_id = options.repo.partition("/")
    try:
        files = all_files(options, repo_id)
        options.root.mkdir(parents=True, exist_ok=True)
        card = {path: files[path] for path in ("README.md", ".gitattributes")}
        branches = {
            "main": kernel_repo.commit_files(
                options.root, options.repo, "main", card, f"Add the {plural[:-1]}'s card"
            )
        }
        for branch in options.branch or ["v1"]:
            branches[branch] = kernel_repo.commit_files(
                options.root, options.repo, branch, files, f"Build the {plural[:-1]} {repo_id}"
            )
        if not options.untrusted:
            kernel_repo.trust_publisher(options.root, repo_id.split("/")[0])
        made = [variants.make(Root(options.root), options.repo, name) for name in options.variant]
    except (NoCompiler, OSError, ValueError) as error:
        print(f"make_kernel_repo: {error}", file=sys.stderr)
        return 1
    commit = branches[(options.branch or ["v1"])[-1]]
    print(
        json.dumps(
            {
                "repository": options.repo,
                "type": plural[:-1],
                "id": repo_id,
                "branches": branches,
                "commit": commit,
                "files": sorted(files),
                "variants": made,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
