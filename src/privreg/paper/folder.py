"""Data sets as Parquet files `<task>_<name>.parquet`, prepared as in the paper."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64
from privreg.data.tables import read_table, read_target
from privreg.engines.memory import MemoryEngine
from privreg.errors import DataError, SchemaError
from privreg.paper.catalogue import tasks

TARGET = "target"
COMPLETE, PARTIAL, OTHER = "complete", "partial", "other"  # equal to the published n and d; differing; not in the paper
_FILE = re.compile(r"(?P<task>\d+)_(?P<name>.+?)(?P<mark>_PARTIAL|_NUMONLY)?\.parquet")


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


def find(folder: Path) -> dict[int, Path]:
    """The files of a folder by task; a complete one is preferred to a partial one."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    found: dict[int, Path] = {}
    files = [file for file in sorted(folder.iterdir()) if _FILE.fullmatch(file.name)]
    for file in sorted(files, key=marked):
        other = found.setdefault(int(file.name.split("_")[0]), file)
        if other != file and marked(other) == marked(file):
            raise DataError(f"{other.name} and {file.name} are for the same task: remove one")
    if not found:
        raise DataError(f"{folder} holds no <task>_<name>.parquet file")
    return dict(sorted(found.items()))


def name_of(file: Path) -> str:
    """The data set's name, without the task's number and the mark of a partial one."""
    match = _FILE.fullmatch(file.name)
    assert match
    return match["name"]


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
        table = read_table(frame.drop_columns([TARGET]))
        records = MemoryEngine(table, read_target(frame[TARGET]))
    except SchemaError as error:
        raise DataError(f"{file.name} cannot be used: {error}") from None
    return DataSet(records.rows(np.arange(records.n_records)), records.target, table.names)


def kind(task: int, file: Path, n: int, d: int) -> str:
    """Whether this is the paper's data set, a part of it, or none of the paper's."""
    published = tasks().get(task)
    if published is None:
        return OTHER
    return PARTIAL if marked(file) or (n, d) != (published.n, published.d) else COMPLETE
