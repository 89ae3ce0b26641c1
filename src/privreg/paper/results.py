"""What a run has found so far: medians and quartiles of the test R², and how they compare with the published ones."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isclose, log
from pathlib import Path
from typing import Any

import numpy as np

from privreg.errors import DataError
from privreg.estimators.methods import ALL_METHODS, METHODS, REFERENCE, selects, with_published_ridge
from privreg.paper import journal
from privreg.paper.catalogue import published, tasks
from privreg.paper.folder import COMPLETE, OTHER, PARTIAL

JOURNAL = "trials.jsonl"
COMPARED = ("K-Tukey", "L-Tukey", "K-BAS", "L-BAS")  # whose signs are compared with the published ones


@dataclass(frozen=True)
class Cell:
    """The trials of one method on one data set. The median is None if every trial failed."""

    median: float | None
    q25: float | None
    q75: float | None
    seconds: float  # median of a fit
    trials: int
    failed: int
    unreleased: int  # trials whose private test failed, so that there is no model: R² = −∞
    error: str | None  # of the last trial that failed

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "median": as_json(self.median),
            "q25": as_json(self.q25),
            "q75": as_json(self.q75),
            "seconds": round(self.seconds, 4),
            "trials": self.trials,
        }
        if self.failed:
            row |= {"failed": self.failed, "error": self.error}
        return row


@dataclass(frozen=True)
class Info:
    """A data set of the run: records and columns as counted by the paper, and whether it is the paper's."""

    task: int
    name: str
    n: int
    d: int
    kind: str


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
        self.datasets: dict[int, Info] = {}
        self.missing: dict[int, str] = dict.fromkeys(tasks(), "not asked for")
        for run in self.runs:
            self.missing |= {int(t): reason for t, reason in run["missing"].items()}
            for task, row in run["data sets"].items():
                self.datasets[int(task)] = Info(int(task), row["name"], row["n"], row["d"], row["kind"])
        self.datasets = dict(sorted(self.datasets.items()))
        self.missing = {t: reason for t, reason in sorted(self.missing.items()) if t not in self.datasets}
        self.ks: list[int] = sorted({k for run in self.runs for k in run["k"]})
        self.epsilons: list[float] = list(dict.fromkeys(e for run in self.runs for e in run["epsilon"]))
        asked = {m for run in self.runs for m in run["methods"]}
        self.methods = [m for m in ALL_METHODS if m in asked]
        self.trials = {key_of(row): row for row in rows if "task" in row}  # a later one replaces an earlier one
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for key, row in self.trials.items():
            groups.setdefault(key[:-1], []).append(row)
        self._cells = {key: _cell(group) for key, group in groups.items()}

    @property
    def epsilon(self) -> float:
        """The budget of the tables: the paper's if it was run, else the first. The others belong to the sweep."""
        return next((e for e in self.epsilons if epsilon_name(e) == "ln 3"), self.epsilons[0])

    @property
    def delta(self) -> float:
        return float(self.runs[0]["delta"])

    @property
    def columns(self) -> list[str]:
        """The methods in the tables; the published ridge is shown apart."""
        return [m for m in self.methods if m not in REFERENCE]

    def cell(self, task: int, method: str, k: int, epsilon: float | None = None) -> Cell | None:
        """The trials of a method, None if there is none yet."""
        return self._cells.get((task, method, *shared(method, k, self.epsilon if epsilon is None else epsilon)))

    def of_kind(self, kind: str, k: int) -> list[Info]:
        """The data sets for a table: as in the paper, those with fewer than k columns are left out."""
        return [info for info in self.datasets.values() if info.kind == kind and info.d >= k]

    def too_narrow(self, k: int) -> list[Info]:
        """The data sets left out for having fewer than k columns."""
        return [info for info in self.datasets.values() if info.d < k]

    def published(self, task: int, method: str, k: int) -> float | None:
        """The paper's median, None where it has none."""
        return published(k).get(task, {}).get(method)

    def medians(self, k: int, epsilon: float | None = None) -> dict[int, dict[str, float]]:
        """Medians of the complete data sets, by task and method."""
        rows = {}
        for info in self.of_kind(COMPLETE, k):
            cells = {m: self.cell(info.task, m, k, epsilon) for m in self.methods}
            rows[info.task] = {m: c.median for m, c in cells.items() if c and c.median is not None}
        return {task: row for task, row in rows.items() if row}

    def seconds(self) -> dict[str, float]:
        """Total seconds of fitting, by method."""
        total = dict.fromkeys(self.methods, 0.0)
        for row in self.trials.values():
            total[row["method"]] += row["seconds"]
        return total

    def failures(self) -> list[tuple[Info, str, Any, Any, Cell]]:
        """(data set, method, k, ε, cell) of all cells with trials that failed; k and ε None where they play no role."""
        return [
            (self.datasets[task], method, k, epsilon, cell)
            for (task, method, k, epsilon), cell in self._cells.items()
            if cell.failed
        ]

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
            "data sets": {str(i.task): {"name": i.name, "n": i.n, "d": i.d} for i in self.datasets.values()},
            "missing": {str(t): {"name": tasks()[t].name, "why": why} for t, why in self.missing.items()},
            "fewer than k columns": {str(k): [i.task for i in self.too_narrow(k)] for k in self.ks},
            "R² > 0": {str(k): positive(self.medians(k)) for k in self.ks},
            "signs": {str(k): self.signs(k) for k in self.ks if published(k)},
            "total seconds": {m: round(s, 2) for m, s in self.seconds().items()},
            "runs": self.runs,
        }

    def signs(self, k: int, reference: bool = False) -> dict[str, Any]:
        """How many medians have the sign (R² > 0 or not) of the published ones, and which have not.

        With `reference`, the BAS methods have the published ridge.
        """
        pairs = []
        for task, row in self.medians(k).items():
            for m in METHODS:
                name = with_published_ridge(m) if reference else m
                theirs = self.published(task, m, k)
                if name in row and theirs is not None:
                    pairs.append((task, m, row[name], theirs))
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
        return {name: self._by_k(kind, epsilon) for name, kind in parts.items()}

    def _by_k(self, kind: str, epsilon: float) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for k in self.ks:
            rows: dict[str, Any] = {}
            for info in self.of_kind(kind, k):
                cells = {m: self.cell(info.task, m, k, epsilon) for m in self.methods}
                if found := {m: c.to_dict() for m, c in cells.items() if c}:
                    rows[str(info.task)] = found
            result[str(k)] = rows
        return result


def load(folder: Path) -> Results:
    """The results in the folder of a run."""
    file = folder / JOURNAL
    if not file.is_file():
        raise DataError(f"{folder} holds no {JOURNAL}: it is not the folder of a `privreg paper run`")
    return Results(journal.read(file))


def write_summary(results: Results, folder: Path) -> None:
    """Write summary.json, at once or not at all."""
    draft = folder / "summary.json.draft"
    draft.write_text(json.dumps(results.summary(), indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    os.replace(draft, folder / "summary.json")


def shared(method: str, k: int, epsilon: float) -> tuple[int | None, float | None]:
    """The k and ε of a method's trials; None where it does not depend on them, so that one run serves all."""
    return k if selects(method) else None, None if method == "NonDP" else epsilon


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes a trial the same trial."""
    return row["task"], row["method"], row["k"], row["epsilon"], row["trial"]


def ranks(row: dict[str, float]) -> dict[str, int]:
    """Place of each private method, the best being 1. Equal medians share a place; −∞ has none."""
    private = {m: v for m, v in row.items() if m != "NonDP" and v > -inf}
    return {m: 1 + sum(other > v for other in private.values()) for m, v in private.items()}


def podium(rows: dict[int, dict[str, float]], methods: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How often each private method is first, and second, among the given ones."""
    places = [ranks({m: v for m, v in row.items() if m in methods}) for row in rows.values()]
    private = [m for m in methods if m != "NonDP"]
    return {m: (sum(p.get(m) == 1 for p in places), sum(p.get(m) == 2 for p in places)) for m in private}


def positive(rows: dict[int, dict[str, float]]) -> dict[str, int]:
    """On how many data sets each method has a median R² above 0."""
    methods = [m for m in ALL_METHODS if any(m in row for row in rows.values())]
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
    q25, median, q75 = _quartiles(scores)
    seconds = float(np.median([row["seconds"] for row in rows]))
    return Cell(median, q25, q75, seconds, len(rows), len(failed), scores.count(-inf), failed[-1] if failed else None)


def _quartiles(scores: list[float]) -> tuple[float | None, float | None, float | None]:
    if not scores:
        return None, None, None
    with np.errstate(invalid="ignore"):
        values = np.quantile(scores, [0.25, 0.5, 0.75])
    low, middle, high = (-inf if np.isnan(v) else float(v) for v in values)  # between −∞ and a number lies −∞
    return low, middle, high
