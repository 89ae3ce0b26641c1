"""Generated tables of any size, as Parquet files: for the benchmarks of what does not fit into memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 30
_ROWS = 2**20  # in a row group
_GROUPS = 4  # in a file


def generate(folder: Path, rows: int, columns: int = COLUMNS) -> Path:
    """A folder of so many rows: float64, mostly continuous, some heavy-tailed, some with few values; the target is y.

    A folder that is there already is left alone.
    """
    place = folder / f"{rows}x{columns}"
    if (place / "done").exists():
        return place
    place.mkdir(parents=True, exist_ok=True)
    weights = np.random.default_rng(1).normal(size=columns) / np.sqrt(columns)
    for number, first in enumerate(range(0, rows, _ROWS * _GROUPS)):
        with pq.ParquetWriter(place / f"part.{number}.parquet", _schema(columns), use_dictionary=False) as writer:
            for begin in range(first, min(first + _ROWS * _GROUPS, rows), _ROWS):
                writer.write_table(_rows(np.random.default_rng([2, begin]), min(_ROWS, rows - begin), weights))
    (place / "done").touch()
    return place


def _schema(columns: int) -> pa.Schema:
    return pa.schema([*((f"x{j}", pa.float64()) for j in range(columns)), ("y", pa.float64())])


def _rows(rng: np.random.Generator, rows: int, weights: np.ndarray) -> pa.Table:
    x = rng.normal(size=(len(weights), rows))
    y = weights @ x + rng.normal(size=rows)
    for j, column in enumerate(x):
        if j % 5 == 1:
            np.exp(column, out=column)  # heavy tails
        elif j % 10 == 3:
            np.rint(10 * column, out=column)  # about 80 values
        elif j % 10 == 7:
            x[j] = column > 0.5
    return pa.table([*x, y], schema=_schema(len(weights)))
