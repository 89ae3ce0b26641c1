"""Partitions whose types one value has changed: each cell counts as the frame declares it, and no other one moves."""

from datetime import date, time
from decimal import Decimal

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privreg import ClusterError, Ledger, PrivateLinearRegression, SchemaError
from privreg.engines.dask.declared import identities
from public_tables import public_engine

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N, PARTS = 600, 3
RNG = np.random.default_rng(2)
BASE = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "count": RNG.integers(50, size=N),
        "flag": RNG.random(N) < 0.5,
        "town": pd.Series(RNG.choice(["Ayr", "Bath", "Cork"], N), dtype=object),
        "who": np.arange(N) // 2,
        "y": RNG.normal(size=N),
    }
)
BASE["y"] += BASE["x"] + BASE["flag"]
KINDS = {"x": "f8", "count": "i8", "flag": "?", "town": object, "who": "i8", "y": "f8"}
CATEGORIES = {"town": ["Ayr", "Bath", "Cork"]}
ODD = 250  # a row of the second partition

# What may stand in one cell: nothing, something of another kind, something that cannot be text.
CELLS = {
    "None": None,
    "NaN": np.nan,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "text": "odd",
    "number as text": "1e3x",
    "bytes": b"\xff",
    "half a character": "\ud800",
    "list": [1, 2],
    "signalling": Decimal("sNaN"),
    "huge": 10**400,
    "infinite": -np.inf,
    "complex": 1j,
    "date": pd.Timestamp(1),
    "long double": np.longdouble("1e4000"),
}


@pytest.fixture(scope="module", autouse=True)
def threads():
    """Partitions are computed by threads of this process."""
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture(params=[True, False], ids=["converted", "as it is"])
def conversion(request):
    with dask.config.set({"dataframe.convert-string": request.param}):
        yield request.param


def pieces(column=None, cell=None):
    """The table in parts, as a reader of files would make them; one cell may be another."""
    return pieces_with({} if column is None else {(column, ODD): cell})


def pieces_with(odd):
    made = []
    for part in np.array_split(np.arange(N), PARTS):
        piece = BASE.iloc[part].reset_index(drop=True)
        for (column, row), cell in odd.items():
            if row in part:
                cells = piece[column].astype(object)
                cells.iloc[row - part[0]] = cell
                missing = cell is None or cell is pd.NaT or cell is pd.NA or isinstance(cell, float | complex)
                piece[column] = cells.infer_objects() if missing else cells  # as pandas would have it
        made.append(piece)
    return made


META = BASE.iloc[:0].astype(KINDS)
SOURCES = {
    "from_map": lambda made: dd.from_map(lambda i: made[i], range(len(made)), meta=META),
    "from_delayed": lambda made: dd.from_delayed([dask.delayed(piece) for piece in made], meta=META),
}


def fit(frame):
    model = PrivateLinearRegression(3.0, 1e-4, categories=CATEGORIES, random_state=4)
    return model.fit(frame, "y", groups="who")


def with_gap(column):
    """The same table in memory, where a value is missing."""
    frame = BASE.astype({"flag": "boolean"})
    frame.loc[ODD, column] = None
    model = PrivateLinearRegression(3.0, 1e-4, categories=CATEGORIES, random_state=4)
    return model.fit(frame.drop(columns=["y", "who"]), frame["y"], groups=frame["who"])


def people(frame):
    return public_engine(frame, "y", "who", CATEGORIES).identities()


COLUMNS = ("x", "count", "flag", "town", "y")


@pytest.fixture(scope="module")
def whole():
    """Values of the columns, the target last, and people, without odd cells."""
    records = public_engine(SOURCES["from_map"](pieces()), "y", "who", CATEGORIES, full=True)
    assert records.n_records == N
    return values_of(records), records.identities()


def values_of(records):
    return np.array([np.concatenate(records.column(j).total(lambda v: [v])) for j in (*range(len(records)), -1)])


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_that_does_not_fit_costs_its_record_only(conversion, name, whole):
    """In each column one, in two partitions: the other records keep their values and their people."""
    odd = {(column, 210 + 70 * i): CELLS[name] for i, column in enumerate((*COLUMNS, "who"))}
    source = SOURCES["from_map" if (len(name) + conversion) % 2 else "from_delayed"]
    records = public_engine(source(pieces_with(odd)), "y", "who", CATEGORIES, full=True)
    kept = np.delete(np.arange(N), [row for column, row in odd if column != "who"])
    np.testing.assert_array_equal(values_of(records), whole[0][:, kept])
    before, after = whole[1][kept], records.identities()
    assert np.flatnonzero(after == -1).tolist() == [kept.tolist().index(210 + 70 * 5)]
    pairs = {(b, a) for b, a in zip(before, after, strict=True) if a >= 0}
    assert len(pairs) == len({b for b, _ in pairs}) == len({a for _, a in pairs})


@pytest.mark.parametrize(("column", "cell"), [("flag", None), ("y", None)])
def test_fits_are_those_of_the_table_in_memory(conversion, column, cell):
    assert fit(SOURCES["from_delayed"](pieces(column, cell))).coef_.tobytes() == with_gap(column).coef_.tobytes()


@pytest.mark.parametrize("column", [*COLUMNS, "who"])
def test_a_partition_in_which_everything_is_missing(conversion, column, whole):
    made = pieces()
    made[1] = made[1].assign(**{column: [None] * len(made[1])})
    frame = SOURCES["from_map"](made)
    records = public_engine(frame, "y", "who", CATEGORIES, full=True)
    assert np.count_nonzero(records.identities() >= 0) == N - len(made[1])
    if column != "who":
        np.testing.assert_array_equal(values_of(records), np.delete(whole[0], np.arange(200, 400), axis=1))


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "boolean", "string", "str", object, "category"])
def test_identifiers_of_every_declared_type(kind, conversion):
    """As declared, and with one partition that came as something else."""
    ids = pd.Series(np.arange(N) // 2 % (2 if kind == "boolean" else N))
    ids = ids.astype(str) if kind in ("string", "str", "category") else ids
    ids = ids.astype(bool).astype(kind) if kind == "boolean" else ids.astype(kind)
    expected = len(set(ids))
    for change in (
        lambda part: part,
        lambda part: part.astype(object),
        lambda part: part.astype(object).mask(part.index == 5),
    ):
        made = [
            piece.assign(who=ids.iloc[200 * i : 200 * i + 200].reset_index(drop=True))
            for i, piece in enumerate(pieces())
        ]
        made[1] = made[1].assign(who=change(made[1]["who"]))
        frame = dd.from_map(lambda i, made=made: made[i], range(PARTS), meta=META.assign(who=ids.iloc[:0]))
        found = people(frame)
        present = found >= 0
        assert (~present).sum() == made[1]["who"].isna().sum()
        assert len(set(zip(ids[present], found[present], strict=True))) == len(set(found[present])) == expected


def test_large_identifiers_stay_apart_where_the_declared_type_keeps_them():
    large = pd.Series(np.arange(N) // 2 + 2**60, dtype="Int64")
    made = [piece.assign(who=large.iloc[200 * i : 200 * i + 200].array) for i, piece in enumerate(pieces())]
    frame = dd.from_map(lambda i: made[i], range(PARTS), meta=META.assign(who=large.iloc[:0]))
    assert len(set(people(frame))) == N // 2


def test_frames_read_from_csv_and_parquet(tmp_path, conversion):
    with_gaps = pd.concat(pieces("flag", None), ignore_index=True)
    for i, piece in enumerate(pieces("flag", None)):
        piece.to_csv(tmp_path / f"{i}.csv", index=False)
    read = dd.read_csv(str(tmp_path / "*.csv"), dtype={"flag": object, "town": object, "who": "float64"})
    model = PrivateLinearRegression(3.0, 1e-4, categories=CATEGORIES | {"flag": ["True", "False"]}, random_state=4)
    model.fit(read, "y", groups="who")
    text = BASE.assign(flag=BASE["flag"].astype(str).where(BASE.index != ODD))
    memory = PrivateLinearRegression(3.0, 1e-4, categories=model.categories, random_state=4)
    memory.fit(text.drop(columns=["y", "who"]), text["y"], groups=text["who"])
    assert model.n_records_ == memory.n_records_
    with_gaps.assign(flag=with_gaps["flag"].astype("boolean")).to_parquet(tmp_path / "p.parquet", row_group_size=150)
    read = dd.read_parquet(tmp_path / "p.parquet", split_row_groups=True)
    assert read.npartitions == 4
    assert fit(read).coef_.tobytes() == with_gap("flag").coef_.tobytes()


BIG = [2**53 + i for i in range(4)]
DAYS, TIMES = [date(2020, 1, 1), date(2020, 1, 2)], [time(1), time(2)]


@pytest.mark.parametrize(
    ("kind", "usual", "odd"),
    [
        ("Int64", BIG, None),
        ("int64[pyarrow]", BIG, None),
        ("int64", BIG, "odd"),
        (object, BIG, None),
        (object, BIG, "odd"),
        (object, [1, 2, 3], 3j),
        ("string", BIG, None),
        ("Float64", [2.0**60, 0.5], None),
        ("float64", [2**60 + 1, 3], None),
        ("float32", [0.5, 0.1], "odd"),
        (pd.ArrowDtype(pa.decimal128(20, 0)), [Decimal(1), Decimal(2)], None),
        ("M8[ns]", [pd.Timestamp(1), pd.Timestamp(2)], "odd"),
        (pd.ArrowDtype(pa.date32()), DAYS, "odd"),
        (pd.ArrowDtype(pa.time64("us")), TIMES, "odd"),
        ("category", BIG, None),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_an_odd_identifier_changes_nobody_else(kind, usual, odd, typed):
    """The first partition is as declared, or as pandas has it; the second has one identifier more, or not."""
    kind = pd.Series(usual).astype(kind).dtype
    first = pd.Series(usual).astype(kind) if typed else pd.Series(usual)
    second = pd.Series(usual), pd.Series([*usual, odd])
    found = [identities([pd.DataFrame({"id": c}) for c in (first, more)], kind) for more in second]
    assert odd == "odd" or found[1][-1] == -1  # a text among objects is somebody
    assert relation(found[0]) == relation(found[1][:-1])


@pytest.mark.parametrize(
    "kind", [pd.ArrowDtype(pa.time64("ns")), pd.ArrowDtype(pa.timestamp("s")), "M8[s]", pd.DatetimeTZDtype("s", "UTC")]
)
def test_stored_times_are_exact_beside_an_odd_partition(kind):
    stored = pa.array([1, 2, 2**40, 1], pa.int64())
    if isinstance(kind, pd.ArrowDtype):
        column = pd.Series(pd.arrays.ArrowExtensionArray(stored.view(kind.pyarrow_dtype)))
    else:
        column = pd.Series(stored.to_numpy().view("M8[s]"))
        column = column if kind == "M8[s]" else column.dt.tz_localize("UTC")
    frames = [pd.DataFrame({"id": column}), pd.DataFrame({"id": [None]})]
    assert identities(frames, column.dtype).tolist() == [0, 1, 2, 0, -1]


def relation(codes):
    return [[int(a == b >= 0) for b in codes] for a in codes]


def test_types_that_cannot_name_people_are_refused_whatever_the_partitions_are():
    meta = META.assign(who=pd.Series(pd.period_range("2020", periods=0, freq="D")))
    frame = dd.from_map(lambda i: pieces()[i], range(PARTS), meta=meta)
    with pytest.raises(SchemaError, match="cannot tell people apart"):
        PrivateLinearRegression(1.0, 1e-6, categories=CATEGORIES).fit(frame, "y", groups="who")


def test_a_column_that_a_partition_lacks_is_missing_there(whole):
    for source in SOURCES.values():
        made = pieces()
        made[1] = made[1].drop(columns="x")
        made.append(pd.DataFrame([]))
        records = public_engine(source(made), "y", "who", CATEGORIES, full=True)
        np.testing.assert_array_equal(values_of(records), np.delete(whole[0], np.arange(200, 400), axis=1))


def test_one_odd_cell_does_not_make_levels_of_others():
    """pandas reads a partition of digits as numbers, and as text if one cell is none."""
    meta = META.assign(town=pd.Series(dtype="string"))
    for odd in (None, "x"):
        made = pieces()
        for piece in made:
            piece["town"] = [1, 2] * 100
        if odd is not None:
            made[0]["town"] = ["x", *["2", "1"] * 99, "2"]
        frame = dd.from_map(lambda i, made=made: made[i], range(PARTS), meta=meta)
        assert public_engine(frame, "y", "who", {"town": ["1", "2"]}, full=True).n_records == N - (odd is not None)


def test_predictions_of_odd_partitions(conversion):
    model = fit(SOURCES["from_map"](pieces()))
    features = ["x", "count", "flag", "town"]
    odd = SOURCES["from_map"](pieces("flag", None))[features]
    predicted = model.predict(odd).compute().to_numpy()
    assert np.flatnonzero(np.isnan(predicted)).tolist() == [ODD]
    np.testing.assert_array_equal(np.delete(predicted, ODD), np.delete(model.predict(BASE[features]), ODD))


def test_a_graph_that_fails_is_not_quoted(tmp_path):
    """What a user's own code raises may quote a value. Nothing is spent."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", 3, 1e-4)

    def fail(part):
        raise ValueError("the secret 48611")

    frame = SOURCES["from_map"](pieces()).map_partitions(fail, meta=META)
    model = PrivateLinearRegression(1.0, 1e-6, categories=CATEGORIES, ledger=ledger, dataset="d")
    with pytest.raises(ClusterError, match="could not be computed") as caught:
        model.fit(frame, "y")
    assert "48611" not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert ledger.history() == []
