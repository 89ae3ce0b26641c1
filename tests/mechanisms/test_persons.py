"""Which records of a person are kept: at most so many, uniformly, and without regard to anybody else."""

import datetime as dt
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact import assert_law
from privreg import PrivateLinearRegression, SchemaError
from privreg.data.tables import read_identities
from privreg.mechanisms.persons import first_of_each, keep_rows
from privreg.privacy.noise import OpenDPNoise
from public_tables import array_engine

people_and_keys = st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 50)), max_size=30)


def kept(rows, most):
    persons, keys = (np.array([r[i] for r in rows], np.int64) for i in (0, 1))
    return first_of_each(persons, keys, most).tolist()


@given(people_and_keys, st.integers(1, 4))
def test_at_most_so_many_of_each_and_never_fewer_than_there_are(rows, most):
    chosen = kept(rows, most)
    assert chosen == sorted(set(chosen))
    for person in range(-1, 6):
        owned = [i for i, (p, _) in enumerate(rows) if p == person]
        mine = [i for i in chosen if rows[i][0] == person]
        assert len(mine) == (min(most, len(owned)) if person >= 0 else 0)
        assert all(rows[i][1] <= rows[j][1] for i in mine for j in set(owned) - set(mine))


@given(people_and_keys, st.integers(1, 4), st.lists(st.integers(0, 50), max_size=6), st.integers(0, 30))
def test_a_further_person_changes_nobody_else(rows, most, keys, at):
    at = min(at, len(rows))
    more = rows[:at] + [(99, key) for key in keys] + rows[at:]
    others = [i if i < at else i - len(keys) for i in kept(more, most) if more[i][0] != 99]
    assert others == kept(rows, most)
    assert len(kept(more, most)) - len(others) == min(most, len(keys))


def test_incomplete_rows_do_not_shift_people():
    X = np.arange(40.0)[:, None]
    X[[0, 1, 5, 17]] = np.nan
    persons = np.arange(40) // 4
    records = array_engine(X, np.arange(40.0), persons=persons)
    for most in (1, 3):
        chosen = keep_rows(records, most, OpenDPNoise())
        rows = chosen.target.astype(int)
        assert chosen.n_records == len(rows)
        assert chosen.rows(np.arange(chosen.n_records))[:, 0].tolist() == rows.tolist()
        assert chosen.column(0).total(np.ndarray.tolist) == rows.tolist()
        complete = np.isfinite(X[:, 0])
        expected = [min(most, complete[persons == p].sum()) for p in range(10)]
        assert np.bincount(persons[rows], minlength=10).tolist() == expected


def test_every_choice_is_equally_likely():
    # 2 of 5 rows of one person beside others: ten choices. A chi-square test at the level 1e-7 (exact.LEVEL).
    persons = np.array([3, 7, 3, 3, 8, 3, 3, 7])
    mine = np.flatnonzero(persons == 3)
    records = array_engine(np.arange(8.0)[:, None], np.arange(8.0), persons=persons)
    choices = dict.fromkeys(combinations(mine.tolist(), 2), 0)
    for _ in range(4000):
        target = keep_rows(records, 2, OpenDPNoise()).target
        choices[tuple(int(t) for t in target if persons[int(t)] == 3)] += 1
    assert_law(list(choices.values()), np.full(10, 0.1))


IDS = {
    "integers": [5, 5, 2, 9, 2],
    "large integers": [2**60, 2**60, 2**60 + 1, 2, 2**60 + 1],
    "text": ["ann", "ann", "bob", "eve", "bob"],
    "dates": [dt.date(2020, 1, d) for d in (5, 5, 2, 9, 2)],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, pa.array, lambda v: pd.DataFrame({"id": v})])
def test_identities_of_every_kind(kind, form):
    codes = read_identities(form(IDS[kind]))
    assert codes.dtype == np.int64
    assert len(set(codes)) == 3
    assert codes[0] == codes[1] != codes[2] == codes[4] != codes[3] != codes[0]
    assert codes.min() >= 0


@pytest.mark.parametrize(
    "ids",
    [
        np.array([1.0, np.nan, 1.0]),
        ["a", None, "a"],
        [1, float("nan"), 1],
        pd.Series(["a", None, "a"]),
        pd.Series([1, None, 1], dtype="Int64"),
        pl.Series([1, None, 1]),
        pl.Series(["a", None, "a"]),
        pa.array([2**60, None, 2**60]),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-01"])),
        [1, pd.NA, 1],
        pd.Series([1, None, 1], dtype="Int64").tolist(),
        np.ma.array([1, 2, 1], mask=[False, True, False]),
        pa.array([1, None, 1]).to_pylist(),
        list(pa.array([1, None, 1])),
    ],
)
def test_a_record_without_a_person_belongs_to_nobody(ids):
    codes = read_identities(ids)
    assert codes[1] == -1
    assert codes[0] == codes[2] >= 0


def test_no_value_is_an_error():
    codes = read_identities([1, "1", 1.0, [1], {"a": 1}, Decimal(1), (1, [2]), b"1", np.float64(1), object, 1j])
    assert codes[0] == codes[2] == codes[8] == 0
    assert len({*codes[[0, 1, 5, 7]].tolist()}) == 4
    assert (codes[[3, 4, 6, 9, 10]] == -1).all()  # they have no key


def test_a_frame_of_two_columns_is_refused():
    with pytest.raises(SchemaError, match="one column"):
        read_identities(pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(SchemaError, match="1d"):
        read_identities(np.zeros((2, 2)))
    with pytest.raises(SchemaError, match="neither a column nor a table"):
        read_identities(pd.MultiIndex.from_tuples([(1, 2)]))


def test_fit_by_person(rng):
    X = rng.normal(size=(2000, 3))
    y = X[:, 0] + rng.normal(size=2000) / 4
    with pytest.raises(SchemaError, match="different numbers of rows"):
        PrivateLinearRegression().fit(X, y, groups=np.arange(1999))
    with pytest.raises(ValueError, match="rows_per_person"):
        PrivateLinearRegression(rows_per_person=0).fit(X, y, groups=np.arange(2000))
    model = PrivateLinearRegression(epsilon=5.0).fit(X, y, groups=np.arange(2000) // 4)
    # 500 people, and noise of the count below 10: more than 900 would take 40 standard deviations.
    assert model.n_records_ < 900
    several = PrivateLinearRegression(epsilon=5.0, rows_per_person=4).fit(X, y, groups=np.arange(2000) // 4)
    assert several.receipt_.unit == "one person, at most 4 rows"
    # All rows, but every scale is four times what it would be.
    alone = PrivateLinearRegression(epsilon=5.0).fit(X, y)
    assert several.receipt_.steps[0].scale == pytest.approx(4 * alone.receipt_.steps[0].scale)
    assert several.receipt_.epsilon == pytest.approx(alone.receipt_.epsilon)
    assert alone.receipt_.unit == "one record"


def test_pairs_that_name_a_person_are_names_whatever_the_others_are():
    """numpy would take a list of pairs for a table, unless a single one is not a pair."""
    np.testing.assert_array_equal(read_identities([("a", 1), ("b", 1), ("a", 1)]), [0, 1, 0])
    np.testing.assert_array_equal(read_identities([("a", 1), ("b", 1), "c", ("a", 1)]), [0, 1, 2, 0])
    np.testing.assert_array_equal(read_identities([["a", 1], ["b", 1]]), [-1, -1])
