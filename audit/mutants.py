"""Privacy bugs are put in one by one (audit/bugs.py), and all checks are asked: each bug must be caught by one.

    python -m audit.mutants

Checks that find something wrong without any bug would prove nothing, so they are run without one as well.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from audit import bits, blackbox, results
from audit.bugs import BUGS
from audit.draws import wrong_laws, wrong_sources
from audit.neighbours import KINDS
from audit.replay import CHECKS, check_pair
from privreg import Ledger, PrivateLinearRegression
from privreg.privacy.noise import SeededNoise

PAIRS = 3 * len(KINDS)
NO_BUG = "(none)"


def replayed(case: str, pairs: int = PAIRS) -> set[str]:
    """Checks of record and replay that fail on a case."""
    return set().union(*(check_pair(case, i).failed for i in range(pairs)))


def died_without_trace() -> bool:
    """Whether a fit that died after its first step left the ledger as it was."""

    def die(_: str) -> None:
        raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger")
        ledger.create("d", "3", "1e-3")
        model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="d")
        model._watch = die
        with suppress(KeyboardInterrupt):
            model.fit(np.ones((30, 2)), np.ones(30))
        return ledger.status("d")[0].entries == 0


# Audits of each kind of step. The others are compositions of these.
_QUICK_AUDITS = ("count", "kendall", "quantile", "mean", "moments", "tukey 1-D", "tukey unsafe", "bas 5")


def over_claim(runs: int = 10_000) -> bool:
    """Whether a black-box audit proves a larger ε than was claimed."""
    return any(blackbox.run(name, "seeded", runs).excess for name in _QUICK_AUDITS)


OTHER: dict[str, tuple[str, Callable[[], bool]]] = {
    "order": (
        "statistics do not depend on the order of rows",
        lambda: bool(bits.order(["all columns", "kendall", "adassp"], shuffles=1)["wrong"]),
    ),
    "law": (
        "the noise follows its law",
        lambda: bool(wrong_laws(6_000, {"seeded": SeededNoise(np.random.default_rng(5))})),
    ),
    "source": ("private fits draw from OpenDP", lambda: bool(wrong_sources())),
    "ledger": ("a fit that dies is in the ledger", died_without_trace),
    "black box": ("no audit proves more than the claim", over_claim),
}

ALL_CHECKS = {**CHECKS, **{name: what for name, (what, _) in OTHER.items()}}


def caught(name: str, case: str, pairs: int = PAIRS) -> list[str]:
    """The checks that see the bug, in the order of ALL_CHECKS."""
    with BUGS[name].put_in() if name in BUGS else nullcontext():
        seen = replayed(case, pairs)
        seen |= {check for check, (_, fails) in OTHER.items() if _fails(fails)}
    return [check for check in ALL_CHECKS if check in seen]


def _fails(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # the bug broke what the check runs on
        return True


def _judged(task: tuple[str, str]) -> tuple[str, str, list[str]]:
    return *task, caught(*task)


def main() -> None:
    start = time.time()
    cases = sorted({bug.case for bug in BUGS.values()})
    tasks = [*((name, bug.case) for name, bug in BUGS.items()), *((NO_BUG, case) for case in cases)]
    rows: list[dict[str, Any]] = []
    alarms: list[str] = []
    with ProcessPoolExecutor() as pool:
        for name, case, seen in pool.map(_judged, tasks):
            print(
                f"mutants: {name}, {case}: {', '.join(seen) or 'nothing found'}, {time.time() - start:.0f} s",
                flush=True,
            )
            if name == NO_BUG:
                alarms += [f"{case}: {check}" for check in seen]
            else:
                rows.append({"bug": name, "what": BUGS[name].what, "case": case, "caught by": seen})
    found = {"checks": ALL_CHECKS, "bugs": rows, "alarms without a bug": alarms}
    results.write("mutants", "python -m audit.mutants", time.time() - start, found)
    missed = [row["bug"] for row in rows if not row["caught by"]]
    print(f"{len(rows)} bugs, missed: {missed or 'none'}; alarms without a bug: {alarms or 'none'}")
    sys.exit(bool(missed or alarms))


if __name__ == "__main__":
    main()
