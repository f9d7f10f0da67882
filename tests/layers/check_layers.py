#!/usr/bin/env python3
"""The arrows between the folders, checked on every #include of the sources.

Each folder may include itself and the folders below it. Headers of other people's libraries are named
only by the files that own them. Usage: check_layers.py SOURCE_DIR
"""

import pathlib
import re
import sys

# Who may include whom. A folder that is not here may include nothing of ours; every folder that holds
# C or C++ must be here.
ARROWS = {
    "proto": [],
    "kernels/image": ["proto"],
    "kernels/slots": [],
    "kernels/reference": ["proto", "kernels/slots"],
    "kernels/cpu": ["proto", "kernels/slots"],
    "kernels/cuda": [],
    "cache": ["proto", "kernels/image"],
    "fetcher": ["proto", "kernels/image", "cache"],
    "daemon": ["proto", "kernels/image", "cache", "fetcher"],
    "client": ["proto", "kernels/image", "kernels/slots", "kernels/reference", "kernels/cpu",
               "kernels/cuda"],
    "parity": ["proto", "kernels/slots", "kernels/reference", "client"],
    "cli": ["proto", "kernels/image", "client", "parity"],
    "python": ["client"],
    "examples": ["client"],
}
# Beyond the folders: who may use only one header of another.
ONLY_THESE = {
    ("python", "client"): {"client/lyk.h"},
    ("examples", "client"): {"client/lyk.h", "client/lyk.hpp"},
    # What the host shares with the device code, which only nvcc compiles.
    ("client", "kernels/cuda"): {"kernels/cuda/arguments.hpp", "kernels/cuda/launch.hpp",
                                 "kernels/cuda/deform_launch.hpp"},
}
# Tests and benchmarks look at everything.
FREE = ["tests", "bench"]
# Programs of somebody else's, which are built without our root: they name their own headers plainly.
APART = ["examples"]
# Headers that are installed side by side, and name each other so.
INSTALLED = {"client/lyk.h", "client/lyk.hpp", "client/lyk_ms_deform_attn.h",
             "client/lyk_quantization.h"}

# Headers of other libraries, and the only files that may name them. A new owner is a decision: it is
# added here, in the commit that makes it one.
OWNERS = {
    r"curl/": ["fetcher/init.cpp", "fetcher/transfer.cpp"],
    r"git2(/|\.h)": ["fetcher/git_handles.hpp", "fetcher/git_store.cpp",
                     "fetcher/git_transport.cpp", "fetcher/init.cpp"],
    r"zlib\.h": ["fetcher/pack_guard.cpp"],
    r"sqlite3\.h": ["cache/sqlite.cpp"],
    r"openssl/": ["proto/hash.cpp"],
    r"nlohmann/": ["proto/codec.hpp", "fetcher/hub_json.cpp"],
    r"toml\+\+/|toml\.hpp": ["fetcher/toml.cpp", "cli/pin_file.cpp"],
    r"cxxopts\.hpp": ["cli/options.cpp"],
    r"(zstd|lz4)\w*\.h": ["kernels/image/decompress.cpp"],
    r"(dlfcn|link)\.h": ["client/driver.cpp", "client/own_file.cpp", "examples/cuda_driver.h"],
    r"systemd/": ["daemon/notify.cpp"],
    r"cxxabi\.h": ["kernels/image/demangle.cpp"],
    r"(cuda|nv)\w*\.h": ["kernels/cuda/"],
    r"hwy/": ["kernels/cpu/"],
}
# In a header they would reach everybody who includes it. These headers are internal to their folder.
INTERNAL_HEADERS = {"proto/codec.hpp", "proto/codec_types.hpp", "proto/codec_methods.hpp",
                    "fetcher/git_handles.hpp"}

SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def folder_of(path):
    """The longest folder of ARROWS that holds `path`, or its first part."""
    holders = [folder for folder in ARROWS if path.startswith(folder + "/")]
    return max(holders, key=len) if holders else path.split("/")[0]


def is_owner(path, owners):
    return any(path == owner or (owner.endswith("/") and path.startswith(owner)) for owner in owners)


def check_ours(path, header):
    source, target = folder_of(path), folder_of(header)
    if header in INTERNAL_HEADERS and source != target:
        return f"{header} is internal to {target}/"
    if source == target:
        return None
    if target not in ARROWS.get(source, []):
        return f"{source}/ must not include {target}/ ({header})"
    allowed = ONLY_THESE.get((source, target))
    if allowed is not None and header not in allowed:
        return f"{source}/ may include only {', '.join(sorted(allowed))} of {target}/, not {header}"
    return None


def check_foreign(path, header):
    for pattern, owners in OWNERS.items():
        if re.match(pattern, header) and not is_owner(path, owners):
            return f"<{header}> belongs to {', '.join(owners)} alone"
    return None


def check_include(path, bracket, header, root):
    is_neighbour = bracket == '"' and ((root / path).parent / header).is_file()
    if is_neighbour and (folder_of(path) in APART or path in INSTALLED):
        return None
    is_ours = (root / header).is_file() and folder_of(header) in ARROWS
    if bracket == '"' and not is_ours and not (root / header).is_file():
        return f'"{header}" is not a path from the root of the sources'
    return check_ours(path, header) if is_ours else check_foreign(path, header)


def sources(root):
    for folder in sorted({name.split("/")[0] for name in ARROWS}):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def faults(root):
    count = 0
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        if folder_of(name) not in ARROWS:
            yield f"{name}: its folder has no place among the arrows"
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            fault = check_include(name, match[1], match[2], root)
            if fault:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: {fault}"
        count += 1
    if count == 0:
        yield f"{root}: no sources"


def main(find=faults):
    found = list(find(pathlib.Path(sys.argv[1])))
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
