#!/usr/bin/env python3
"""kernels/reference against LibreYOLO itself, on a CPU, over thousands of generated cases of every slot.

Quantization slots must agree in every bit of output and gradient, including the sign of zero. The one
rule: where LibreYOLO's answer is NaN, any NaN will do, since which one it is depends on the order of
operands that a compiler chose. ms_deform_attn is compared within the tolerance of oracle_attention.py.

    oracle_test.py --peer PROGRAM [--cases N] [--seed N] [SLOT...]
    oracle_test.py --golden        writes tests/reference/golden anew

Runs in .venv-oracle (script/bootstrap oracle) or whatever $LYK_ORACLE_PYTHON names. Exit code 77 (skipped)
where that has no libreyolo.
"""

import argparse
import importlib.util
import os
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
SKIPPED = 77
CASES = 20_000
GOLDEN_BYTES = 24_000  # of a slot


def use_the_oracles_interpreter():
    """Starts this script again with the interpreter that has libreyolo, if this one has not."""
    if importlib.util.find_spec("libreyolo") is not None:
        return
    python = os.environ.get("LYK_ORACLE_PYTHON", HERE.parents[1] / ".venv-oracle/bin/python")
    if "LYK_ORACLE" in os.environ or not Path(python).exists():
        print("skipped: libreyolo is not installed; script/bootstrap oracle does it")
        sys.exit(SKIPPED)
    os.environ["LYK_ORACLE"] = "started again"
    os.execv(python, [str(python), *sys.argv])


use_the_oracles_interpreter()

import numpy as np  # noqa: E402

import oracle_attention  # noqa: E402
import oracle_cases  # noqa: E402
from oracle_libreyolo import CPU, CUDA, rules, versions  # noqa: E402

SLOTS = [*oracle_cases.MAKERS, oracle_attention.SLOT]


# ---- cases as bytes (case_file.hpp) -----------------------------------------------------------------


def packed_arrays(arrays):
    parts = [struct.pack("<I", len(arrays))]
    for array in arrays:
        parts += [struct.pack("<Q", array.nbytes), array.tobytes()]
    return b"".join(parts)


def packed_case(case):
    name = case.slot.encode()
    return b"".join([struct.pack(f"<I{len(name)}sI", len(name), name, len(case.numbers)),
                     struct.pack(f"<{len(case.numbers)}q", *case.numbers), packed_arrays(case.arrays)])


def answers_of(peer, cases):
    done = subprocess.run([peer], input=b"".join(map(packed_case, cases)), stdout=subprocess.PIPE,
                          check=True)
    data, at = memoryview(done.stdout), 0
    for _case in cases:
        (count,), at = struct.unpack_from("<I", data, at), at + 4
        arrays = []
        for _array in range(count):
            (size,), at = struct.unpack_from("<Q", data, at), at + 8
            arrays.append(np.frombuffer(data[at : at + size], dtype=np.uint8))
            at += size
        yield arrays
    assert at == len(data), "the peer answered more than it was asked"


# ---- comparison -------------------------------------------------------------------------------------


def differs(expected, actual):
    """Which elements differ: other bits, unless both are NaN."""
    expected, actual = expected.reshape(-1).view(np.uint32), actual.view(np.uint32)
    if expected.size != actual.size:
        return np.ones(max(expected.size, 1), dtype=bool)
    different = expected != actual
    if different.any():
        different &= ~(np.isnan(expected.view(np.float32)) & np.isnan(actual.view(np.float32)))
    return different


def show(case, number, array, different):
    place = int(np.flatnonzero(different)[0])
    print(f"  case {number}, answer {array}, element {place}: LibreYOLO says "
          f"{case.expected[array].reshape(-1)[place]!r}; numbers {case.numbers}")


def compare_bits(peer, cases):
    wrong = values = 0
    for number, (case, actual) in enumerate(zip(cases, answers_of(peer, cases))):
        for array, expected in enumerate(case.expected):
            different = differs(expected, actual[array])
            values += expected.size
            if different.any():
                wrong += 1
                if wrong <= 5:
                    show(case, number, array, different)
    return wrong, f"{values} values"


def compare_nearness(peer, cases):
    wrong = left_out = values = 0
    for number, (case, actual) in enumerate(zip(cases, answers_of(peer, cases))):
        faults, ignored = oracle_attention.faults(case, actual)
        left_out += ignored
        values += sum(expected.size for expected in case.expected)
        if faults:
            wrong += 1
            if wrong <= 5:
                print(f"  case {number}: {faults} elements; numbers {case.numbers}")
    return wrong, f"{values} values, {left_out} gradients at a kink not compared"


# ---- generation -------------------------------------------------------------------------------------


def generator(slot, device, seed):
    return np.random.default_rng([seed, zlib.crc32(slot.encode()), device])


def quantization_cases(slot, device, seed, count):
    rng = generator(slot, device, seed)
    with rules(device), np.errstate(all="ignore"):
        cases = [oracle_cases.MAKERS[slot](rng, device) for _ in range(count)]
        if slot == "fake_quant_mxfp4_weight":
            cases.append(oracle_cases.below_every_power_of_two(device))
    return cases


def attention_cases(seed, count):
    rng = generator(oracle_attention.SLOT, CPU, seed)
    return [oracle_attention.make(rng, (np.float64, np.float32)[i % 2]) for i in range(count)]


def runs_of(slot, seed, count):
    """What is compared for a slot: a name and the cases, made when they are asked for."""
    if slot == oracle_attention.SLOT:
        yield "portable form", lambda: attention_cases(seed, count), compare_nearness
        return
    yield "CPU", lambda: quantization_cases(slot, CPU, seed, count), compare_bits
    if slot in oracle_cases.WITH_MODES:
        yield ("GPU's rules", lambda: quantization_cases(slot, CUDA, seed, count // 4), compare_bits)


# ---- golden files -----------------------------------------------------------------------------------


def golden_cases(slot, seed):
    """A choice of small cases of the slot, by the rules of both devices, up to GOLDEN_BYTES."""
    if slot == oracle_attention.SLOT:
        # All of the answer is compared in C++, so that only cases without a kink are kept.
        made = [case for case in attention_cases(seed, 400)
                if case.numbers[0] == 1 and all(compared.all() for compared in case.compared)]
    else:
        devices = (CPU, CUDA) if slot in oracle_cases.WITH_MODES else (CPU,)
        lists = [quantization_cases(slot, device, seed, 120)[:120] for device in devices]
        made = [case for together in zip(*lists) for case in together]
    size = 0
    for case in made:
        packed = packed_case(case) + packed_arrays(case.expected)
        if len(packed) <= 1500 and size + len(packed) <= GOLDEN_BYTES:
            size += len(packed)
            yield packed


def golden_file(slot, seed):
    packed = list(golden_cases(slot, seed))
    head = (f"Golden cases of {slot}, compared by tests/reference/golden_test.cpp.\n"
            f"Answered by {versions()}.\n"
            "Written by tests/reference/oracle_test.py --golden; the format is that of case_file.hpp.\n"
            "---\n")
    return head.encode() + struct.pack("<I", len(packed)) + b"".join(packed)


def write_golden(seed):
    GOLDEN.mkdir(exist_ok=True)
    for slot in SLOTS:
        path = GOLDEN / f"{slot}.golden"
        path.write_bytes(golden_file(slot, seed))
        print(f"{path.relative_to(HERE)}: {path.stat().st_size} bytes")


# ---- main -------------------------------------------------------------------------------------------


def run(peer, slots, seed, count):
    failed = 0
    for slot in slots:
        for name, make, compare in runs_of(slot, seed, count):
            start = time.monotonic()
            cases = make()
            wrong, details = compare(peer, cases)
            failed += wrong
            print(f"{slot}, {name}: {len(cases)} cases, {details}, {wrong} mismatches, "
                  f"{time.monotonic() - start:.0f} s", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("slots", nargs="*", default=SLOTS, metavar="SLOT")
    parser.add_argument("--peer", help="the program oracle_peer")
    parser.add_argument("--cases", type=int, default=CASES, help="of each slot")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--golden", action="store_true", help="write the golden files anew")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.slots) - set(SLOTS))
    if unknown or not (arguments.golden or arguments.peer):
        parser.error(f"unknown slots: {', '.join(unknown)}" if unknown else "--peer is missing")
    print(versions(), flush=True)
    if arguments.golden:
        write_golden(arguments.seed)
        return 0
    return 1 if run(arguments.peer, arguments.slots, arguments.seed, arguments.cases) else 0


if __name__ == "__main__":
    sys.exit(main())
