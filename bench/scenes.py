"""The scenes of ms_deform_attn, from the file that the benchmarks in C++ read as well (scenes.hpp)."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Scene:
    """Sizes of a ms_deform_attn of one image; `sides` are its levels, which are squares."""

    queries: int
    heads: int
    channels: int
    points: int
    sides: tuple


def read(path):
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: Scene(*map(int, sizes[:4]), tuple(map(int, sizes[4:]))) for name, *sizes in lines}


SCENES = read(pathlib.Path(__file__).with_name("scenes.txt"))
