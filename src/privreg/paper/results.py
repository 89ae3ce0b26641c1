"""What a run has found so far: medians and quartiles of the test R², and how they compare with the published ones."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isclose, log
from pathlib import Path
from typing import Any

import numpy as np

from privreg.errors import DataError
from privreg.estimators.methods import BASELINE, METHODS, REFERENCE, REGISTRY, with_published_ridge
from privreg.paper import journal
from privreg.paper.datasets import COMPLETE, OTHER, PARTIAL, Task, published, tasks
from privreg.results.outputs import write_whole

JOURNAL = "trials.jsonl"
NOT_ASKED, NO_FILE = "not asked for", "no file in the folder"  # why a data set has no trials, and nothing is wrong
KEY = ("task", "method", "k", "epsilon", "trial")  # what makes a trial the same trial
Quartiles = tuple[float, float, float]
Way = tuple[str, int | None, float | None]  # method, k and ε
SIX = METHODS[1:]  # the private methods of the paper
COMPARED = ("K-Tukey", "L-Tukey", "K-BAS", "L-BAS")  # whose signs are compared with the published ones


@dataclass(frozen=True)
class Cell:
    """The trials of one method on one data set. The quartiles are None if every trial failed."""

    quartiles: Quartiles | None
    seconds: float  # median of a fit
    trials: int
    failed: int
    unreleased: int  # trials whose private test failed, so that there is no model: R² = −∞
    error: str | None  # of the last trial that failed

    @property
    def median(self) -> float | None:
        return self.quartiles[1] if self.quartiles else None

    def scores(self) -> dict[str, float | None]:
        """The quartiles by name."""
        low, _, high = self.quartiles or (None, None, None)
        return {"median": self.median, "q25": low, "q75": high}

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {name: as_json(value) for name, value in self.scores().items()}
        row |= {"seconds": round(self.seconds, 4), "trials": self.trials}
        return row | ({"failed": self.failed, "error": self.error} if self.failed else {})


class Results:
    """All trials of a run, by data set, method, k and ε."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        try:
            self._read(list(rows))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise DataError(f"{JOURNAL} is not as a run writes it: {type(error).__name__} {error}") from None

    def _read(self, rows: list[dict[str, Any]]) -> None:
        self.runs: list[dict[str, Any]] = []
        for row in rows:
            if "run" in row:
                self.runs.append(dict(row["run"]))
            elif "end" in row:
                self.runs[-1] |= row["end"]
        if not self.runs:
            raise DataError(f"{JOURNAL} has no run")
        self.datasets: dict[int, Task] = {}
        self.missing: dict[int, str] = dict.fromkeys(tasks(), NOT_ASKED)
        for run in self.runs:
            self.missing |= {int(t): reason for t, reason in run["missing"].items()}
            for task, row in run["data sets"].items():
                self.datasets[int(task)] = Task(int(task), row["name"], row["n"], row["d"], row["kind"])
        self.datasets = dict(sorted(self.datasets.items()))
        self.missing = {t: reason for t, reason in sorted(self.missing.items()) if t not in self.datasets}
        self.ks: list[int] = sorted({k for run in self.runs for k in run["k"]})
        self.epsilons: list[float] = list(dict.fromkeys(e for run in self.runs for e in run["epsilon"]))
        # The budget of the tables: the paper's if it was run, else the first. The others belong to the sweep.
        self.epsilon = next((e for e in self.epsilons if epsilon_name(e) == "ln 3"), self.epsilons[0])
        self.delta = float(self.runs[0]["delta"])
        asked = {m for run in self.runs for m in run["methods"]}
        if unknown := asked - set(REGISTRY):
            raise DataError(f"{JOURNAL} has trials of {', '.join(sorted(unknown))}, which is no method here")
        self.methods = [m for m in REGISTRY if m in asked]
        self.columns = [m for m in self.methods if m not in REFERENCE]  # of the tables: the published ridge is apart
        self.private = [m for m in self.columns if REGISTRY[m].private]  # those that are ranked
        self.trials = {key_of(row): row for row in rows if "task" in row}  # a later one replaces an earlier one
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for key, row in self.trials.items():
            groups.setdefault(key[:-1], []).append(row)
        self._cells = {key: _cell(group) for key, group in groups.items()}

    @property
    def unusable(self) -> dict[int, str]:
        """The paper's data sets that were asked for and could not be used, and why."""
        return {task: why for task, why in self.missing.items() if why not in (NOT_ASKED, NO_FILE)}

    def of_kind(self, kind: str, k: int) -> list[Task]:
        """The data sets for a table: as in the paper, those with fewer than k columns are left out."""
        return [info for info in self.datasets.values() if info.kind == kind and info.d >= k]

    def cells(self, task: int, k: int, epsilon: float | None = None) -> dict[str, Cell]:
        """The trials of all methods that have any."""
        keys = {m: (task, m, *shared(m, k, self.epsilon if epsilon is None else epsilon)) for m in self.methods}
        return {m: self._cells[key] for m, key in keys.items() if key in self._cells}

    def medians(self, k: int, epsilon: float | None = None) -> dict[int, dict[str, float]]:
        """Medians of the complete data sets, by task and method."""
        rows = {info.id: medians_of(self.cells(info.id, k, epsilon)) for info in self.of_kind(COMPLETE, k)}
        return {task: row for task, row in rows.items() if row}

    def published(self, k: int) -> dict[int, dict[str, float]]:
        """The paper's medians, of the data sets that have one here."""
        here = self.medians(k)
        return {task: row for task, row in published(k).items() if task in here}

    def seconds(self) -> dict[str, float]:
        """Total seconds of fitting, by method."""
        total = dict.fromkeys(self.methods, 0.0)
        for row in self.trials.values():
            total[row["method"]] += row["seconds"]
        return total

    def failures(self) -> list[tuple[Task, str, Any, Any, Cell]]:
        """(data set, method, k, ε, cell) of all cells with trials that failed; k and ε None where they play no role."""
        return [(self.datasets[t], m, k, e, cell) for (t, m, k, e), cell in self._cells.items() if cell.failed]

    def sweep(self, k: int) -> dict[str, dict[float, Quartiles]]:
        """By private method and ε: quartiles over the complete data sets of R² divided by NonDP's, between −1 and 1."""
        found: dict[str, dict[float, Quartiles]] = {m: {} for m in self.private}
        for epsilon in sorted(self.epsilons):
            rows = [row for row in self.medians(k, epsilon).values() if row.get(BASELINE, 0.0) > 0]
            for m, points in found.items():
                if shares := [min(max(row[m] / row[BASELINE], -1.0), 1.0) for row in rows if m in row]:
                    points[epsilon] = quartiles(shares)
        return {m: points for m, points in found.items() if points}

    def summary(self) -> dict[str, Any]:
        """All of it for programs, in the form of summary.json."""
        first, last = self.runs[0], self.runs[-1]
        return {
            "privreg": last["versions"]["privreg"],
            "epsilon": self.epsilon,
            "delta": self.delta,
            "seed": first["seed"],
            "jitter": first["jitter"],
            **self._tables(self.epsilon),
            "sweep": {f"{e:g}": self._tables(e) for e in self.epsilons if e != self.epsilon},
            "data sets": {str(i.id): {"name": i.name, "n": i.n, "d": i.d} for i in self.datasets.values()},
            "missing": {str(t): {"name": tasks()[t].name, "why": why} for t, why in self.missing.items()},
            "fewer than k columns": {str(k): [i.id for i in self.datasets.values() if i.d < k] for k in self.ks},
            "R² > 0": {str(k): positive(self.medians(k)) for k in self.ks},
            "signs": {str(k): self.signs(k) for k in self.ks if published(k)},
            "total seconds": {m: round(s, 2) for m, s in self.seconds().items()},
            "runs": self.runs,
        }

    def signs(self, k: int, reference: bool = False) -> dict[str, Any]:
        """How many medians have the sign (R² > 0 or not) of the published ones, and which have not.

        With `reference`, the BAS methods have the published ridge.
        """
        ours = self.medians(k)
        pairs = [
            (task, m, ours[task][name], theirs)
            for task, row in self.published(k).items()
            for m, theirs in row.items()
            if (name := with_published_ridge(m) if reference else m) in ours[task]
        ]
        return {
            "agree": {m: sum((x > 0) == (y > 0) for _, n, x, y in pairs if n == m) for m in METHODS},
            "of": {m: sum(n == m for _, n, _, _ in pairs) for m in METHODS},
            "differ": [
                {"task": t, "method": m, "ours": as_json(x), "published": as_json(y)}
                for t, m, x, y in pairs
                if (x > 0) != (y > 0)
            ],
        }

    def _tables(self, epsilon: float) -> dict[str, Any]:
        parts = {"k": COMPLETE, "partial": PARTIAL, "other": OTHER}
        return {name: {str(k): self._table(kind, k, epsilon) for k in self.ks} for name, kind in parts.items()}

    def _table(self, kind: str, k: int, epsilon: float) -> dict[str, Any]:
        rows = {str(info.id): self.cells(info.id, k, epsilon) for info in self.of_kind(kind, k)}
        return {task: {m: cell.to_dict() for m, cell in row.items()} for task, row in rows.items() if row}


def load(folder: Path) -> Results:
    """The results in the folder of a run."""
    file = folder / JOURNAL
    if not file.is_file():
        raise DataError(f"{folder} holds no {JOURNAL}: it is not the folder of a `privreg paper run`")
    return Results(journal.read(file))


def write_summary(results: Results, folder: Path) -> None:
    """Write summary.json, at once or not at all."""
    text = json.dumps(results.summary(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / "summary.json", text + "\n")


def shared(method: str, k: int, epsilon: float) -> tuple[int | None, float | None]:
    """The k and ε of a method's trials; None where it does not depend on them, so that one run serves all."""
    return k if REGISTRY[method].selects else None, epsilon if REGISTRY[method].private else None


def ways(methods: Sequence[str], ks: Sequence[int], epsilons: Sequence[float], d: int) -> list[Way]:
    """Of a trial on a data set with d columns; as in the paper, a k beyond d is left out."""
    found = ((m, *shared(m, k, e)) for k in ks if d >= k for e in epsilons for m in methods)
    return list(dict.fromkeys(found))


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """The trial of a line of the journal."""
    return tuple(row[name] for name in KEY)


def ranks(row: dict[str, float]) -> dict[str, int]:
    """Place of each private method, the best being 1. Equal medians share a place; −∞ has none."""
    private = {m: v for m, v in row.items() if REGISTRY[m].private and v > -inf}
    return {m: 1 + sum(other > v for other in private.values()) for m, v in private.items()}


def podium(rows: dict[int, dict[str, float]], methods: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How often each private method is first, and second, among the given ones."""
    places = [ranks({m: v for m, v in row.items() if m in methods}) for row in rows.values()]
    private = [m for m in methods if REGISTRY[m].private]
    return {m: (sum(p.get(m) == 1 for p in places), sum(p.get(m) == 2 for p in places)) for m in private}


def positive(rows: dict[int, dict[str, float]]) -> dict[str, int]:
    """On how many data sets each method has a median R² above 0."""
    methods = [m for m in REGISTRY if any(m in row for row in rows.values())]
    return {m: sum(row.get(m, -inf) > 0 for row in rows.values()) for m in methods}


def epsilon_name(epsilon: float) -> str:
    """ε as people write it."""
    return "ln 3" if isclose(epsilon, log(3), rel_tol=1e-9) else f"{epsilon:g}"


def as_json(value: float | None) -> float | str | None:
    """JSON has no −∞."""
    return "-inf" if value == -inf else value


def _cell(rows: list[dict[str, Any]]) -> Cell:
    scores = [float(row["r2"]) for row in rows if "error" not in row]
    failed = [row["error"] for row in rows if "error" in row]
    seconds = float(np.median([row["seconds"] for row in rows]))
    error = failed[-1] if failed else None
    return Cell(quartiles(scores) if scores else None, seconds, len(rows), len(failed), scores.count(-inf), error)


def quartiles(scores: list[float]) -> Quartiles:
    """Lower, median and upper."""
    with np.errstate(invalid="ignore"):
        values = np.quantile(scores, [0.25, 0.5, 0.75])
    low, middle, high = (-inf if np.isnan(v) else float(v) for v in values)  # between −∞ and a number lies −∞
    return low, middle, high


def medians_of(cells: dict[str, Cell]) -> dict[str, float]:
    """Of the methods that did not always fail."""
    return {m: cell.median for m, cell in cells.items() if cell.median is not None}
