"""Tables with text, from end to end: every kind of table gives the same model, and no value breaks anything."""

import csv
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import run
from privreg import BoostedAdaSSP, FitWarning, ParquetTable, PrivateLinearRegression, SchemaReader, load_model
from privreg._format import LONGEST
from privreg.data.files import open_file
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.report.model import Context, report_page
from privreg.results.release import release_of
from reports import texts

N = 3000
ESTIMATORS = {
    "PrivateLinearRegression": lambda **o: PrivateLinearRegression(5.0, random_state=2, **o),
    "BoostedAdaSSP": lambda **o: BoostedAdaSSP(5.0, rounds=4, random_state=2, **o),
    "K-BAS": lambda **o: SelectThenRegress("kendall", "adassp", 2, 5.0, random_state=2, **o),
}
every = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())


@pytest.fixture(scope="module")
def content():
    """Columns as Python has them: text, numbers, and a target, some of which are missing."""
    rng = np.random.default_rng(0)
    town = [None if rng.random() < 0.05 else str(t) for t in rng.choice(["Ayr", "Bath, W", "Örebro"], N)]
    age = [None if rng.random() < 0.05 else round(float(v), 2) for v in rng.normal(50, 10, N)]
    name = [f"person {i}" for i in range(N)]
    noise = rng.normal(size=N)
    pay = [(a or 0) / 5 + 3 * (t == "Ayr") + float(e) for a, t, e in zip(age, town, noise, strict=True)]
    return {"town": town, "age": age, "name": name, "pay": [round(v, 3) for v in pay]}


@pytest.fixture(scope="module")
def tables(content, tmp_path_factory):
    """The same table as every kind: what to fit on, the target, and the rows to predict."""
    dd = pytest.importorskip("dask.dataframe")
    folder = tmp_path_factory.mktemp("tables")
    arrow = pa.table(content)
    frame = pd.DataFrame(content)
    objects = frame.astype({"town": object, "name": object})
    features = ["town", "age", "name"]
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(content)
        writer.writerows(zip(*content.values(), strict=True))
    pq.write_table(arrow, folder / "table.parquet", row_group_size=700)
    category = objects.astype({"town": "category"})
    polars = pl.DataFrame(content)
    dictionary = arrow.set_column(0, "town", arrow["town"].dictionary_encode())
    parts = dd.from_pandas(objects, npartitions=3)
    found = {
        "object": (objects[features], objects["pay"]),
        "str": (frame.astype({"town": "str", "name": "str"}).where(frame.notna())[features], frame["pay"]),
        "string": (frame.astype({"town": "string", "name": "string"})[features], frame["pay"]),
        "category": (category[features], category["pay"]),
        "polars": (polars[features], polars["pay"]),
        "polars, categorical": (polars.with_columns(pl.col("town").cast(pl.Categorical))[features], polars["pay"]),
        "arrow": (arrow.select(features), arrow["pay"]),
        "arrow, dictionary": (dictionary.select(features), arrow["pay"]),
        "parquet": (ParquetTable(folder / "table.parquet"), "pay"),
        "dask": (parts[features], parts["pay"]),
        "csv": (open_file(folder / "table.csv"), "pay"),
    }
    return found, objects[features]


KINDS = (
    *("str", "string", "category", "polars", "polars, categorical", "arrow", "arrow, dictionary", "parquet", "dask"),
)


@every
@pytest.mark.parametrize("missing", ["drop", "fill"])
def test_all_kinds_of_table_give_the_same_model(make, missing, tables):
    found, rows = tables
    expected = make(missing=missing).fit(*found["object"])
    assert expected.schema_.columns[0].levels
    predicted = expected.predict(rows)
    for kind in KINDS:
        model = make(missing=missing).fit(*found[kind])
        assert model.schema_ == expected.schema_, kind
        assert model.receipt_ == expected.receipt_, kind
        np.testing.assert_array_equal(model.coef_, expected.coef_, err_msg=kind)
        np.testing.assert_array_equal(model.predict(rows), predicted, err_msg=kind)
        own = model.predict(found[kind][0])
        np.testing.assert_array_equal(np.asarray(own), predicted, err_msg=kind)


@every
def test_a_text_file_gives_the_same_levels_and_predictions(make, tables):
    """All its columns are text, so it is counted more, and the noise is other noise: the schema is the same."""
    found, rows = tables
    model, expected = make().fit(*found["csv"]), make().fit(*found["object"])
    for one, other in zip(model.schema_, expected.schema_, strict=True):
        assert (one.name, one.kind, set(one.levels), one.left_out) == (
            other.name,
            other.kind,
            set(other.levels),
            other.left_out,
        )
    np.testing.assert_array_equal(np.isnan(model.predict(rows)), np.isnan(expected.predict(rows)))
    np.testing.assert_array_equal(model.predict(found["csv"][0]), model.predict(rows))


@every
def test_order_and_cuts_of_the_rows_do_not_matter_to_the_schema(make, tables):
    found, _ = tables
    frame, pay = found["object"]
    order = np.random.default_rng(1).permutation(N)
    one, two = make().fit(frame, pay), make().fit(frame.iloc[order], pay.iloc[order])
    assert one.schema_ == two.schema_


# ---- hostile names and levels

ANSI, HTML, COMMAND = "\x1b[31mred\x1b[0m", "<script>alert(1)</script>", '=cmd|"/c calc"!A1'
LONG = "very " * 200_000  # a million characters
LEVELS = [ANSI, HTML, COMMAND, LONG, "(other)", "(missing)", "a=b", "b=c", "line\nbreak", "\u202eright to left"]
NAMES = {ANSI: "plain", HTML: HTML, COMMAND: "x", "a": "y", "a=b": "z"}


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    levels = rng.integers(len(LEVELS), size=N)
    frame = pd.DataFrame({"town": pd.Series([LEVELS[i] for i in levels], dtype=object)})
    for name, rare in NAMES.items():
        frame[name] = rng.normal(size=N)
        frame.loc[::2, name] = np.nan if name == ANSI else frame.loc[::2, name]
        del rare
    pay = 3.0 * levels + frame["a"] + rng.normal(size=N)
    model = PrivateLinearRegression(100.0, random_state=1).fit(frame, pay)
    return model, frame, pay


def is_safe(text):
    """Nothing that a terminal obeys, or that reorders what is read."""
    return all(c == "\n" or c.isprintable() for c in text)


def test_hostile_levels_are_levels(hostile):
    model, frame, _ = hostile
    column = model.schema_.columns[0]
    # Blanks around a cell are no part of it.
    assert set(column.levels) == {level.strip() for level in LEVELS}
    assert not column.other
    assert len({f.code for f in model._features if f.category == "town"}) == len(LEVELS) - 1
    predicted = model.predict(frame)
    by_level = pd.Series(predicted).groupby(frame["town"].map(LEVELS.index)).mean()
    assert by_level.is_monotonic_increasing  # each has a coefficient of its own
    assert model.schema_.left_out == {"too many values are missing": [ANSI]}


def test_hostile_names_and_levels_are_shown_escaped_and_shortened(hostile):
    model, *_ = hostile
    text = str(model.summary())
    assert is_safe(text)
    assert "\ufffd[31mred" in text
    assert max(map(len, text.splitlines())) < 3 * LONGEST
    assert all(is_safe(warning) for warning in model.warnings_)
    assert any(warning.startswith("\ufffd[31mred") for warning in model.warnings_)
    assert is_safe(str(model.receipt_))


def test_hostile_names_and_levels_in_a_report(hostile):
    model, *_ = hostile
    release = release_of(model, HTML, "auto")
    page = report_page(release, Context())
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "\x1b" not in page
    for text in texts(release, Context()).splitlines():  # what people read; the record for machines has whole names
        assert LONG[: 2 * LONGEST] not in text


def test_hostile_names_and_levels_in_a_model_file(hostile, tmp_path):
    """There they are as they are: predictions need them. JSON in ASCII escapes what a terminal would obey."""
    model, frame, _ = hostile
    model.save(tmp_path / "model.json")
    raw = (tmp_path / "model.json").read_bytes()
    assert raw.isascii()
    assert b"\x1b" not in raw
    names = [column["name"] for column in json.loads(raw)["schema"]["columns"]]
    assert names == ["town", *NAMES]
    back = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(back.predict(frame), model.predict(frame))


def test_hostile_names_and_levels_at_the_terminal(hostile, tmp_path):
    _, frame, pay = hostile
    table = frame.assign(pay=pay)
    table.to_parquet(tmp_path / "table.parquet")
    fit = ("fit", tmp_path / "table.parquet", "--target", "pay", "--epsilon", "100", "--yes")
    told = run(*fit)
    assert is_safe(told.stdout)
    assert "\ufffd[31mred" in told.stdout
    assert len(told.stdout) < 100_000
    told = run("schema", tmp_path / "table.parquet", "--epsilon", "100", "--yes")
    assert is_safe(told.stdout)
    assert len(told.stdout) < 100_000
    told = run(*fit, "--json")
    assert "\x1b" not in told.stdout


def test_line_breaks_in_quoted_cells_are_odd_lines(tmp_path):
    """A record is a line: one that is cut by a quoted break has the wrong number of cells, and nothing else changes."""
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},t{rng.integers(2)},{rng.normal():.3f}" for _ in range(N)]
    lines[5:5] = ['1.0,"line', 'break",2.0']
    (tmp_path / "table.csv").write_text("x,town,y\n" + "\n".join(lines) + "\n")
    model = PrivateLinearRegression(10.0, random_state=1).fit(open_file(tmp_path / "table.csv"), "y")
    assert set(model.schema_.columns[1].levels) == {"t0", "t1"}
    assert model.schema_.records == pytest.approx(N + 2, abs=40)
    assert model.n_records_ == pytest.approx(N, abs=40)


ODD = [
    *(None, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 10**400, True, b"bytes", "\ud800", "\x00", "", " ", "NA"),
    *("1e999", "1,5", "1.5", "2020-02-30", "yes", float("1e300"), (1, 2), [1], {"a": 1}, object(), pd.NaT, pd.NA),
]


@pytest.mark.parametrize("missing", ["drop", "fill"])
@every
def test_no_value_raises_or_warns(make, missing):
    rng = np.random.default_rng(0)
    cells = pd.Series([ODD[i] for i in rng.integers(len(ODD), size=600)], dtype=object)
    frame = pd.DataFrame({"odd": cells, "town": rng.choice(["a", "b"], 600), "x": rng.normal(size=600)})
    frame.loc[:20, "x"] = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0] * 3
    pay = frame["x"].replace([np.inf, -np.inf, np.nan, 1e308, -1e308], 0.0)
    model = make(missing=missing)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=UserWarning, module=".*", message="random_state")
        warnings.simplefilter("ignore", FitWarning)  # of what was released, when the fit is complete
        model.fit(frame, pay)
        SchemaReader(5.0, random_state=1, missing=missing).fit(frame)
    assert len(model.predict(frame)) == 600


@pytest.mark.parametrize("column", ["x", "town", "pay"])
def test_no_cell_of_a_file_raises(column, tmp_path):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=600).astype(str), "town": rng.choice(["a", "b"], 600), "pay": rng.normal(size=600)}
    table = {name: [str(v) for v in values] for name, values in table.items()}
    odd = [str(v).replace("\n", " ").encode(errors="replace").decode() for v in ODD]
    table[column][: len(odd)] = odd
    with (tmp_path / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    file = open_file(tmp_path / "table.csv")
    with np.errstate(all="raise"):
        model = PrivateLinearRegression(50.0, random_state=1).fit(file, "pay")
    assert [c.kind for c in model.schema_] == ["number", "category"]
    assert len(model.predict(file)) == 600


def test_a_target_without_numbers_is_told(tmp_path):
    (tmp_path / "table.csv").write_text("x,pay\n" + "1,abc\n" * N)
    model = PrivateLinearRegression(5.0, random_state=1).fit(open_file(tmp_path / "table.csv"), "pay")
    assert any(text.startswith("Most records have no number in the target column") for text in model.warnings_)
    assert any(text.startswith("Almost no record has a value in every column") for text in model.warnings_)
    assert model.selected_features_ == []


def test_a_date_is_said_to_count_days():
    rng = np.random.default_rng(0)
    day = rng.integers(0, 20_000, 5000)
    frame = pd.DataFrame({"when": (np.datetime64("1970-01-01") + day).astype(str), "x": rng.normal(size=5000)})
    model = PrivateLinearRegression(5.0, 1e-6, random_state=0).fit(frame, day / 1000 + rng.normal(size=5000))
    assert "when: measured in days since 1970-01-01." in str(model.summary())
    assert model.coef_[0] == pytest.approx(0.001, rel=0.2)
