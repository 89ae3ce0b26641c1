"""SubLasso: one record moves each vote by at most one, and nothing else of it reaches the noise.

The exact law of the picks is checked in mechanisms/test_peel.py, that of the count in mechanisms/test_count.py;
here is what connects them.
"""

import numpy as np
import pytest

from exact import assert_law
from privreg import SubLasso
from privreg.data.schema import Schema
from privreg.data.tables import read_table
from privreg.engines.memory import MemoryEngine
from privreg.estimators import base
from privreg.estimators.sub_lasso import VOTE_RANGE
from privreg.kernels.lasso import count_votes
from privreg.privacy.noise import OpenDPNoise
from scripted import HOSTILE, Scripted


def run(monkeypatch, X, y, groups, count_noise=0, **options):
    noise = Scripted(groups, count_noise)
    monkeypatch.setattr(base, "noise_for", lambda _: noise)
    SubLasso(k=2, epsilon=1.0, **options).fit(X, y)
    return noise.calls


def test_hostile_neighbours_move_votes_by_at_most_one(monkeypatch, rng):
    """The new record comes last, so that the others keep their groups; the released count is made the same."""
    largest = 0
    for _ in range(300):
        n, d = int(rng.integers(0, 60)), 4
        X, y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 4, d), rng.normal(size=n) * 100
        record = rng.choice(HOSTILE, size=d + 1)
        groups = rng.integers(0, 10**9, size=n + 1)
        before = run(monkeypatch, X, y, groups, count_noise=200)
        after = run(monkeypatch, np.vstack([X, record[:d]]), np.append(y, record[d]), groups, count_noise=199)
        assert after[0][1] - before[0][1] == 1
        assert [c[2] for c in before] == [c[2] for c in after]  # noise scales and number of groups
        change = np.array(after[2][1]) - np.array(before[2][1])
        assert np.abs(change).max() <= 1
        largest = max(largest, np.ptp(change))
    assert largest == VOTE_RANGE, "the check is slack"


def test_dealing_equal_groups_of_a_size_that_follows_n_is_caught(rng):
    """The published splitting (n // m records to a group) fails the same check: one record moves many votes."""
    worst = 0
    for _ in range(50):
        n, m, d = 60, 20, 4
        X, y = rng.normal(size=(n, d)) * 30, rng.normal(size=n) * 100

        def votes(X, y, m=m):
            size = max(len(y) // m, 1)
            return count_votes(X, y, np.append(np.arange(0, len(y), size), len(y)), 2, 1.0)

        more = votes(np.insert(X, 0, rng.normal(size=d) * 30, axis=0), np.insert(y, 0, 0.0))
        worst = max(worst, np.abs(more - votes(X, y)).max())
    assert worst > 1


@pytest.mark.parametrize(("group_size", "models"), [("k", 50), ("d", 20), (25, 4), (10**9, 1)])
def test_number_of_models_follows_the_private_count_only(monkeypatch, rng, group_size, models):
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    # At ε = 0.5 the count is lowered by ⌈2·ln(5000)⌉ = 18; noise brings 300 to 118, so ñ = 100.
    calls = run(monkeypatch, X, y, rng.integers(0, 10**9, 300), count_noise=-182, group_size=group_size)
    assert calls[1] == ("groups", 300, models)


def test_a_count_below_zero_still_gives_one_model(monkeypatch, rng):
    calls = run(monkeypatch, rng.normal(size=(5, 3)), rng.normal(size=5), np.zeros(5, int), count_noise=-1000)
    assert calls[1] == ("groups", 5, 1)


def test_votes_do_not_depend_on_chunks_or_threads(rng, monkeypatch):
    X, y = rng.normal(size=(2000, 6)), rng.normal(size=2000)
    groups = rng.integers(0, 300, 2000)
    whole = SubLasso(k=3)._votes(MemoryEngine(read_table(X, Schema.numbers(6)), y, 1), groups, 300)
    expected = np.zeros(6, int)
    for g in np.unique(groups):
        mine = groups == g
        expected += count_votes(X[mine], y[mine], np.array([0, mine.sum()]), 3, 1.0)
    np.testing.assert_array_equal(whole, expected)
    for chunk in (1, 7, 60, 5999, 10**9):
        monkeypatch.setattr("privreg.engines.memory._CHUNK", chunk)
        for jobs in (1, 2, 3):
            records = MemoryEngine(read_table(X, Schema.numbers(6)), y, jobs)
            np.testing.assert_array_equal(SubLasso(k=3)._votes(records, groups, 300), expected)


def test_the_sampler_follows_the_law_of_the_votes(monkeypatch):
    """With one record per group the votes are known, so the pick's law is a softmax.

    800 draws of OpenDP's noise; a correct sampler fails once in ten million runs. Picks at twice the scale, or at half
    of it, pass less than once in a million.
    """

    class OneRecordPerGroup(OpenDPNoise):
        def laplace(self, value, scale):
            return value + 9  # the lower count subtracts ⌈ln 5000⌉ = 9 at ε = 1

        def groups(self, records, groups):
            assert (records, groups) == (10, 10)
            return np.arange(10)

    monkeypatch.setattr(base, "noise_for", lambda _: OneRecordPerGroup())
    X = np.repeat(np.eye(3) * 1000, [6, 3, 1], axis=0)
    selector = SubLasso(k=1, epsilon=2.0, n_jobs=1)
    counts = np.bincount([selector.fit(X, np.full(10, 1000.0)).ranking_[0] for _ in range(800)], minlength=3)
    weights = np.exp(np.array([6, 3, 1]) / 2)  # half of ε = 2 goes to the pick: scale 2/1
    assert_law(counts, weights / weights.sum())
