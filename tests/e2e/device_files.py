"""Device code without a compiler: PTX that defines a launch ABI, and a fatbin around it.

The text is what a compiler would write for kernels without a body; nothing in these tests runs it.
"""

import struct
from pathlib import Path

# The kernels of launch ABI ms_deform_im2col (proto/launch_abi.cpp): a prefix, and its parameters by size.
_IM2COL = (4, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 8)
_COL2IM = (4, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8)
_FORWARD = "_Z31ms_deformable_im2col_gpu_kernelIfEviPKT_PKlS4_S2_S2_iiiiiiiPS0_"
_BACKWARD_END = "EviPKT_S2_PKlS4_S2_S2_iiiiiiiPS0_S5_S5_"
_PLAIN = ("_Z34ms_deformable_col2im_gpu_kernel_gm", "_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v1",
          "_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v2",
          "_Z58ms_deformable_col2im_gpu_kernel_shm_reduce_v2_multi_blocks")
_BY_BLOCK = "_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_"


def abi_kernels() -> dict:
    kernels = {_FORWARD: _IM2COL}
    kernels |= {f"{prefix}If{_BACKWARD_END}": _COL2IM for prefix in _PLAIN}
    kernels |= {f"{_BY_BLOCK}v1IfLj{block}E{_BACKWARD_END}": _COL2IM for block in (1, 2, 4, 8, 16, 32)}
    kernels |= {f"{_BY_BLOCK}v2IfLj{block}E{_BACKWARD_END}": _COL2IM for block in (64, 128, 256, 512, 1024)}
    return kernels


def ptx(target: str, kernels: dict) -> bytes:
    lines = ["//", f".version 8.7\n.target {target}\n.address_size 64"]
    for symbol, sizes in kernels.items():
        parameters = ",\n".join(f"  .param .u{8 * size} {symbol}_param_{i}" for i, size in enumerate(sizes))
        lines.append(f".visible .entry {symbol}(\n{parameters}\n)\n{{\n  ret;\n}}")
    return ("\n".join(lines) + "\n").encode()


def fatbin(images: dict) -> bytes:
    """`images`: "sm_80" -> PTX. The layout is that of kernels/image/fatbin.hpp, without compression."""
    body = b""
    for target, text in images.items():
        payload = text + bytes(-len(text) % 8)
        header = bytearray(64)
        struct.pack_into("<HHIQI", header, 0, 1, 0x101, len(header), len(payload), 0)
        struct.pack_into("<I", header, 28, int(target.removeprefix("sm_")))
        struct.pack_into("<I", header, 40, 0x11)
        body += bytes(header) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def write_images(folder: Path) -> dict:
    """Files of a small kernel repository: path in the repository -> local file. The fatbin lies in LFS."""
    kernels = abi_kernels()
    contents = {
        "images/ms_deform_attn.fatbin": fatbin({arch: ptx(arch, kernels) for arch in ("sm_75", "sm_90")}),
        "images/ms_deform_attn.sm_80.ptx": ptx("sm_80", kernels),
        "images/other.ptx": ptx("sm_75", {"other": (4,)}),
    }
    files = {}
    for path, content in contents.items():
        files[path] = folder / Path(path).name
        files[path].write_bytes(content)
    return files
