"""Reading text: cells and their classes, against pyarrow's reader. `make bench`; writes benchmarks/reading.json.

- seconds for all cells of a file as text, and how many are of each class, against `pyarrow.csv.read_csv` with its
  defaults, which reads numbers, dates and booleans too but by what it finds in the first block;
- memory of the cells against the size of the file;
- the whole reading step, with noise, and what a column of many different values costs;
- details: columns read as what they are.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from measure import memory, taking_turns, write
from privreg import SchemaReader
from privreg.data.cells import as_days, as_numbers, as_texts, as_truths, count_classes
from privreg.data.files import open_file

ROWS, PARTS = 400_000, 14  # about 400 MB
MANY = 1_000_000
TOWNS = np.array(["north", "south", "east side", "west end", "Köln"])
NOTES = np.array(["free text of some length", "another remark", "", "NA", "short"])


def make(path: Path, quotes: str) -> Path:
    """A file with numbers, dates, booleans and text; `quotes` is how arrow quotes text."""
    rng = np.random.default_rng(0)
    options = pa_csv.WriteOptions(include_header=False, quoting_style=quotes)
    with path.open("wb") as file:
        file.write(b"id,age,pay,score,town,when,flag,note\n")
        for part in range(PARTS):
            columns = {
                "id": np.arange(part * ROWS, (part + 1) * ROWS),
                "age": rng.integers(18, 90, ROWS),
                "pay": np.round(rng.lognormal(10, 1, ROWS), 2),
                "score": rng.normal(size=ROWS),
                "town": rng.choice(TOWNS, ROWS),
                "when": np.datetime64("2000-01-01") + rng.integers(0, 9000, ROWS),
                "flag": np.where(rng.random(ROWS) < 0.5, "true", "false"),
                "note": rng.choice(NOTES, ROWS),
            }
            pa_csv.write_csv(pa.table(columns), file, write_options=options)
    return path


def read(path: Path) -> pa.Table:
    file = open_file(path)
    return file.read(list(file.columns))


def read_and_count(path: Path) -> list[Any]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(count_classes, read(path).columns))


def speed(path: Path) -> dict[str, float]:
    counts = read_and_count(path)
    assert all(count.sum() == ROWS * PARTS for count in counts)
    tasks: dict[str, Callable[[], Any]] = {
        "cells": lambda: read(path),
        "classes": lambda: read_and_count(path),
        "arrow": lambda: pa_csv.read_csv(path),
    }
    seconds = taking_turns(tasks)
    return {
        "size of the file (MB)": path.stat().st_size / 2**20,
        "cells (s)": seconds["cells"],
        "cells and classes (s)": seconds["classes"],
        "pyarrow (s)": seconds["arrow"],
        "cells and classes / pyarrow": seconds["classes"] / seconds["arrow"],
    }


def cells_in_memory(path: Path) -> dict[str, float]:
    figures = memory(
        "from types import SimpleNamespace; from privreg.data.files import open_file",
        f"file = open_file({str(path)!r}); columns = list(file.columns); next(file.batches(columns))",
        f"X = SimpleNamespace(nbytes={path.stat().st_size})",
        "table = file.read(columns)",
    )
    return {
        "size of the file (MB)": figures["data (MB)"],
        "peak (MB)": figures["peak above the data (MB)"],
        "peak / size of the file": figures["peak above the data / data"],
    }


def whole_step(path: Path) -> dict[str, float]:
    """The private reading step: cells, classes and common values, and the schema that comes of them."""
    figures = memory(
        "from types import SimpleNamespace; from privreg import SchemaReader; from privreg.data.files import open_file",
        "SchemaReader(1.0, 1e-6).fit(np.zeros((100, 1)))",
        f"X, file = SimpleNamespace(nbytes={path.stat().st_size}), open_file({str(path)!r})",
        "SchemaReader(1.0, 1e-6).fit(file)",
    )
    tasks: dict[str, Callable[[], Any]] = {
        "schema": lambda: SchemaReader(1.0, 1e-6).fit(open_file(path)),
        "arrow": lambda: pa_csv.read_csv(path),
    }
    seconds = taking_turns(tasks, 3)
    return {
        "schema (s)": seconds["schema"],
        "pyarrow (s)": seconds["arrow"],
        "schema / pyarrow": seconds["schema"] / seconds["arrow"],
        "peak / size of the file": figures["peak above the data / data"],
    }


def many_values() -> dict[str, float]:
    """A column of a million records, all different, against one with 100 values."""
    tasks: dict[str, Callable[[], Any]] = {}
    for name, values in (("few", np.arange(MANY) % 100), ("many", np.arange(MANY))):
        table = pa.table({"c": [f"value {value}" for value in values.tolist()]})
        tasks[name] = partial(SchemaReader(1.0, 1e-6).fit, table)
    seconds = taking_turns(tasks, 3)
    few, many = seconds["few"], seconds["many"]
    return {"100 values (s)": few, "all different (s)": many, "all different / 100 values": many / few}


def columns(path: Path) -> dict[str, float]:
    table = read(path)
    tasks: dict[str, Callable[[], Any]] = {
        "numbers with 2 decimals (s)": lambda: as_numbers(table["pay"], "."),
        "numbers with all their digits (s)": lambda: as_numbers(table["score"], "."),
        "dates (s)": lambda: as_days(table["when"]),
        "booleans (s)": lambda: as_truths(table["flag"]),
        "text, 5 values (s)": lambda: as_texts(table["town"]),
        "text, all different (s)": lambda: as_texts(table["id"]),
    }
    for task in tasks.values():
        task()
    return taking_turns(tasks, 3)


def main() -> None:
    with TemporaryDirectory() as folder:
        plain, quoted = make(Path(folder, "plain.csv"), "none"), make(Path(folder, "quoted.csv"), "needed")
        results = {
            "A file without quotes": speed(plain) | cells_in_memory(plain),
            "The same with all text quoted": speed(quoted) | cells_in_memory(quoted),
            "The whole reading step": whole_step(plain),
            f"A column of {MANY:,} records": many_values(),
        }
        details = {f"A column of {ROWS * PARTS:,} cells, 1 thread": columns(plain)}
    write(__file__, results, details)


if __name__ == "__main__":
    main()
