"""Lists have no schema: no row and no element of one is an error."""

from collections import UserList, deque

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg import PrivateLinearRegression
from privreg.data.tables import read_identities, read_target
from public_tables import public_table

NAN = np.nan


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], np.zeros((0, 1))),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([[1, 2], [3], [4, 5]], [[1, 2], [NAN, NAN], [4, 5]]),
        ([[1, 2], None, [4, 5]], [[1, 2], [NAN, NAN], [4, 5]]),
        ([[1, 2], [3, [4]], (5, 6)], [[1, 2], [3, NAN], [5, 6]]),
        ([[1, 2], [[3, 4], [5, 6]]], [[1, 2], [NAN, NAN]]),
        ([[1, 2], np.array([3, 4]), np.array([[5, 6]]), np.array(7)], [[1, 2], [3, 4], [NAN, NAN], [NAN, NAN]]),
        ([[], [1], [], []], [[NAN], [1], [NAN], [NAN]]),
        ([1.0, 2.0], [[NAN], [NAN]]),
        (["ab", {1: 2, 3: 4}, [True, 10**400]], [[NAN, NAN], [NAN, NAN], [1, NAN]]),
    ],
)
def test_no_row_of_a_list_is_an_error(rows, expected):
    for given in (rows, tuple(rows)):
        table = public_table(given)
        np.testing.assert_array_equal(table.rows(np.arange(table.n_rows)), np.array(expected, float))


class Hostile(int):
    def __float__(self):
        raise ValueError("secret 42")


class Liar(list):
    def __len__(self):
        return 2

    def __iter__(self):
        raise ValueError("secret 42")


def test_other_sequences_are_lists_and_odd_objects_are_missing():
    rows = deque([[1, 2], [3, "secret"], [4], (Hostile(5), 6), Liar([7, 8]), UserList([9, 10])])
    expected = [[1, 2], [3, NAN], [NAN, NAN], [NAN, 6], [NAN, NAN], [9, 10]]
    np.testing.assert_array_equal(public_table(rows).rows(np.arange(6)), expected)
    np.testing.assert_array_equal(read_target(deque([1, None, Hostile(2), "x", 10**400])), [1, NAN, NAN, NAN, NAN])
    np.testing.assert_array_equal(read_identities(deque([(1, 2), (3, 4), "x", (1, 2)])), [0, 1, 2, 0])


def with_one_more():
    """Columns, and a value that their libraries would fail at when it is converted; what is usual of each."""
    late = 2**60
    for kind in (pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.date64()):
        unit = 86_400_000 if kind == pa.date64() else 1
        for more in ([], [late // unit * unit]):
            array = pa.array([0, 0, *more], pa.int64()).view(kind)
            yield pa.table({"a": array}), None, [0, 0]
            yield pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(array))}), None, [0, 0]
    for more in ([], [2**31 - 1]):
        days = pl.Series("a", [0, 0, *more], dtype=pl.Int32).cast(pl.Date)
        yield pl.DataFrame({"a": days}), None, [0, 0]
        levels = {"a": ["1970-01-02", "1970-01-01"]}
        yield pa.table({"a": days.to_arrow().dictionary_encode()}), levels, [1, 1]
    for more in ([], [2**64 - 1]):
        yield pa.table({"a": pa.array([2, 1, *more], pa.uint64()).dictionary_encode()}), {"a": [1, 2]}, [1, 0]
    for more in ([], [2**53 + 1]):
        yield pa.table({"a": pa.array([2, 1, *more]).dictionary_encode()}), {"a": [1.0, 2.0]}, [1, 0]


def test_no_value_fails_or_changes_another(capfd):
    for frame, categories, usual in with_one_more():
        table = public_table(frame, categories)
        assert table[0][:2].tolist() == usual
        assert table.n_rows in (2, 3)
    assert capfd.readouterr() == ("", "")


def test_no_element_of_a_list_is_an_error_in_a_target():
    values = [1, [2.5], (3,), [], [1, 2], None, "4", [[5]], 10**400, True]
    np.testing.assert_array_equal(read_target(values), [1, 2.5, 3, NAN, NAN, NAN, NAN, NAN, NAN, 1])
    assert read_target([]).shape == (0,)


@pytest.mark.parametrize("odd", [[], [1], [1, 2, 3], None, 5, "x", [[1], 2], [None, 1.0]])
def test_an_odd_row_counts_as_a_record_without_values(odd):
    X = np.random.default_rng(0).normal(size=(600, 2))
    rows, y = X.tolist(), X.sum(axis=1).tolist()
    model = PrivateLinearRegression(3.0, 1e-4, random_state=2)
    usual = model.fit([*rows[:9], [NAN, NAN], *rows[9:]], [*y[:9], 0.0, *y[9:]]).coef_.tobytes()
    assert model.fit([*rows[:9], odd, *rows[9:]], [*y[:9], 0.0, *y[9:]]).coef_.tobytes() == usual
    predicted = model.predict([*rows[:3], odd])
    assert np.isfinite(predicted).tolist() == [True] * 3 + [False]
