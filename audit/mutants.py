"""Privacy bugs are put in one by one (audit/bugs), and all checks are asked: each bug must be caught by one.

    python -m audit.mutants

Checks that find something wrong without any bug would prove nothing, so they are run without one as well.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from audit import bits, blackbox, fuzz, results
from audit.bugs import BUGS
from audit.cases import CASES
from audit.draws import wrong_laws, wrong_sources
from audit.replay import CHECKS, check_pair
from privreg import DPKendall, Ledger, LedgerError, PrivateLinearRegression
from privreg.data.schema import CATEGORY, NUMBER, Column, Schema
from privreg.errors import NotPrivateWarning
from privreg.privacy.noise import OpenDPNoise, SeededNoise


def pairs_of(case: str) -> int:
    """How many pairs a bug is looked for in: every kind of record, added and removed; few for the slow command."""
    return 5 if case.startswith("privreg") else 3 * len(CASES[case].kinds)


def replayed(case: str) -> set[str]:
    """Checks of record and replay that fail on a case."""
    return set().union(*(check_pair(case, i).failed for i in range(pairs_of(case))))


def died_without_trace() -> bool:
    """Whether a fit that died after its first step left the ledger as it was."""

    def die(_: str) -> None:
        raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger")
        ledger.create("d", "3", "1e-3")
        model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="d")
        model.progress = die
        with suppress(KeyboardInterrupt):
            model.fit(np.ones((30, 2)), np.ones(30))
        status = ledger.status("d")[0]
        return status.entries == 0 or status.sum_epsilon < 1


def takes_other_people() -> bool:
    """Whether a ledger takes people named by another column, from an object that was fitted before."""
    X, y = np.ones((30, 2)), np.ones(30)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger")
        ledger.create("d", "3", "1e-3")
        model = PrivateLinearRegression(0.1, 1e-6, ledger=ledger, dataset="d")
        model.fit(X, y, groups=pd.Series(range(30), name="person"))
        with suppress(LedgerError):
            model.fit(X, y, groups=np.arange(30))
        return ledger.status("d")[0].entries > 1


def says_nothing_of_levels() -> bool:
    """Whether levels that came with a type are used without a word, or without being asked to."""
    frame, y = pd.DataFrame({"t": pd.Categorical(["a", "b"] * 15, ["a", "b", "c"]), "x": 1.0}), np.ones(30)
    asked = DPKendall(1, 1.0, categories="dtype").fit(frame, y)
    told = any("not protected" in text for text in asked.warnings_)
    if asked.schema_.columns[0].levels != ("a", "b", "c") or not told:
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return "c" in DPKendall(1, 40.0, 1e-2, random_state=1).fit(frame, y).schema_.columns[0].levels


def has_a_say() -> bool:
    """Whether a column that is left out changes a model, by values that it lacks."""
    rng = np.random.default_rng(3)
    columns = [Column("x", NUMBER), Column("t", CATEGORY, left_out="no value is common enough"), Column("z", NUMBER)]
    schema = Schema((*columns[:2], replace(columns[2], left_out="too many missing values")))
    x, text = rng.normal(size=200), np.array(["a", "b"] * 100, object)
    models = []
    for gaps in (slice(0, 0), slice(0, 90)):
        frame = pd.DataFrame({"x": x, "t": text.copy(), "z": np.ones(200)})
        frame.loc[frame.index[gaps], ["t", "z"]] = None
        model = PrivateLinearRegression(3.0, 1e-3, schema=schema, random_state=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            models.append(model.fit(frame, x + np.arange(200) % 3).coef_.tolist())
    return models[0] != models[1]


# Audits of each kind of step. The others are compositions of these.
_QUICK_AUDITS = ("count", "kendall", "lengths", "long median", "mean", "moments", "tukey 1-D", "tukey unsafe", "bas 5")


def over_claim(runs: int = 6_000) -> bool:
    """Whether a black-box audit proves a larger ε than was claimed."""
    return any(blackbox.run(name, "seeded", runs).excess for name in _QUICK_AUDITS)


OTHER: dict[str, tuple[str, Callable[[], bool]]] = {
    "order": (
        "statistics do not depend on the order of rows",
        lambda: bool(bits.order(["all columns", "kendall", "adassp"], shuffles=1)["wrong"]),
    ),
    "law": (
        "the noise follows its law",
        lambda: (
            bool(wrong_laws(6_000, {"seeded": SeededNoise(np.random.default_rng(5))}))
            or bool(wrong_laws(1_000, {"OpenDP": OpenDPNoise()}))
        ),
    ),
    "source": ("private fits draw from OpenDP", lambda: bool(wrong_sources())),
    "ledger": ("a fit that dies is in the ledger", died_without_trace),
    "unit": ("a ledger of people takes no others", takes_other_people),
    "levels": ("levels that came with a type are public only if asked for, and told of", says_nothing_of_levels),
    "left out": ("a column that is left out has no say", has_a_say),
    "hostile input": ("one bad line changes nothing but itself, and is not quoted", fuzz.nasty_lines_found),
    "black box": ("no audit proves more than the claim", over_claim),
}

ALL_CHECKS = {**CHECKS, **{name: what for name, (what, _) in OTHER.items()}}


def caught(name: str) -> list[str]:
    """The checks that see the bug, in the order of ALL_CHECKS."""
    bug = BUGS[name]
    with bug.put_in():
        seen = replayed(bug.case)
        seen |= {check for check, (_, fails) in OTHER.items() if _fails(fails)}
    return [check for check in ALL_CHECKS if check in seen]


def _fails(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # the bug broke what the check runs on: that says nothing
        return False


def alarms(case: str | None) -> list[str]:
    """Checks that cry out without a bug: those of record and replay on a case, or all others."""
    if case is None:
        return [check for check, (_, fails) in OTHER.items() if fails()]
    return [f"{check}, {case}" for check in replayed(case)]


def main() -> None:
    start = time.time()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor() as pool:
        quiet = [pool.submit(alarms, case) for case in (None, *sorted({bug.case for bug in BUGS.values()}))]
        for (name, bug), seen in zip(BUGS.items(), pool.map(caught, BUGS), strict=True):
            rows.append({"bug": name, "what": bug.what, "case": bug.case, "caught by": seen})
            print(f"mutants: {name}: {', '.join(seen) or 'NOT CAUGHT'}, {time.time() - start:.0f} s", flush=True)
        false = [text for future in quiet for text in future.result()]
    found = {"checks": ALL_CHECKS, "bugs": rows, "alarms without a bug": false}
    results.write("mutants", "python -m audit.mutants", time.time() - start, found)
    missed = [row["bug"] for row in rows if not row["caught by"]]
    print(f"{len(rows)} bugs, missed: {missed or 'none'}; alarms without a bug: {false or 'none'}")
    sys.exit(bool(missed or false))


if __name__ == "__main__":
    main()
