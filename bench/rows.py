"""The rows that benches report: printed as they come, kept for the JSON document and for the page (page.py)."""

import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    """One comparison. `sides` are seconds by name, ours first; `share` is of the memory roofline. `met` is None for what
    could not be measured, and `detail` then says why."""

    name: str
    reach: str
    value: str
    met: bool | None
    detail: str
    sides: dict = dataclasses.field(default_factory=dict)
    share: float | None = None
    bench: str = ""


ROWS = []


def spread(seconds):
    return {"min": min(seconds), "median": statistics.median(seconds), "max": max(seconds)}


def unit_of(seconds):
    """The unit that suits a duration, and how many of it are a second."""
    return next((unit, factor) for least, unit, factor in ((1, "s", 1), (1e-3, "ms", 1e3), (1e-6, "us", 1e6), (0, "ns", 1e9))
                if seconds >= least)


def text(seconds):
    unit, factor = unit_of(seconds["median"])
    return "/".join(f"{seconds[key] * factor:.4g}" for key in ("min", "median", "max")) + f" {unit}"


def report(name, reach, value, met, note="", *, sides=None, share=None):
    """Prints a row. `note` follows the times of the sides; without sides it is all that is said."""
    sides = sides or {}
    times = ", ".join(f"{side} {text(seconds)}" for side, seconds in sides.items())
    row = Row(name, reach, value, met, "; ".join(part for part in (times, note) if part), sides, share)
    ROWS.append(row)
    print(f"{'reached' if met else 'MISSED ':8} {name}: {value} (reach: {reach})\n         {row.detail}", flush=True)


def skip(name, reason):
    """Prints and keeps that there is nothing to compare."""
    ROWS.append(Row(name, "", "", None, reason))
    print(f"skipped  {name}: {reason}", flush=True)
