"""The paper's 25 data sets: what it published of them, and their files `<task>_<name>.parquet`, prepared as it did."""

import csv
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64
from privreg.engines.base import OpenOptions
from privreg.engines.memory import MemoryEngine
from privreg.engines.registry import open_source
from privreg.errors import DataError, SchemaError
from privreg.estimators.methods import BASELINE, METHODS
from privreg.estimators.settled import public_schema

TARGET = "target"
COMPLETE, PARTIAL, OTHER = "complete", "partial", "other"  # equal to the published n and d; differing; not in the paper
MISSING = "missing"
_FILE = re.compile(r"(?P<task>\d+)_(?P<name>.+?)(?P<mark>_PARTIAL|_NUMONLY)?\.parquet")


@dataclass(frozen=True)
class Task:
    """An OpenML task, as published or as a run has it: n records, d columns after encoding, the intercept included."""

    id: int
    name: str
    n: int
    d: int
    kind: str = MISSING

    @property
    def label(self) -> str:
        return f"{self.id} {self.name}"


@dataclass(frozen=True)
class DataSet:
    """Features after one-hot encoding, without the intercept, and the target: complete records only."""

    X: Float64
    y: Float64
    names: list[str]

    @property
    def d(self) -> int:
        """Columns as the paper counts them, the intercept included."""
        return self.X.shape[1] + 1

    def digest(self) -> str:
        """The same for the same data only."""
        parts = (np.ascontiguousarray(self.X).data, self.y.data, "\n".join(self.names).encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]

    def split(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Random 90 % and 10 % of the records."""
        order = rng.permutation(self.y.size)
        tenth = self.y.size // 10
        return order[tenth:], order[:tenth]


@cache
def _published() -> list[dict[str, str]]:
    text = files("privreg.paper").joinpath("published.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def tasks() -> dict[int, Task]:
    """The 25 tasks by their number."""
    return {int(r["task"]): Task(int(r["task"]), r["name"], int(r["n"]), int(r["d"])) for r in _published()}


@cache
def published(k: int) -> dict[int, dict[str, float]]:
    """Median R² by task and method as the paper reports it at ε = ln 3, δ = 1e-5; empty unless k is 5 or 10."""
    rows = [row for row in _published() if row.get(f"{BASELINE} at k={k}")]
    return {int(row["task"]): {m: float(row[f"{m} at k={k}"]) for m in METHODS} for row in rows}


def find(folder: Path) -> dict[int, Path]:
    """The files of a folder by task; a complete one is preferred to a partial one."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    found: dict[int, Path] = {}
    present = [file for file in sorted(folder.iterdir()) if _FILE.fullmatch(file.name)]
    for file in sorted(present, key=marked):
        other = found.setdefault(int(file.name.split("_")[0]), file)
        if other != file and marked(other) == marked(file):
            raise DataError(f"{other.name} and {file.name} are for the same task: remove one")
    if not found:
        raise DataError(f"{folder} holds no <task>_<name>.parquet file")
    return dict(sorted(found.items()))


def name_of(file: Path) -> str:
    """The data set's name, without the task's number and the mark of a partial one."""
    return _FILE.sub(r"\g<name>", file.name)


def marked(file: Path) -> bool:
    """Whether the file's name says that it is only a part of the data set."""
    match = _FILE.fullmatch(file.name)
    return bool(match and match["mark"])


def load(file: Path) -> DataSet:
    """Read a file: rows with a missing value are dropped, categories become one 0/1 column for each level."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        frame = pq.read_table(file).unify_dictionaries()
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file.name} cannot be read: {str(error).splitlines()[0]}") from None
    if TARGET not in frame.column_names:
        raise DataError(f"{file.name} has no column called {TARGET!r}, the column to predict")
    try:
        types, source = open_source(frame.drop_columns([TARGET]), frame[TARGET], OpenOptions(1))
        # These data are public, and the paper counts a column for every level.
        records = source.open(public_schema(types, full=True))
        assert isinstance(records, MemoryEngine)
    except SchemaError as error:
        raise DataError(f"{file.name} cannot be used: {error}") from None
    return DataSet(records.rows(np.arange(records.n_records)), records.target, records.names)


def kind(task: int, file: Path, n: int, d: int) -> str:
    """Whether this is the paper's data set, a part of it, or none of the paper's."""
    paper = tasks().get(task)
    if paper is None:
        return OTHER
    return PARTIAL if marked(file) or (n, d) != (paper.n, paper.d) else COMPLETE
