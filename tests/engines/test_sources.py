"""One table in every form: what is read of it, and what a seeded release says, is the same bits."""

import csv
from itertools import product

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from parquet_files import write_groups
from privreg import ParquetTable
from privreg.data.cells import CLASSES, MISSING
from privreg.data.files import open_file
from privreg.data.schema import CATEGORY, NUMBER, Column, Schema, declared_columns
from privreg.engines import parquet as parquet_engine
from privreg.engines.base import OpenOptions
from privreg.engines.registry import open_source
from privreg.estimators.reading import FIXED, read
from privreg.estimators.settled import settle
from privreg.estimators.spending import Spending
from privreg.mechanisms.kinds import CountClasses
from privreg.mechanisms.levels import common_values
from privreg.mechanisms.persons import kept_rows
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import noise_for
from public_tables import records_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Dask's threads
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N = 900
BUDGET = Budget(20.0, 1e-5)
TEXTS = ["town", "code", "name", "empty"]
COLUMNS = [*TEXTS, "pay", "flag"]


def make_rows(rng):
    """Common and rare values, numbers as text, names that nobody shares, a column that is nearly empty, gaps."""
    for i in range(N):
        yield {
            "town": rng.choice(
                ["Ayr", "Bath", " Bath", "Cork", "caf\u00e9", "cafe\u0301"], p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1]
            ),
            "code": str(rng.integers(5)) if i % 17 else "x",
            "name": f"person {i}",
            "empty": "now" if i % 90 == 0 else None,
            "pay": float(np.round(rng.normal(), 3)) if i % 23 else None,
            "flag": bool(rng.integers(2)),
            "who": int(rng.integers(N // 3)),
            "y": float(np.round(rng.normal(), 3)),
        }


@pytest.fixture(scope="module")
def frame():
    made = pd.DataFrame(list(make_rows(np.random.default_rng(5))))
    return made.astype(dict.fromkeys(TEXTS, object)).astype({"flag": bool, "pay": float})


def as_pandas(frame, folder):
    return frame[COLUMNS], frame["y"], frame["who"]


def as_categories(frame, folder):
    return frame[COLUMNS].astype(dict.fromkeys(TEXTS, "category")), frame["y"], frame["who"]


def as_polars(frame, folder):
    made = pl.from_pandas(frame.astype(dict.fromkeys(TEXTS, "string")))
    return made[COLUMNS].with_columns(town=made["town"].cast(pl.Categorical)), made["y"], made["who"]


def arrow_table(frame):
    """Without rows, too, text is text."""
    kinds = {name: pa.string() for name in TEXTS} | {"pay": pa.float64(), "flag": pa.bool_(), "who": pa.int64()}
    return pa.Table.from_pandas(frame, pa.schema(list((kinds | {"y": pa.float64()}).items())), preserve_index=False)


def as_arrow(frame, folder):
    made = arrow_table(frame)
    chunked = pa.concat_tables([made.slice(0, 100), made.slice(100, 1), made.slice(101)])
    return chunked.select(COLUMNS), chunked["y"], chunked["who"]


def as_views(frame, folder):
    made = arrow_table(frame)
    views = made.set_column(0, "town", made["town"].cast(pa.string_view()))
    return views.select(COLUMNS), views["y"], views["who"]


def in_groups(frame, folder, sizes):
    table = arrow_table(frame)
    return ParquetTable(write_groups(folder / f"{len(sizes)}.parquet", table, sizes)), "y", "who"


def as_parquet(frame, folder):
    return in_groups(frame, folder, [len(frame)])


def as_row_groups(frame, folder):
    return in_groups(frame, folder, [1, 300, 0, 7, len(frame) - 308])


def as_dask(frame, folder):
    return dd.from_pandas(frame, npartitions=4, sort=False), "y", "who"


def as_one_partition(frame, folder):
    return dd.from_pandas(frame, npartitions=1, sort=False), "y", "who"


FORMS = {
    f.__name__: f
    for f in (
        as_pandas,
        as_categories,
        as_polars,
        as_arrow,
        as_views,
        as_parquet,
        as_row_groups,
        as_dask,
        as_one_partition,
    )
}


@pytest.fixture(params=list(FORMS))
def form(request, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    return FORMS[request.param]


def opened(form, frame, folder, people=False, n_jobs=1):
    folder.mkdir(exist_ok=True)
    X, y, who = form(frame, folder)
    return open_source(X, y, OpenOptions(n_jobs, who if people or isinstance(who, str) else None))


def facts(types, source):
    """Class counts, common values with their counts, and the schema of a seeded account."""
    classes = source.total_cells(CountClasses(tuple(COLUMNS)), COLUMNS)
    common = {name: (v, c.tolist()) for name, (v, c) in common_values(source, TEXTS, 3).items()}
    account = AdaptiveAccount(BUDGET, noise_for(11), extra_delta=5e-7)
    return classes.tolist(), common, read(account, source, settle(types), FIXED)


@pytest.fixture(scope="module")
def expected(frame, tmp_path_factory):
    types, source = opened(as_pandas, frame, tmp_path_factory.mktemp("expected"))
    found = facts(types, source)
    engine = source.open(found[2])
    return *found, engine.names, sorted(records_of(engine))


def test_the_table_is_read_as_it_was_made(expected, frame):
    classes, common, schema, names, records = expected
    assert [sum(row) for row in classes] == [N] * len(COLUMNS)
    assert classes[COLUMNS.index("empty")][MISSING] == frame["empty"].isna().sum() == N - 10
    bath = int((frame["town"].str.strip() == "Bath").sum())
    assert dict(zip(*common["town"], strict=True))["Bath"] == bath
    assert set(common["town"][0]) == {"Ayr", "Bath", "Cork", "caf\u00e9"}
    assert common["name"] == ([], [])
    assert {c.name: c.kind for c in schema if not c.left_out} == {
        "town": CATEGORY, "code": NUMBER, "pay": NUMBER, "flag": "boolean",
    }  # fmt: skip
    assert schema.columns[0].levels[0] == "Ayr"
    assert set(schema.left_out) == {
        "no value is common enough to be found at this budget",
        "almost all values are missing",
    }
    complete = frame["pay"].notna() & (frame["code"] != "x")
    assert len(records) == int(complete.sum())
    assert names == [*(f"town={level}" for level in schema.columns[0].levels[1:]), "code", "pay", "flag=True"]


def test_every_form_gives_the_same_facts(form, frame, expected, tmp_path):
    types, source = opened(form, frame, tmp_path / "d")
    assert facts(types, source) == expected[:3]
    engine = source.open(expected[2])
    assert engine.names == expected[3]
    assert sorted(records_of(engine)) == expected[4]


@pytest.mark.parametrize("name", ["as_pandas", "as_polars", "as_row_groups", "as_dask"])
def test_the_order_of_rows_does_not_matter(name, frame, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    shuffled = frame.sample(frac=1, random_state=3).reset_index(drop=True)
    types, source = opened(FORMS[name], shuffled, tmp_path / "d", n_jobs=2)
    assert facts(types, source) == expected[:3]
    assert sorted(records_of(source.open(expected[2]))) == expected[4]


@pytest.fixture(scope="module")
def expected_of_people(frame, tmp_path_factory):
    types, source = opened(as_pandas, frame, tmp_path_factory.mktemp("people"), people=True)
    return of_people(types, source)


def of_people(types, source):
    spent, kept = Spending(BUDGET, noise_for(7), 2, None), cut(source, 2)
    schema = spent.read(source, settle(types), people=True)
    counts = kept.total_cells(CountClasses(("code",)), ["code"])
    return counts.tolist(), kept.n_rows, schema, sorted(records_of(spent.records(source, schema, people=True)))


def cut(source, rows):
    """With so many rows of each person, as reading looks at them."""
    persons = source.row_identities()
    return source.keep(np.isin(np.arange(persons.size), kept_rows(persons, rows, noise_for(7))))


def test_people_are_the_same_everywhere(form, frame, expected_of_people, tmp_path):
    types, source = opened(form, frame, tmp_path / "d", people=True)
    assert of_people(types, source) == expected_of_people
    most = int(np.minimum(frame["who"].value_counts(), 2).sum())
    assert expected_of_people[1] == sum(expected_of_people[0][0]) == most < N


@pytest.mark.parametrize("form", [as_pandas, as_polars, as_row_groups, as_dask])
@pytest.mark.parametrize("rows", [1, 3])
def test_one_person_with_very_many_rows_counts_as_few(form, rows, tmp_path, monkeypatch):
    """Before anything is counted: the counts cannot show how many rows there were."""
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    n = 10_000
    frame = pd.DataFrame(
        {
            **{name: pd.Series(["secret"] * n + ["usual"] * 50, dtype=object) for name in TEXTS},
            "pay": 1.0, "flag": True, "who": [7] * n + list(range(100, 150)), "y": 0.0,
        }
    )  # fmt: skip
    folder = tmp_path / "d"
    folder.mkdir()
    if form is as_row_groups:
        form = lambda frame, folder: in_groups(frame, folder, [4000, 6000, 50])  # noqa: E731
    types, source = opened(form, frame, folder, people=True)
    kept = cut(source, rows)
    assert kept.n_rows == 50 + rows
    assert kept.total_cells(CountClasses(tuple(COLUMNS)), COLUMNS).sum(axis=1).tolist() == [50 + rows] * len(COLUMNS)
    found = common_values(kept, TEXTS, 1)
    assert {name: (v, c.tolist()) for name, (v, c) in found.items()} == {
        name: (["secret", "usual"], [rows, 50]) for name in TEXTS
    }
    spent = Spending(Budget(100.0, 1e-5), noise_for(7), rows, None)
    schema = spent.read(source, settle(types), people=True)
    assert schema.records < 200  # and not ten thousand
    assert not any("secret" in column.levels for column in schema)
    columns = declared_columns(COLUMNS, {name: ["usual", "secret"] for name in TEXTS})
    engine = spent.records(source, Schema(columns), people=True)
    assert engine.n_records == 50 + rows


# ---------------------------------------------------------------- text files


def write_csv(frame, path, mark=".", separator=",", odd=()):
    """As people have it: all is text, with gaps spelled in several ways."""
    gaps = ["", "NA", "#N/A", "null"]
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=separator)
        writer.writerow(frame.columns)
        for i, row in enumerate(frame.itertuples(index=False)):
            for line in odd:
                if i % 100 == 50:
                    out.write(line + "\n")
            cells = [gaps[i % 4] if v is None or v != v else v for v in row]
            writer.writerow([str(v).replace(".", mark) if isinstance(v, float) else v for v in cells])
    return open_file(path)


ODD_LINES = ["a", "1,2,3,4,5,6,7,8,9,10", '"open', "\0"]


@pytest.mark.parametrize(("mark", "separator"), [(".", ","), (",", ";"), (".", "\t"), (",", "|")])
def test_text_files_hold_the_same_table(frame, expected, tmp_path, mark, separator):
    """Kinds are found, with either decimal mark; the levels, their counts and the records are those of typed tables."""
    types, source = open_source(write_csv(frame, tmp_path / "x.csv", mark, separator), "y", OpenOptions(groups="who"))
    assert types.text_target
    common = {name: (v, c.tolist()) for name, (v, c) in common_values(source, TEXTS, 3).items()}
    assert common == expected[1]
    typed = expected[0]
    counted = source.total_cells(CountClasses(tuple(COLUMNS)), COLUMNS).tolist()
    assert counted[:4] == typed[:4]
    assert [row[MISSING] for row in counted] == [row[MISSING] for row in typed]
    schema = read(AdaptiveAccount(BUDGET, noise_for(11), extra_delta=5e-7), source, settle(types), FIXED)
    assert schema.target_mark == mark
    kinds = {c.name: (c.kind, c.mark if c.name == "pay" else ".") for c in schema if not c.left_out}
    assert kinds == {
        "town": ("category", "."),
        "code": ("number", "."),
        "pay": ("number", mark),
        "flag": ("boolean", "."),
    }
    engine = source.open(schema)
    assert [f.level for f in engine.features if f.category == "town"] == list(expected[2].columns[0].levels[1:])
    assert sorted(records_of(engine)) == expected[4]
    assert engine.identities().size == engine.n_records


def test_odd_lines_are_records_whose_cells_are_missing(frame, expected, tmp_path):
    file = write_csv(frame, tmp_path / "x.csv", odd=ODD_LINES)
    types, source = open_source(file, "y", OpenOptions(groups="who"))
    odd = 9 * len(ODD_LINES)
    assert source.n_rows == N + odd
    counted = source.total_cells(CountClasses((*COLUMNS, None)), COLUMNS, target=True)
    assert counted.sum(axis=1).tolist() == [N + odd] * 7
    assert counted[-1][MISSING] == odd
    usual = np.array(expected[0])[:4]
    usual[:, MISSING] += odd
    np.testing.assert_array_equal(counted[:4], usual)
    assert (source.row_identities() < 0).sum() == odd  # nobody's
    schema = read(AdaptiveAccount(BUDGET, noise_for(11), extra_delta=5e-7), source, settle(types), FIXED)
    assert sorted(records_of(source.open(schema))) == expected[4]


@pytest.mark.parametrize("line", ["x", "1;2", '"', "1,2,3,4"])
def test_a_file_in_which_every_line_is_odd(tmp_path, line):
    path = tmp_path / "x.csv"
    path.write_text("a,b,y\n" + f"{line}\n" * 500)
    types, source = open_source(open_file(path), "y", OpenOptions())
    counted = source.total_cells(CountClasses(("a", "b", None)), ["a", "b"], target=True)
    assert counted[:, MISSING].tolist() == [500] * 3
    assert counted.sum() == 1500
    schema = read(AdaptiveAccount(BUDGET, noise_for(1), extra_delta=5e-7), source, settle(types), FIXED)
    assert schema.features == []
    assert_left_out(schema, ["a", "b"])
    assert schema.warnings == (
        "Most records have no number in the target column: check the target, and the separator of the file.",
    )
    engine = source.open(schema)
    assert engine.n_records == 0
    assert records_of(engine) == []


# ---------------------------------------------------------------- nothing to read


@pytest.mark.parametrize("name", list(FORMS))
def test_no_rows(name, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    form = FORMS[name] if name not in ("as_row_groups", "as_parquet") else lambda f, folder: in_groups(f, folder, [0])
    empty = frame.iloc[:0]
    types, source = opened(form, empty, tmp_path / "d")
    assert source.n_rows == 0
    assert source.total_cells(CountClasses(tuple(COLUMNS)), COLUMNS).tolist() == [[0] * CLASSES] * len(COLUMNS)
    assert {k: (v, c.tolist()) for k, (v, c) in common_values(source, TEXTS, 1).items()} == dict.fromkeys(
        TEXTS, ([], [])
    )
    schema = read(AdaptiveAccount(BUDGET, noise_for(3), extra_delta=5e-7), source, settle(types), FIXED)
    engine = source.open(schema)
    assert engine.n_records == 0
    assert records_of(engine) == []


def test_no_rows_in_a_text_file(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,y\n")
    types, source = open_source(open_file(tmp_path / "x.csv"), "y", OpenOptions(groups="b"))
    assert source.n_rows == 0
    schema = read(AdaptiveAccount(BUDGET, noise_for(3), extra_delta=5e-7), source, settle(types), FIXED)
    assert source.open(schema).n_records == 0


@pytest.mark.parametrize("name", list(FORMS))
def test_a_column_in_which_everything_is_missing(name, frame, expected, tmp_path, monkeypatch):
    """As objects, as nothing at all, as a number: it is left out by name, and costs no record."""
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    gone = frame.assign(name=pd.Series([None] * N, dtype=object), empty=np.nan)
    types, source = opened(FORMS[name], gone, tmp_path / "d")
    schema = read(AdaptiveAccount(BUDGET, noise_for(11), extra_delta=5e-7), source, settle(types), FIXED)
    assert_left_out(schema, ["name", "empty"])
    assert sorted(records_of(source.open(schema))) == expected[4]


def assert_left_out(schema, names):
    """By what noisy counts say, which may be one of two reasons."""
    assert set(schema.left_out) <= {"almost all values are missing", "too many values are missing"}
    assert [column.name for column in schema if column.left_out] == names


def test_a_column_in_which_everything_is_missing_in_text(frame, expected, tmp_path):
    file = write_csv(frame.assign(name=None), tmp_path / "x.csv")
    types, source = open_source(file, "y", OpenOptions(groups="who"))
    schema = read(AdaptiveAccount(BUDGET, noise_for(11), extra_delta=5e-7), source, settle(types), FIXED)
    assert_left_out(schema, ["name", "empty"])
    assert sorted(records_of(source.open(schema))) == expected[4]


def test_a_word_for_missing_values_that_is_a_declared_level_is_not_missing():
    """Else a column in which most are "NA" (North America) would be left out as half empty."""
    frame = pd.DataFrame({"area": ["NA"] * 700 + ["EU"] * 200 + [None] * 100})
    types, source = open_source(frame, np.zeros(1000), OpenOptions())
    for levels, left_out in ((["NA", "EU"], ""), (["US", "EU"], "too many values are missing")):
        account = AdaptiveAccount(BUDGET, noise_for(3), extra_delta=5e-7)
        (column,) = read(account, source, settle(types, {"area": levels}), FIXED)
        assert column.left_out == left_out
        if not left_out:
            np.testing.assert_allclose(column.counts, [700, 200], atol=50)


# ---------------------------------------------------------------- sources and engines


@pytest.mark.parametrize(
    ("name", "fill"), list(product(["as_pandas", "as_polars", "as_row_groups", "as_dask"], [False, True]))
)
def test_features_that_are_chosen_and_filled(name, fill, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    schema = Schema(
        (
            Column("town", CATEGORY, levels=("Ayr", "Bath"), reference=0, other=True),
            Column("code", NUMBER, centre=-1.0),
            Column("name", CATEGORY, left_out="no value is common enough"),
            Column("empty", CATEGORY, levels=("now", "then"), reference=0, missing=True),
            Column("pay", NUMBER, centre=0.5, range=(-1.0, 1.0)),
            Column("flag", "boolean", levels=(False, True)),
        ),
        fill=fill,
    )
    _, source = opened(FORMS[name], frame, tmp_path / "d")
    engine = source.open(schema)
    town, code = frame["town"].str.strip(), pd.to_numeric(frame["code"], errors="coerce")
    expected = [town == "Bath", ~town.isin(["Ayr", "Bath"]), code.fillna(-1) if fill else code]
    expected += [frame["empty"] == "then", *([frame["empty"].isna()] if fill else [])]
    expected += [(frame["pay"].fillna(0.5) if fill else frame["pay"]).clip(-1, 1), ~frame["flag"], frame["flag"]]
    kept = np.full(N, True) if fill else (code.notna() & frame["pay"].notna() & frame["empty"].notna()).to_numpy()
    rows = sorted(zip(*(column[kept].astype(float) for column in expected), frame["y"][kept], strict=True))
    assert sorted(records_of(engine)) == rows
    chosen = engine.choose([len(engine) - 1, 0])
    assert chosen.names == ["flag=True", "town=Bath"]
    wanted = zip(frame["flag"][kept].astype(float), (town == "Bath")[kept].astype(float), frame["y"][kept], strict=True)
    assert sorted(records_of(chosen)) == sorted(wanted)
    assert sorted(records_of(chosen.choose([1]))) == sorted(
        (float(t == "Bath"), y) for t, y in zip(town[kept], frame["y"][kept], strict=True)
    )
