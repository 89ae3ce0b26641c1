"""Runs all checks and keeps what they found."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from audit import bits, results
from audit.bits.boxes import narrow_boxes
from audit.bits.cases import Finding
from audit.bits.mistakes import wrong_ways
from audit.bits.noise import low_bits
from audit.bits.outputs import grids, integers, outputs_alone
from audit.bits.pieces import chunks, layouts, threads
from audit.bits.points import tukey_bits
from audit.bits.processors import kernels
from audit.bits.records import groups, order

FEW = ("screening", "people", "sublasso", "tukey", "adassp")
# Each with what makes it small.
CHECKS: dict[str, tuple[Callable[..., Finding], dict[str, Any]]] = {
    "integers": (integers, {"names": FEW[:2], "seeds": 1}),
    "order of records": (order, {"names": FEW, "shuffles": 1}),
    "groups": (groups, {"records": 4}),
    "chunks": (chunks, {"names": FEW, "sizes": (7,)}),
    "memory layout": (layouts, {"names": ("screening", "sublasso", "tukey", "adassp")}),
    "threads": (threads, {"names": FEW, "jobs": (3,), "repeats": 1}),
    "processor kernels": (
        kernels,
        {"names": FEW, "only": ("1 BLAS thread", "BLAS kernels for Prescott"), "records": 20_000},
    ),
    "outputs alone decide": (outputs_alone, {"names": ("all columns", "sublasso", "tukey", "adassp")}),
    "grids": (grids, {"names": ("people",), "codes": 2_000}),
    "low-order bits": (low_bits, {"names": ("all columns",), "draws": 1_000}),
    "low-order bits of a drawn point": (tukey_bits, {"draws": 400}),
    "boxes of a few floats": (narrow_boxes, {"sets": 60}),
    "wrong ways are noticed": (wrong_ways, {"draws": 2_000}),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m audit.bits", description=bits.__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables and fewer draws; nothing is written")
    quick = parser.parse_args(arguments).quick
    began = time.perf_counter()
    found = []
    for name, (check, small) in CHECKS.items():
        start = time.perf_counter()
        finding = {"name": name, **check(**(small if quick else {}))}
        found.append(finding)
        verdict = f"{len(finding['wrong'])} WRONG" if finding["wrong"] else "fine"
        print(f"{name}: {finding['cases']:,} cases, {verdict} ({time.perf_counter() - start:.0f} s)", flush=True)
        for line in finding["wrong"]:
            print(f"  {line}", flush=True)
    if not quick:
        results.write("bits", "python -m audit.bits", time.perf_counter() - began, {"checks": found})
    return int(any(finding["wrong"] for finding in found))


if __name__ == "__main__":
    sys.exit(main())
