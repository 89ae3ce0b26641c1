"""What is recorded and replayed: every estimator, in the regimes in which it does different things, and the command."""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from typer.testing import CliRunner

from audit.neighbours import KINDS, LEVELS, Cells, make_table
from audit.odd import FAR, LINES, NEW_PEOPLE, PEOPLE, ROWS, Neighbour, odd_cell, odd_neighbour, people_table
from privreg import BoostedAdaSSP, DPKendall, ParquetTable, PrivateLinearRegression, SubLasso, TukeyRegression
from privreg.cli import run_fit
from privreg.cli.app import app
from privreg.engines import parquet
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.privacy.receipt import Receipt

Released = tuple[dict[str, Any], Receipt]


@dataclass(frozen=True)
class Case:
    """A way to make tables, and a fit."""

    what: str
    table: Callable[[np.random.Generator], Cells]
    fit: Callable[[Cells], Released]
    share: float = 1.0
    rows: int = 1  # records that one unit of privacy may own
    neighbour: Neighbour | None = None  # other than those of audit/neighbours.py
    kinds: tuple[str, ...] = KINDS  # of records that neighbours have more


Span = tuple[int, int]

_PARTS = "features are chosen, then a model is fitted to them"


def _case(
    what: str,
    make: Callable[[], Any],
    *,
    n: Span,
    d: Span,
    share: float = 1.0,
    rows: int = 1,
    kind: str = "float64",
    files: bool = False,
    **table: bool,
) -> Case:
    def draw(rng: np.random.Generator) -> Cells:
        return make_table(rng, int(rng.integers(n[0], n[1] + 1)), int(rng.integers(d[0], d[1] + 1)), **table)

    def fit(cells: Cells) -> Released:
        return fit_files(make(), cells) if files else fit_estimator(make(), cells, kind)

    return Case(what, draw, fit, share, rows)


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


def _fitted(
    estimator: Any, cells: Cells, X: Any, y: Any, kind: str, *, groups: Any = None, others: Any = None
) -> Released:
    if cells.levels is not None:
        estimator.set_params(categories={"region": list(LEVELS)})
    stages: list[str] = []
    estimator.set_params(progress=stages.append)
    if groups is None and cells.people is not None:
        groups = np.fromiter(cells.people, object, len(cells.people))
    estimator.fit(X, y) if groups is None else estimator.fit(X, y, groups=groups)
    estimator.set_params(progress=None)
    released = {f"attribute {name}": frozen(value) for name, value in vars(estimator).items()}
    use = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    others = _input(_elsewhere(cells), kind)[0] if others is None else others
    if isinstance(X, ParquetTable) and cells.levels is None:
        import pandas as pd

        others = pd.DataFrame(others, columns=list(estimator.feature_names_in_))
    released |= {"stages": stages, "predictions": frozen(use(others))}
    if hasattr(estimator, "summary"):
        released["summary"] = estimator.summary()
        with tempfile.TemporaryDirectory() as folder:
            estimator.save(Path(folder) / "model.json")
            released["model file"] = (Path(folder) / "model.json").read_bytes()
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
    """`privreg fit` on a CSV file, with everything it can write. What is compared is all of it, but for times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_csv(cells, folder / "data.csv")
        ledger = str(folder / "ledger")
        CliRunner().invoke(app, ["ledger", "create", ledger, "--dataset", "d", "--epsilon", "9", "--delta", "0.1"])
        given = ["fit", str(folder / "data.csv"), "--target", "y", "--epsilon", "3", "--delta", "1e-3", "--out"]
        given += [str(folder / "m.json"), "--report", str(folder / "r.html"), "--ledger", ledger, "--dataset", "d"]
        if cells.levels is not None:
            given += ["--category", f"region={','.join(LEVELS)}"]
        if cells.people is not None:
            given += ["--person", "who"]
        given += options
        stages: list[str] = []
        with patch.object(run_fit, "stages", partial(_stages, stages)):
            ran = CliRunner().invoke(app, given)
        if ran.exit_code:
            raise RuntimeError(f"{ran.exception!r} {ran.stderr}".replace(name, ""))
        released = {"stdout": ran.stdout, "stderr": ran.stderr, "stages": "\n".join(stages)}
        released |= {name: (folder / name).read_text() for name in ("m.json", "r.html")}
        released["ledger"] = CliRunner().invoke(app, ["ledger", "history", ledger, "--json"]).stdout
        from privreg import load_model

        receipt = load_model(folder / "m.json").receipt_
    return {key: _TIMES.sub("", text.replace(name, "")) for key, text in released.items()}, receipt


@contextmanager
def _stages(told: list[str]) -> Iterator[Callable[[str], None]]:
    yield told.append


def _write_csv(cells: Cells, path: Path) -> None:
    names = [*(f"x{j}" for j in range(cells.numbers.shape[1] - 1)), "y"]
    texts = {"region": cells.levels, "who": cells.people}
    lines = [",".join([*names, *(name for name, column in texts.items() if column is not None)])]
    for i, record in enumerate(cells.numbers.tolist()):
        text = [column[i] or "" for column in texts.values() if column is not None]
        lines.append(",".join([*map(repr, record), *text]))
    written = [line.encode() for line in lines]
    if cells.odd is not None:
        written.insert(1 + cells.odd[0], cells.odd[1])
    path.write_bytes(b"\n".join(written) + b"\n")


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


_SEEDED: dict[str, Any] = {"n_jobs": 1, "random_state": 1}


def _flagship(epsilon: float, delta: float, **options: Any) -> Callable[[], PrivateLinearRegression]:
    return lambda: PrivateLinearRegression(epsilon, delta, **options, **_SEEDED)


def _two_parts(selection: str, regression: str, epsilon: float) -> Callable[[], SelectThenRegress]:
    return lambda: SelectThenRegress(selection, regression, 2, epsilon, 1e-2, **_SEEDED)


_ODD_PEOPLE = people_table(PEOPLE, NEW_PEOPLE)
_PEOPLE_BY_TIME = people_table(range(50), (FAR, -FAR, 10**11))

CASES = {
    "PrivateLinearRegression": _case("all columns", _flagship(3, 1e-3), n=(100, 400), d=(1, 5), share=3),
    "PrivateLinearRegression, screening": _case(
        "columns are chosen", _flagship(1, 1e-3), n=(200, 300), d=(8, 12), share=2
    ),
    "PrivateLinearRegression, k": _case("two columns", _flagship(5, 1e-2, k=2), n=(100, 300), d=(3, 6), share=2),
    "PrivateLinearRegression, long tails": _case(
        "columns with a second term", _flagship(8, 1e-2), n=(2000, 3000), d=(2, 3), share=0.5
    ),
    "PrivateLinearRegression, few records": _case("a constant", _flagship(0.2, 1e-6), n=(0, 40), d=(1, 4)),
    "PrivateLinearRegression, categories": _case(
        "a data frame with declared levels", _flagship(3, 1e-3), n=(50, 300), d=(1, 3), levels=True
    ),
    "PrivateLinearRegression, people": _case(
        "one person more or less, of whom two records are kept",
        _flagship(5, 1e-2, rows_per_person=2), n=(150, 400), d=(1, 3), share=1.5, rows=2, people=True,
    ),
    "PrivateLinearRegression, single precision": _case(
        "an array of float32", _flagship(3, 1e-3), n=(50, 200), d=(1, 3), share=0.5, kind="float32"
    ),
    "DPKendall": _case("three rounds", lambda: DPKendall(3, 1, **_SEEDED), n=(0, 60), d=(4, 7), share=3),
    "DPKendall, categories": _case(
        "a data frame with declared levels", lambda: DPKendall(2, 1, 1e-6, **_SEEDED), n=(0, 60), d=(2, 4), levels=True
    ),
    "DPKendall, all columns": _case(
        "nothing to choose", lambda: DPKendall(9, 1, **_SEEDED), n=(0, 60), d=(2, 4), share=0.3
    ),
    "SubLasso": _case("groups of k records", lambda: SubLasso(2, 4, **_SEEDED), n=(0, 80), d=(3, 6), share=3),
    "SubLasso, groups of d": _case(
        "groups of as many records as columns", lambda: SubLasso(2, 4, group_size="d", **_SEEDED), n=(20, 80), d=(3, 6)
    ),
    "SubLasso, delta": _case(
        "more rounds than columns with a vote", lambda: SubLasso(3, 2, 1e-4, **_SEEDED), n=(20, 80), d=(4, 6), share=0.5
    ),
    "TukeyRegression": _case(
        "the test passes or fails",
        lambda: TukeyRegression(20, 1e-2, group_size=4, **_SEEDED), n=(150, 300), d=(1, 3), share=3,
    ),
    "TukeyRegression, known count": _case(
        "the number of records comes from elsewhere",
        lambda: TukeyRegression(25, 1e-2, n_records=200, **_SEEDED), n=(150, 300), d=(1, 2),
    ),
    "TukeyRegression, large delta": _case(
        "a draw that is private by its test only",
        lambda: TukeyRegression(3, 0.05, group_size=2, **_SEEDED), n=(100, 200), d=(1, 1),
    ),
    "TukeyRegression, few records": _case(
        "too few models for a release", lambda: TukeyRegression(1, 1e-6, **_SEEDED), n=(0, 60), d=(1, 3), share=0.5
    ),
    "BoostedAdaSSP": _case(
        "five rounds", lambda: BoostedAdaSSP(1, 1e-5, rounds=5, **_SEEDED), n=(0, 60), d=(1, 6), share=2
    ),
    "BoostedAdaSSP, clips": _case(
        "other clips",
        lambda: BoostedAdaSSP(1, 1e-5, rounds=5, clip_x=7, clip_y=250, **_SEEDED), n=(0, 60), d=(1, 4), share=0.5,
    ),
    "BoostedAdaSSP, as published": _case(
        "a hundred rounds, the reference ridge",
        lambda: BoostedAdaSSP(1, 1e-5, ridge="reference", **_SEEDED), n=(0, 60), d=(1, 4), share=0.5,
    ),
    "K-Tukey": _case(_PARTS, _two_parts("kendall", "tukey", 25), n=(150, 300), d=(3, 5), share=1.5, gaps=False),
    "L-Tukey": _case(_PARTS, _two_parts("sublasso", "tukey", 25), n=(150, 300), d=(3, 5), share=1.5, gaps=False),
    "K-BAS": _case(_PARTS, _two_parts("kendall", "adassp", 3), n=(10, 60), d=(3, 5), share=0.5, gaps=False),
    "L-BAS": _case(_PARTS, _two_parts("sublasso", "adassp", 3), n=(10, 60), d=(3, 5), share=0.5, gaps=False),
    "privreg fit": Case(
        "the command on a CSV file, with model, report and ledger",
        lambda rng: make_table(rng, int(rng.integers(100, 300)), int(rng.integers(1, 4)), levels=bool(rng.integers(2))),
        run_command,
        0.3,
    ),
    "privreg fit, people": Case(
        "the command with --person and --json",
        lambda rng: make_table(rng, int(rng.integers(100, 300)), 2, people=True),
        lambda cells: run_command(cells, "--rows-per-person", "2", "--json"),
        0.2,
        rows=2,
    ),
    "PrivateLinearRegression, on samples": _case(
        "two columns, each chosen on a sample of the records",
        _flagship(5, 1e-2, k=2, max_rows_for_selection=80), n=(100, 300), d=(3, 6), share=1.5,
    ),
    "PrivateLinearRegression, Parquet": _case(
        "files that stay on disk", _flagship(3, 1e-3), n=(0, 300), d=(1, 3), share=0.5, files=True
    ),
    "PrivateLinearRegression, k, Parquet": _case(
        "files with a category, columns are chosen",
        _flagship(5, 1e-2, k=2), n=(100, 300), d=(2, 4), share=0.5, levels=True, files=True,
    ),
    "privreg fit, odd lines": Case(
        "the command on a CSV file with a line that is no record",
        lambda rng: make_table(rng, int(rng.choice([0, 0, 3, 150])), 2, levels=bool(rng.integers(2))),
        run_command,
        0.3,
        neighbour=odd_neighbour(LINES),
    ),
    "PrivateLinearRegression, lists": Case(
        "lists, one row of which is no row",
        lambda rng: make_table(rng, int(rng.integers(3, 200)), int(rng.integers(2, 4))),
        lambda cells: fit_lists(_flagship(3, 1e-3)(), cells),
        neighbour=odd_neighbour(ROWS),
    ),
    "PrivateLinearRegression, odd people": Case(
        "people with identifiers that Python takes for the same",
        _ODD_PEOPLE[0],
        lambda cells: fit_estimator(_flagship(5, 1e-2, rows_per_person=2)(), cells),
        rows=2,
        neighbour=_ODD_PEOPLE[1],
    ),
    "PrivateLinearRegression, people by time": Case(
        "people told apart by points in time, one of them far away",
        _PEOPLE_BY_TIME[0],
        lambda cells: fit_by_time(_flagship(5, 1e-2, rows_per_person=2)(), cells),
        0.5,
        rows=2,
        neighbour=_PEOPLE_BY_TIME[1],
    ),
    "PrivateLinearRegression, Dask": Case(
        "a Dask frame, one cell of which has another type",
        lambda rng: make_table(rng, int(rng.integers(60, 200)), 1),
        lambda cells: fit_dask(_flagship(5, 1e-2, rows_per_person=2)(), cells),
        0.15,
        rows=2,
        neighbour=odd_cell(("x", "flag", "town", "who", "y")),
    ),
}  # fmt: skip
