#!/usr/bin/env python3
"""Compares what the image reader says with what NVIDIA's own tools say.

    images_test.py [--dump PROGRAM] FILE...   the given files (what the build made with nvcc)
    images_test.py [--dump PROGRAM]           cubins and PTX by NVRTC 11.8 and 12.9 and the libraries of two
                                              bitsandbytes releases (CUDA 11.7 to 13.0), which it downloads

For every image: bytes and hash against `cuobjdump -xelf -xptx`, architecture and variant against its listing,
kernels against `-res-usage` and nvdisasm, parameter layouts against the attributes that `-elf` prints, and
layouts of PTX against the cubin that ptxas makes of it. Exit 77 where the tools are not installed.
"""

import argparse
import ctypes
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "bin"
SKIPPED = 77
# cuobjdump 13.5 calls machine code that nvlink 12.0 to 12.2 made invalid; nvdisasm and readelf read it. Such
# a library is compared with one that was built from the same source by another CUDA version.
UNREADABLE_TOOLKITS = {"12.0", "12.1", "12.2"}
DISASSEMBLED_BYTES_MAX = 256 * 1024


class Mismatch(Exception):
    """The reader and a tool disagree."""


def run(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, cwd=cwd, check=False)
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def expect(ours, theirs, what):
    if ours != theirs:
        raise Mismatch(f"{what}:\n  ours   {ours}\n  theirs {theirs}")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def dump(program, path, folder=None):
    """The images that the reader finds, with the file that it extracted each into."""
    out, error = run(program, path, *([folder] if folder else []))
    if not out:
        raise Mismatch(f"image_dump {path}: {error.strip()}")
    images = json.loads(out)["images"]
    for number, image in enumerate(images):
        image["file"] = folder / f"{number}.{image['kind']}" if folder else path
    return images


def cuobjdump_images(path, folder):
    """(kind, architecture, hash) as cuobjdump extracts them, each once; and whether it reached the end."""
    _, error = run(TOOLS / "cuobjdump", "-xelf", "all", path, cwd=folder)
    run(TOOLS / "cuobjdump", "-xptx", "all", path, cwd=folder)
    found = {}
    for kind in ("cubin", "ptx"):
        for extracted in folder.glob(f"*.{kind}"):
            # NAME.NUMBER.sm_90a.cubin; a bare cubin has no number.
            match = re.search(r"(?:\.(\d+))?\.(sm_\w+)\.(?:cubin|ptx)$", extracted.name)
            found[(kind, sha256(extracted), match[2])] = int(match[1] or 1)
    return sorted(found, key=lambda entry: (entry[0], found[entry])), "Invalid ELF" not in error


def cuobjdump_targets(path):
    """{(kind, target)} of a fatbin or library, with family variants, which extracted names lack."""
    out, _ = run(TOOLS / "cuobjdump", path)
    kinds = {"elf": "cubin", "ptx": "ptx"}
    found = re.findall(r"^Fatbin (elf|ptx) code:\n=+\narch = (sm_\w+)$", out, re.MULTILINE)
    return {(kinds[kind], arch) for kind, arch in found}


def functions_with_resources(cubin):
    """Kernels, and the device functions that were not inlined."""
    out, _ = run(TOOLS / "cuobjdump", "-res-usage", cubin)
    return set(re.findall(r"^ Function (\S+):$", out, re.MULTILINE))


def nvdisasm_kernels(cubin):
    out, _ = run(TOOLS / "nvdisasm", cubin)
    return set(re.findall(r'^\s+\.other\s+(\S+),@"STO_CUDA_ENTRY', out, re.MULTILINE))


def cuobjdump_kernels(cubin):
    """{kernel: [[offset, size], ...]} from the symbols and attributes that cuobjdump prints."""
    out, _ = run(TOOLS / "cuobjdump", "-elf", cubin)
    kernels = {name: {} for name in re.findall(r"^ +0x.* FUNC .* ENTRY .* (\S+)$", out, re.MULTILINE)}
    current = None
    for line in out.splitlines():
        if line and not line[0].isspace():
            section = re.fullmatch(r"\.nv\.info\.(\S+)", line.strip())
            current = kernels.get(section[1]) if section else None
        elif current is not None and "Ordinal" in line:
            numbers = dict(re.findall(r"(\w+)\s*: 0x([0-9a-f]+)", line))
            current[int(numbers["Ordinal"], 16)] = [int(numbers["Offset"], 16), int(numbers["Size"], 16)]
    return {name: [value for _, value in sorted(found.items())] for name, found in kernels.items()}


def check_cubin(image, readable):
    kernels = {kernel["symbol"]: kernel["parameters"] for kernel in image["kernels"]}
    path = image["file"]
    if path.stat().st_size <= DISASSEMBLED_BYTES_MAX:
        disassembled = nvdisasm_kernels(path)
        if disassembled:  # nvdisasm 13 refuses architectures before sm_75
            expect(set(kernels), disassembled, f"kernels of {path.name} by nvdisasm")
    if not readable:
        return
    expect(set(kernels) - functions_with_resources(path), set(), f"functions of {path.name}")
    expect(kernels, cuobjdump_kernels(path), f"kernels of {path.name}")


class Siblings:
    """What cuobjdump confirmed of the libraries of one folder, by architecture. Releases of CUDA differ in which
    kernels a source has for them, so a library that cuobjdump cannot read has to equal one of the others, earlier
    or later."""

    def __init__(self):
        self.confirmed = {}
        self.waiting = []

    def add(self, path, images, readable):
        if not readable:
            self.waiting.append((path, images))
            return
        for image in images:
            self.confirmed.setdefault(self.key(path, image), []).append(image["kernels"])

    def check(self):
        """Yields (path, None or the mismatch) for each that waits."""
        for path, images in self.waiting:
            strange = [image["arch"] for image in images
                       if image["kernels"] not in self.confirmed.get(self.key(path, image), [])]
            yield path, Mismatch(f"no sibling has the kernels of {', '.join(strange)}") if strange else None

    @staticmethod
    def key(path, image):
        return path.parent, image["kind"], image["arch"]


def check_ptx(image, program, folder):
    """Layouts against the machine code that ptxas makes of the text."""
    text = image["file"].read_text()
    names = set(re.findall(r"^\s*(?:\.\w+\s+)*\.entry\s+([\w$]+)", text, re.MULTILINE))
    kernels = {kernel["symbol"]: kernel["parameters"] for kernel in image["kernels"]}
    expect(set(kernels), names, f"kernels of {image['file'].name}")
    ptxas = shutil.which("ptxas") or next(iter(ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cu13/bin/ptxas")), None)
    architecture = int(re.search(r"\d+", image["arch"])[0])
    if ptxas is None or architecture < 75 or architecture in (101,):  # what ptxas 13 still knows
        return
    cubin = folder / "from_ptx.cubin"
    _, error = run(ptxas, f"-arch={image['arch']}", image["file"], "-o", cubin)
    if not cubin.exists():
        raise Mismatch(f"ptxas {image['file'].name}: {error.strip()}")
    compiled = dump(program, cubin)[0]
    expect(kernels, {kernel["symbol"]: kernel["parameters"] for kernel in compiled["kernels"]},
           f"parameters of {image['file'].name} by ptxas")
    cubin.unlink()


def check_images(path, images, folder):
    """Their list of images against ours. Returns whether cuobjdump can read the machine code."""
    extracted = folder / "cuobjdump"
    extracted.mkdir()
    theirs, complete = cuobjdump_images(path, extracted)
    ours = [(image["kind"], image["sha256"], re.sub("f$", "", image["arch"]) if image["kind"] == "cubin"
             else image["arch"]) for image in images]
    ours.sort(key=lambda entry: entry[0])
    if complete:
        expect(ours, theirs, f"images of {path.name}")
    elif {image["version"] for image in images if image["kind"] == "cubin"} <= UNREADABLE_TOOLKITS:
        expect(ours[:len(theirs)], theirs, f"first images of {path.name}")
    else:
        raise Mismatch(f"cuobjdump cannot read {path.name}")
    if complete and images[0]["container"] in ("fatbin", "library"):
        expect({(image["kind"], image["arch"]) for image in images}, cuobjdump_targets(path),
               f"targets of {path.name}")
    return complete


def check(path, program, siblings):
    """One file. Returns what was compared, in words."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        images = dump(program, path, folder)
        for image in images:
            expect(image["bytes"], image["file"].stat().st_size, f"size of {image['file'].name}")
            expect(image["sha256"], sha256(image["file"]), f"hash of {image['file'].name}")
        # cuobjdump takes no bare PTX.
        readable = path.suffix == ".ptx" or check_images(path, images, folder)
        for image in images:
            if image["kind"] == "cubin":
                check_cubin(image, readable)
            else:
                check_ptx(image, program, folder)
    siblings.add(path, images, readable)
    kinds = [image["kind"] for image in images]
    kernels = sum(len(image["kernels"]) for image in images)
    parameters = sum(len(kernel["parameters"]) for image in images for kernel in image["kernels"])
    note = "" if readable else " (cuobjdump gives up: see below)"
    return (f"{kinds.count('cubin')} cubins, {kinds.count('ptx')} PTX, {kernels} kernels, "
            f"{parameters} parameters{note}")


# ---- what is large ------------------------------------------------------------------------------

WHEELS = ["nvidia-cuda-nvrtc-cu11==11.8.89", "nvidia-cuda-nvrtc-cu12==12.9.86",
          "bitsandbytes==0.45.5", "bitsandbytes==0.49.0"]
NVRTC = {
    "11.8": ["sm_50", "sm_53", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87",
             "sm_89", "sm_90", "compute_50", "compute_80", "compute_90"],
    "12.9": ["sm_50", "sm_75", "sm_80", "sm_87", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
             "sm_101", "sm_101a", "sm_103", "sm_120", "sm_120f", "sm_121a", "compute_75", "compute_90a",
             "compute_100f"],
}


def download(folder):
    """The wheels, unpacked; what is there already is not downloaded again."""
    for wheel in WHEELS:
        target = folder / wheel.replace("==", "-")
        if target.exists():
            continue
        with tempfile.TemporaryDirectory(dir=folder) as name:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                            "--disable-pip-version-check", "--dest", name, wheel], check=True)
            unpacked = pathlib.Path(name) / "unpacked"
            with zipfile.ZipFile(next(pathlib.Path(name).glob("*.whl"))) as archive:
                archive.extractall(unpacked)
            unpacked.rename(target)


class Nvrtc:
    """The compiler of one CUDA release, as a library."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))

    def compile(self, source, target):
        program = ctypes.c_void_p()
        create = self.library.nvrtcCreateProgram
        create(ctypes.byref(program), source.encode(), b"several.cu", 0, None, None)
        options = (ctypes.c_char_p * 2)(f"--gpu-architecture={target}".encode(), b"--std=c++17")
        if self.library.nvrtcCompileProgram(program, 2, options) != 0:
            raise Mismatch(f"NVRTC does not compile for {target}: {self.output(program, 'ProgramLog')}")
        return self.output(program, "CUBIN" if target.startswith("sm_") else "PTX")

    def output(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, text)
        return text.raw


def nvrtc_files(folder):
    source = (ROOT / "tests/kernels/data/several.cu").read_text()
    # NVRTC has no host and no <cstdint>; before CUDA 12.1 parameters end at 4,096 bytes.
    source = source.replace("#include <cstdint>", "namespace std { using int16_t = short; }")
    source = source.replace("bytes[5000]", "bytes[3000]")
    source = source[:source.index("void launch_hidden")]
    libraries = {"11.8": "nvidia-cuda-nvrtc-cu11-11.8.89/nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2",
                 "12.9": "nvidia-cuda-nvrtc-cu12-12.9.86/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"}
    for release, targets in NVRTC.items():
        compiler = Nvrtc(folder / libraries[release])
        for target in targets:
            suffix = "cubin" if target.startswith("sm_") else "ptx"
            path = folder / f"nvrtc_{release}.{target}.{suffix}"
            path.write_bytes(compiler.compile(source, target))
            yield path


def large_files():
    folder = ROOT / "build" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    download(folder)
    yield from nvrtc_files(folder)
    yield from sorted(folder.glob("bitsandbytes-*/bitsandbytes/*_cuda*.so"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dump", type=pathlib.Path, default=ROOT / "build/dev/bin/image_dump")
    parser.add_argument("files", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    if not (TOOLS / "cuobjdump").exists() or not (TOOLS / "nvdisasm").exists():
        print(f"skipped: no cuobjdump and nvdisasm in {TOOLS} (script/bootstrap test installs them)")
        return SKIPPED
    failures = 0
    siblings = Siblings()

    def label(path):
        return "/".join(path.parts[-3:]) if "bitsandbytes" in str(path) else path.name

    def fail(path, mismatch):
        nonlocal failures
        failures += 1
        print(f"FAIL  {label(path)}: {mismatch}", flush=True)

    for path in [path.resolve() for path in arguments.files] or large_files():
        try:
            print(f"ok    {label(path)}: {check(path, arguments.dump, siblings)}", flush=True)
        except Mismatch as mismatch:
            fail(path, mismatch)
    for path, mismatch in siblings.check():
        if mismatch:
            fail(path, mismatch)
        else:
            print(f"ok    {label(path)}: the kernels of a sibling that cuobjdump reads", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
