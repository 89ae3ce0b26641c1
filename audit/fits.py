"""Fits to recorded tables, in every form that a table can have, and all that leaves them: what is compared."""

import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from typer.testing import CliRunner

from audit.neighbours import KINDS, LEVELS, Cells, make_table
from audit.odd import Neighbour
from audit.texts import TARGET, WHO, Texts, make_texts
from privreg import ParquetTable, SchemaReader
from privreg.cli import run_fit
from privreg.cli.app import app
from privreg.data.schema import Schema
from privreg.engines import parquet
from privreg.privacy.receipt import Receipt
from privreg.results.release import release_of

Released = tuple[dict[str, Any], Receipt]


@dataclass(frozen=True)
class Case:
    """A way to make tables, and a fit."""

    what: str
    table: Callable[[np.random.Generator], Any]  # of neighbours.py or texts.py
    fit: Callable[[Any], Released]
    share: float = 1.0
    rows: int = 1  # records that one unit of privacy may own
    neighbour: Neighbour | None = None  # other than those of audit/neighbours.py
    kinds: tuple[str, ...] = KINDS  # of records that neighbours have more


def fit_files(estimator: Any, cells: Cells) -> Released:
    """The same, from Parquet files with small row groups, which are read in small parts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{j}": cells.numbers[:, j] for j in range(cells.numbers.shape[1] - 1)}
    if cells.levels is not None:
        columns["region"] = pa.array(cells.levels, pa.string())
    table = pa.table({**columns, "y": cells.numbers[:, -1]})
    with tempfile.TemporaryDirectory() as folder, patch.object(parquet, "PART_ROWS", 50):
        for first in range(0, max(table.num_rows, 1), 120):
            pq.write_table(table.slice(first, 120), Path(folder) / f"part.{first}.parquet", row_group_size=40)
        return _fitted(estimator, cells, ParquetTable(folder), "y", "float64")


def fit_estimator(estimator: Any, cells: Cells, kind: str = "float64") -> Released:
    """Fit to the cells as an array, or as a data frame if they have a category; return all that leaves the fit."""
    return _fitted(estimator, cells, *_input(cells, kind), kind)


def fit_with_public_rows(estimator: Any, cells: Cells) -> Released:
    """The same with public rows, which are the same for all tables of this shape."""
    rng, d = np.random.default_rng(5), cells.numbers.shape[1] - 1
    public = make_table(rng, 120, d, levels=cells.levels is not None)
    return _fitted(estimator, cells, *_input(cells, "float64"), "float64", public=_input(public, "float64")[0])


def _fitted(
    estimator: Any, cells: Any, X: Any, y: Any, kind: str, *, groups: Any = None, others: Any = None, **rules: Any
) -> Released:
    if cells.levels is not None:
        estimator.set_params(categories={"region": list(LEVELS)})
    stages: list[str] = []
    estimator.set_params(progress=stages.append)
    if groups is None and cells.people is not None:
        groups = np.fromiter(cells.people, object, len(cells.people))
    estimator.fit(X, y, **rules) if groups is None else estimator.fit(X, y, groups=groups, **rules)
    estimator.set_params(progress=None)
    released = {f"attribute {name}": frozen(value) for name, value in vars(estimator).items()}
    if others is None:
        others = _input(_elsewhere(cells), kind)[0]
        if isinstance(X, ParquetTable) and cells.levels is None:
            import pandas as pd

            others = pd.DataFrame(others, columns=list(estimator.feature_names_in_))
    released["stages"] = stages
    for use in ("predict", "transform"):
        if hasattr(estimator, use):
            released[use] = frozen(getattr(estimator, use)(others))
    if hasattr(estimator, "summary"):
        released["summary"] = str(estimator.summary())
        released["release"] = json.dumps(release_of(estimator).to_dict())
    if hasattr(estimator, "save"):
        with tempfile.TemporaryDirectory() as folder:
            estimator.save(Path(folder) / "saved.json")
            released["file"] = (Path(folder) / "saved.json").read_bytes()
    return released, estimator.receipt_


def _elsewhere(cells: Cells) -> Cells:
    """A few records that are the same for all tables of this shape, to predict."""
    numbers = np.outer([0.0, 1.0, -3.5, 1e6, np.nan], np.ones(cells.numbers.shape[1]))
    return Cells(numbers, None if cells.levels is None else (*LEVELS, None, "unheard of"))


def _input(cells: Cells, kind: str) -> tuple[Any, Any]:
    X, y = cells.numbers[:, :-1], cells.numbers[:, -1]
    if cells.levels is None:
        with np.errstate(all="ignore"):
            return X.astype(kind), y
    import pandas as pd
    import polars as pl

    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    if X.shape[1] % 2:
        return pd.DataFrame({**columns, "region": pd.Series(cells.levels, dtype=object)}), y
    return pl.DataFrame({**columns, "region": pl.Series(cells.levels, dtype=pl.String)}), y


def frozen(value: Any) -> Any:
    """A copy that can be compared bit for bit: numbers by their bits, arrays by their bytes, objects by their parts."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, dict):
        return {key: frozen(v) for key, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [frozen(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: frozen(getattr(value, f.name)) for f in fields(value)}
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return frozen(vars(value)) if hasattr(value, "__dict__") else repr(value)


def numbers_in(value: Any) -> list[float]:
    """The finite numbers in what `frozen` gave."""
    if isinstance(value, tuple) and value and value[0] == "float64":
        array = np.frombuffer(value[2])
        return array[np.isfinite(array)].tolist()
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in numbers_in(part)]
    return [float.fromhex(value)] if isinstance(value, str) and _HEX.fullmatch(value) else []


_HEX = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+")
_TIMES = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.+Z-]+)?")


def run_command(cells: Cells, *options: str) -> Released:
    """`privreg fit` on a CSV file, with everything it can write."""
    levels = [] if cells.levels is None else ["--category", f"region={','.join(LEVELS)}"]
    return _run_command(_csv(cells), cells.people, "fit", "--epsilon", "3", "--delta", "1e-3", *levels, *options)


def run_text_command(table: Texts, *given: str) -> Released:
    """The same on a table of text, or `privreg schema`."""
    return _run_command(table.write_csv(), table.people, *given, "--epsilon", "8", "--delta", "1e-2")


def _run_command(content: bytes, people: Any, command: str, *options: str) -> Released:
    """A command, with a ledger and all files that it can write. What is compared is all of it, but for times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data.csv").write_bytes(content)
        ledger, out = str(folder / "ledger"), folder / "out.json"
        CliRunner().invoke(app, ["ledger", "create", ledger, "--dataset", "d", "--epsilon", "50", "--delta", "0.9"])
        given = [command, str(folder / "data.csv"), "--out", str(out), "--ledger", ledger, "--dataset", "d"]
        if command == "fit":
            given += [] if "--where" in options else ["--target", "y"]
            given += ["--report", str(folder / "r.html")]
        if people is not None:
            given += ["--person", "who"]
        given += options
        stages: list[str] = []
        with patch.object(run_fit, "stages", partial(_stages, stages)):
            ran = CliRunner().invoke(app, given)
        if ran.exit_code:
            raise RuntimeError(f"{ran.exception!r} {ran.stderr}".replace(name, ""))
        released = {"stdout": ran.stdout, "stderr": ran.stderr, "stages": "\n".join(stages)}
        released |= {path.name: path.read_text() for path in (out, folder / "r.html") if path.exists()}
        released["ledger"] = CliRunner().invoke(app, ["ledger", "history", ledger, "--json"]).stdout
        receipt = Receipt.from_dict(json.loads(out.read_text())["receipt"])
    return {key: _TIMES.sub("", text.replace(name, "")) for key, text in released.items()}, receipt


@contextmanager
def _stages(told: list[str]) -> Iterator[Callable[[str], None]]:
    yield told.append


def _csv(cells: Cells) -> bytes:
    names = [*(f"x{j}" for j in range(cells.numbers.shape[1] - 1)), "y"]
    texts = {"region": cells.levels, "who": cells.people}
    lines = [",".join([*names, *(name for name, column in texts.items() if column is not None)])]
    for i, record in enumerate(cells.numbers.tolist()):
        text = [column[i] or "" for column in texts.values() if column is not None]
        lines.append(",".join([*map(repr, record), *text]))
    written = [line.encode() for line in lines]
    if cells.odd is not None:
        written.insert(1 + cells.odd[0], cells.odd[1])
    return b"\n".join(written) + b"\n"


def fit_lists(estimator: Any, cells: Cells) -> Released:
    """Fit to lists, one of whose rows may be odd."""
    rows, target = cells.numbers[:, :-1].tolist(), cells.numbers[:, -1].tolist()
    if cells.odd is not None:
        rows.insert(*cells.odd)
        target.insert(cells.odd[0], 0.0)
    return _fitted(estimator, cells, rows, target, "float64")


def fit_by_time(estimator: Any, cells: Cells) -> Released:
    """Fit with people who are told apart by a point in time with a time zone."""
    import pandas as pd

    seconds = pd.Series(np.array(["NaT" if p is None else p for p in cells.people or ()], "M8[s]"))
    groups = seconds.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    return _fitted(estimator, cells, cells.numbers[:, :-1], cells.numbers[:, -1], "float64", groups=groups)


def _series(values: list[Any]) -> Any:
    """As pandas has it, unless a value cannot be what it takes the others for."""
    import pandas as pd

    try:
        return pd.Series(values)
    except UnicodeEncodeError:
        return pd.Series(values, dtype=object)


def fit_dask(estimator: Any, cells: Cells) -> Released:
    """Fit to a Dask frame whose partitions are what pandas makes of their cells; one cell may be odd."""
    import dask.dataframe as dd
    import pandas as pd

    x, y = cells.numbers[:, 0], cells.numbers[:, -1]
    columns: dict[str, Any] = {
        "x": x,
        "flag": x > 0,
        "town": np.where(x > 1, "a", "b"),
        "who": np.arange(len(x)),
        "y": y,
    }
    meta = pd.DataFrame({name: column[:0] for name, column in columns.items()})
    lists = {name: column.tolist() for name, column in columns.items()}
    if cells.odd is not None:
        at, (odd, cell) = cells.odd
        usual = {"x": 0.5, "flag": True, "town": "a", "who": -1, "y": 0.5}
        for name, column in lists.items():
            column.insert(at, cell if name == odd else usual[name])
    size = max(len(lists["x"]) // 2, 1)
    places = [slice(0, size), slice(size, 2 * size), slice(2 * size, None)]
    parts = [pd.DataFrame({name: _series(column[p]) for name, column in lists.items()}) for p in places]
    estimator.set_params(categories={"town": ["a", "b"]})
    frame = dd.from_map(lambda part: parts[part], range(3), meta=meta)
    new = pd.DataFrame({"x": [0.0, 1e6], "flag": [True, False], "town": ["a", "b"]})
    return _fitted(estimator, cells, frame, "y", "float64", groups="who", others=new)


# ---- tables of text


def fit_texts(estimator: Any, table: Texts, *, files: bool = False) -> Released:
    """Fit to a data frame of pandas, or to Parquet files with small row groups, read in small parts."""
    import pyarrow.parquet as pq

    others = _elsewhere_in_words(table)
    if not files:
        target = None if isinstance(estimator, SchemaReader) else table.target()
        return _fitted(estimator, table, table.pandas(), target, "", others=others)
    whole, people = table.arrow(), None if table.people is None else WHO
    with tempfile.TemporaryDirectory() as folder, patch.object(parquet, "PART_ROWS", 50):
        for first in range(0, max(whole.num_rows, 1), 120):
            pq.write_table(whole.slice(first, 120), Path(folder) / f"part.{first}.parquet", row_group_size=40)
        return _fitted(estimator, table, ParquetTable(folder), TARGET, "", groups=people, others=others)


FORMULA = "I(y/2) ~ log(price) + size + I(size**2) + town*size + C(code) + job:ok"
WHERE = "size > -1.5 and code != '3' or town == 'north'"
FORMULA_COLUMNS = ("town", "job", "ok", "size", "price", "code")


def fit_formula(estimator: Any, table: Texts, *, files: bool = False) -> Released:
    """Fit a formula to the records that a filter leaves, in a data frame or in Parquet files."""
    import pyarrow.parquet as pq

    rules, others = {"formula": FORMULA, "where": WHERE}, _elsewhere_in_words(table)
    if not files:
        frame = table.pandas().assign(**{TARGET: table.target()})
        return _fitted(estimator, table, frame, None, "", others=others, **rules)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table.arrow(), Path(folder) / "part.parquet", row_group_size=60)
        people = None if table.people is None else WHO
        return _fitted(estimator, table, ParquetTable(folder), None, "", groups=people, others=others, **rules)


def fit_texts_in_dask(estimator: Any, table: Texts) -> Released:
    """Fit to a Dask frame of objects, in three partitions."""
    import dask.dataframe as dd
    import pandas as pd

    frame = table.pandas().astype(object).assign(**{TARGET: table.target()})
    if table.people is not None:
        frame[WHO] = pd.Series(table.people, dtype=object)
    size = max(len(frame) // 2, 1)
    places = [slice(0, size), slice(size, 2 * size), slice(2 * size, None)]
    parts = [frame.iloc[p].reset_index(drop=True) for p in places]
    lazy = dd.from_map(lambda part: parts[part], range(3), meta=frame.iloc[:0])
    people = None if table.people is None else WHO
    return _fitted(estimator, table, lazy, TARGET, "", groups=people, others=_elsewhere_in_words(table))


def fit_with_schema(estimator: Any, table: Texts) -> Released:
    """Fit to a data frame, with a schema that was released for another table."""
    estimator.set_params(schema=known_schema())
    return fit_texts(estimator, table)


@cache
def known_schema() -> Schema:
    """Of some columns. Not to be made while a fit is recorded."""
    table = make_texts(np.random.default_rng(1), 300, columns=SOME_COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SchemaReader(8, 1e-2, random_state=1).fit(table.pandas()).schema_


SOME_COLUMNS = ("town", "job", "note", "ok", "size", "price", "gaps")


def _elsewhere_in_words(table: Texts) -> Any:
    """A few records that are the same for all tables with these columns: usual, without values, unheard of."""
    usual = make_texts(np.random.default_rng(2), 4, columns=table.features)
    return usual.insert(2, [dict.fromkeys(usual.cells), dict.fromkeys(usual.cells, "unheard of")]).pandas()
