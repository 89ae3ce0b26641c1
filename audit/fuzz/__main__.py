"""Runs all targets with all engines and keeps what they found; or one target, for the process that does."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

from audit import fuzz, results
from audit.fuzz import TARGETS
from audit.fuzz.engines import ENGINES, run_one, with_atheris, with_hypothesis

SECONDS, CORES = 600.0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m audit.fuzz", description=(fuzz.__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="in total, on two cores")
    parser.add_argument("--target", choices=list(TARGETS), help="one target only, in this process")
    parser.add_argument("--engine", choices=ENGINES, default="hypothesis", help="of that target")
    given = parser.parse_args(arguments)
    if given.target is None:
        return run_all(given.seconds)
    if given.engine == "atheris":
        with_atheris(given.target, given.seconds)
    else:
        print(json.dumps(with_hypothesis(given.target, given.seconds)))
    return 0


def run_all(seconds: float) -> int:
    """Each target with each engine, for an equal share of the time. Whether anything was found."""
    begun = time.monotonic()
    engines = [engine for engine in ENGINES if find_spec(engine)]
    jobs = [(target, engine) for engine in engines for target in TARGETS]
    share = seconds * CORES / len(jobs)
    found: dict[str, dict[str, Any]] = {target: {"findings": []} for target in TARGETS}

    def work(job: tuple[str, str]) -> None:
        target, engine = job
        told = run_one(target, engine, share)
        print(f"{target}, {engine}: {json.dumps(told)[:1500]}", flush=True)
        findings = told.pop("findings")
        found[target] |= told
        found[target]["findings"] += findings

    print(f"{len(jobs)} runs of {share:.0f} seconds, {CORES} at a time", flush=True)
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(work, jobs))
    command = "python -m audit.fuzz" + (f" --seconds {seconds:g}" if seconds != SECONDS else "")
    print(results.write("fuzz", command, time.monotonic() - begun, {"engines": engines, "targets": found}))
    return int(any(target["findings"] for target in found.values()))


if __name__ == "__main__":
    sys.exit(main())
