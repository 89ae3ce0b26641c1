"""Counts of values: exactly those of a plain count, whatever the order, the cuts and the hashes. docs/proofs/levels.md.

The law of the thresholded release is checked in tests/privacy/test_levels.py.
"""

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg.data.encode import tally
from privreg.data.raw import NUMBER, TEXT, Raw
from privreg.data.schema import BOOLEAN, CATEGORY, Column
from privreg.engines import base, memory
from privreg.engines.base import OpenOptions, added
from privreg.engines.registry import open_source
from privreg.kernels.hashes import BUCKETS, buckets_of
from privreg.mechanisms import levels
from privreg.mechanisms.levels import (
    GRID,
    CountBuckets,
    CountDeclared,
    TallyValues,
    common_values,
    count_declared,
    count_levels,
    plan_declared,
)
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import LevelCounts
from privreg.privacy.noise import SeededNoise


def source_of(**columns):
    frame = pd.DataFrame({name: pd.Series(list(cells), dtype=object) for name, cells in columns.items()})
    return open_source(frame, np.zeros(len(frame)), OpenOptions())[1]


def plain(cells, least):
    """The same with Python alone: values in the order of their bytes, and their counts."""
    counts = Counter(cell for cell in cells if cell is not None)
    return sorted(((v, n) for v, n in counts.items() if n >= least), key=lambda pair: pair[0].encode())


def found(source, name, least):
    values, counts = common_values(source, [name], least)[name]
    return list(zip(values, counts.tolist(), strict=True))


some = (
    st.none()
    | st.sampled_from(["a", "b", "(other)", "a=b", "é", "\U0001f600", "z" * 300])
    | st.text("xyz", min_size=1, max_size=2)
)


@settings(max_examples=40)
@given(st.lists(some, max_size=40), st.integers(1, 4))
def test_common_values_are_those_of_a_plain_count(cells, least):
    assert found(source_of(c=cells), "c", least) == plain(cells, least)


@settings(max_examples=40)
@given(st.lists(some, max_size=30), st.integers(1, 4))
def test_values_in_one_bucket_are_told_apart(cells, least):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "buckets_of", lambda values: np.zeros(len(values), np.int64))
        assert found(source_of(c=cells), "c", least) == plain(cells, least)


def test_many_different_values():
    """10⁵ of them, each in few records, and some that are common; more than there are buckets."""
    rng = np.random.default_rng(0)
    cells = [f"v{i}" for i in range(100_000)] + [f"v{i}" for i in rng.integers(0, 60_000, 30_000)] + ["often"] * 500
    cells = [cells[i] for i in rng.permutation(len(cells))]
    assert len(set(cells)) > BUCKETS
    source = source_of(c=cells)
    for least in (1, 3, 500, 501):
        expected = plain(cells, least)
        assert found(source, "c", least) == expected
    assert expected == []
    _, times = tally(Raw(TEXT, pa.array(cells)))
    assert times.sum() == len(cells)


@pytest.mark.parametrize("constant", [False, True])
def test_a_value_of_exactly_the_least_count_is_found(constant, monkeypatch):
    if constant:
        monkeypatch.setattr(levels, "buckets_of", lambda values: np.full(len(values), 7))
    cells = ["a"] * 5 + ["b"] * 4 + ["c"] * 6
    assert found(source_of(c=cells), "c", 5) == [("a", 5), ("c", 6)]


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("rows", [40, 1000])
def test_order_chunks_and_threads_do_not_matter(rows, jobs, monkeypatch, rng):
    cells = [f"{i % 13 if i % 3 else 'x'}" for i in range(300)]
    usual = plain(cells, 16)
    assert 1 < len(usual) < 14
    monkeypatch.setattr(memory, "_CELLS", 1)
    monkeypatch.setattr(base, "ROWS", rows)
    for _ in range(3):
        shuffled = [cells[i] for i in rng.permutation(300)]
        for made in (
            pd.DataFrame({"c": pd.Series(shuffled, dtype=object)}),
            pd.DataFrame({"c": pd.Series(shuffled, dtype="category")}),
            pa.table({"c": pa.chunked_array([shuffled[:100], shuffled[100:101], [], shuffled[101:]])}),
        ):
            _, source = open_source(made, np.zeros(300), OpenOptions(jobs))
            assert found(source, "c", 16) == usual


def test_spellings_of_one_value_are_counted_together():
    cells = ["caf\u00e9", "cafe\u0301", " caf\u00e9", "NA", "null", "", None, "1", 1, 1.0, True, "True"]
    assert found(source_of(c=cells), "c", 2) == [("1", 3), ("True", 2), ("caf\u00e9", 3)]


def test_parts_add_up(rng):
    cells = [f"v{i}" for i in rng.integers(0, 40, 500)]
    cut = sorted(rng.integers(0, 500, 4))
    pieces = [{"c": Raw(TEXT, pa.array(list(piece)))} for piece in np.split(np.array(cells, object), cut)]
    buckets = added(map(CountBuckets(("c",)), pieces))
    assert buckets.shape == (1, BUCKETS)
    values = pa.array([f"v{i}" for i in range(40)], pa.large_string())
    expected = np.bincount(np.array([int(c[1:]) for c in cells]), minlength=40)
    assert buckets.sum() == 500
    assert buckets[0][buckets_of(values)].tolist() == expected.tolist()  # these forty are in different buckets
    enough = {"c": np.ones(BUCKETS, bool)}
    one, other = added(map(TallyValues(enough), pieces)), added(map(TallyValues(enough), pieces[::-1]))
    assert one.at_least("c", 10)[0] == other.at_least("c", 10)[0] == [v for v, _ in plain(cells, 10)]
    assert one.at_least("c", 10)[1].tolist() == other.at_least("c", 10)[1].tolist()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=20), st.integers(0, 5))
def test_buckets_depend_on_the_value_alone(values, skipped):
    whole = pa.array(values, pa.large_string())
    alone = [buckets_of(pa.array([value], pa.large_string()))[0] for value in values]
    assert buckets_of(whole).tolist() == alone
    assert buckets_of(whole.slice(skipped)).tolist() == alone[skipped:]
    assert all(0 <= bucket < BUCKETS for bucket in alone)


def test_buckets_are_filled_evenly():
    """Else many values would share one, and would be kept in memory for nothing."""
    values = pa.array([f"{i}" for i in range(4 * BUCKETS)], pa.large_string())
    filled = np.bincount(buckets_of(values), minlength=BUCKETS)
    assert filled.max() < 30  # a Poisson variable of mean 4 exceeds that with probability 1e-16


# ---------------------------------------------------------------- declared levels


def test_declared_levels_are_counted_wherever_they_are():
    columns = (
        Column("t", CATEGORY, levels=("a", "b", "z")),
        Column("n", CATEGORY, levels=(2, 1)),
        Column("f", BOOLEAN, levels=(False, True)),
    )
    cells = {
        "t": Raw(TEXT, pa.array(["a", "a", "q", None, " b "])),
        "n": Raw(NUMBER, np.array([1, 1, 2, np.nan, 3])),
        "f": Raw(BOOLEAN, np.array([1, -1, 0, 0, 0], np.int8)),
    }
    assert [c.tolist() for c in CountDeclared(columns)(cells)] == [[2, 1, 0], [1, 2], [3, 1]]
    parts = [{name: raw.take(rows) for name, raw in cells.items()} for rows in (slice(0, 2), slice(2, 2), slice(2, 5))]
    assert [c.tolist() for c in added(map(CountDeclared(columns), parts))] == [[2, 1, 0], [1, 2], [3, 1]]


# ---------------------------------------------------------------- through an account


class Recorded(SeededNoise):
    """Adds what was written down before, and keeps what it was asked for."""

    def __init__(self, *noise):
        super().__init__(np.random.default_rng(0))
        self.noise, self.calls = np.array(noise) * GRID, []

    def gaussian(self, values, scale):
        self.calls.append((np.array(values) / GRID, scale))
        return (values + self.noise[: len(values)]).astype(np.int64)


def event_of(columns, least=2, delta=1e-8, rows=1):
    return LevelCounts.costing("common values", 0.5, columns, rows, least, delta, GRID, purpose="reading")


def account_of(noise):
    return AdaptiveAccount(Budget(5.0, 1e-6), noise, extra_delta=1e-7)


def test_the_release_is_what_passes_the_threshold():
    """In the order of the values' bytes, of each column its own; declared levels are all there."""
    event = event_of(3)
    high = event.threshold / GRID
    many = int(high) + 10
    source = source_of(
        t=["b"] * many + ["a"] * (many + 5) + ["once"] + ["twice"] * 2,
        u=["x"] * (2 * many + 8),
        d=["p"] * 3 + ["q"] * (2 * many + 5),
    )
    declared = [Column("d", CATEGORY, levels=("q", "r", "p"))]
    #                 t: a, b, twice             u    d: q, r, p
    noise = Recorded(0.5, high - many, high + 50, -1, 0.25, -7, 1)
    released, counts = count_levels(account_of(noise), event, source, ["t", "u"], declared)
    assert noise.calls[0][0].tolist() == [many + 5, many, 2, 2 * many + 8, 2 * many + 5, 0, 3]  # "once" is no candidate
    assert noise.calls[0][1] == event.scale
    assert released["t"].values == ["a", "twice"]  # b is at the threshold, not above it
    assert released["t"].counts == [many + 5.5, pytest.approx(2 + high + 50)]
    assert (released["u"].values, released["u"].counts) == (["x"], [2 * many + 7])
    assert counts == {"d": [2 * many + 5.25, -7, 4]}


def test_the_account_is_charged_once_and_knows_nothing_of_the_values():
    receipts = []
    for cells in (["a"] * 50, [f"v{i}" for i in range(50)], []):
        account, event = account_of(SeededNoise(np.random.default_rng(0))), event_of(1)
        count_levels(account, event, source_of(t=cells), ["t"], [])
        receipts.append(account.receipt())
    assert receipts[0].events == (event,)
    assert [r.events for r in receipts] == [(event,)] * 3
    assert event.columns == 1


def test_no_columns_of_one_of_the_two_sorts():
    source = source_of(t=["a"] * 200)
    noise = Recorded(*np.zeros(9))
    released, counts = count_levels(account_of(noise), event_of(1), source, ["t"], [])
    assert (released["t"].values, released["t"].counts, counts) == (["a"], [200], {})
    declared = [Column("t", CATEGORY, levels=("b", "a"))]
    event = plan_declared(0.5, declared)
    assert (event.coordinates, event.sensitivity_squared) == (2, GRID**2)
    assert count_declared(account_of(noise), event, source, declared) == {"t": [0, 200]}


@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("least", [2, 3])
def test_a_level_of_a_single_record_is_never_a_candidate(columns, least):
    """In all columns at once, and whatever the noise: it is not even drawn for."""
    cells = {f"c{j}": ["usual"] * 30 + [f"secret {j}"] * (least - 1) for j in range(columns)}
    source, names = source_of(**cells), list(cells)
    noise = Recorded(*np.full(500, 1e6))
    released, _ = count_levels(account_of(noise), event_of(columns, least), source, names, [])
    assert noise.calls[0][0].tolist() == [30] * columns
    assert all(released[name].values == ["usual"] for name in names)
    for name in names:
        assert found(source, name, least) == [("usual", 30)]
