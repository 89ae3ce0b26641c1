"""TukeyRegression: one record replaces one model, and nothing else of it reaches the noise.

The law of test and draw on given models is checked in mechanisms/test_depth.py; here is what connects records to
models.
"""

import numpy as np
import pytest

from privreg import TukeyRegression
from privreg.estimators import base, tukey
from privreg.estimators.tukey import GROUP_SIZES
from privreg.kernels.volumes import log_volumes
from privreg.mechanisms.depth import STRICT, distance_to_unsafety
from scripted import HOSTILE, Scripted


def run(monkeypatch, X, y, groups, count_noise=0, **options):
    """Fit with scripted noise; returns the calls and the models that the draw was made from."""
    noise, seen = Scripted(groups, count_noise), []
    monkeypatch.setattr(base, "noise_for", lambda _: noise)

    def record(account, step, models, calibration):
        seen.append((models, step, calibration))

    monkeypatch.setattr(tukey, "draw_deep", record)
    with pytest.warns(UserWarning, match="No model was released"):
        TukeyRegression(epsilon=2.0, delta=0.01, **options).fit(X, y)
    return noise.calls, seen


def changed(a, b):
    return int((a != b).any(axis=1).sum())


def distance(models, step):
    return distance_to_unsafety(log_volumes(np.sort(models.T, axis=1)), *models.shape, step, STRICT)


def test_hostile_neighbours_replace_one_model(monkeypatch, rng):
    """The new record comes last, so that the others keep their groups; the released count is made the same."""
    most = jump = 0
    for _ in range(200):
        n, d = int(rng.integers(0, 700)), 3
        X, y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 4, d), rng.normal(size=n) * 100
        record = rng.choice(HOSTILE, size=d + 1)
        groups = rng.integers(0, 10**9, size=5000)
        size = {"group_size": float(rng.choice([2, 5]))}
        before, models = run(monkeypatch, X, y, groups, count_noise=800, **size)
        more = np.vstack([X, record[:d]]), np.append(y, record[d])
        after, others = run(monkeypatch, *more, groups, count_noise=799, **size)
        assert after[0][1] - before[0][1] == 1
        assert [c[2] for c in before] == [c[2] for c in after]  # noise scales, number of groups, jitter
        (first, step, _), (second, again, _) = models[0], others[0]
        assert step == again
        assert np.isfinite(second).all()
        assert changed(first, second) <= 1
        most = max(most, changed(first, second))
        jump = max(jump, abs(distance(first, step) - distance(second, step)))
    assert most == 1, "no record reached its model"
    assert jump <= 1


def test_blocks_of_n_over_m_records_are_caught(monkeypatch, rng):
    """The published splitting fails the same check: where n // m changes, one record moves every model."""
    m, d = 100, 2
    X, y = rng.normal(size=(5 * m, d)), rng.normal(size=5 * m)
    groups = rng.integers(0, 10**9, size=5000)
    fewer = run(monkeypatch, X[:-1], y[:-1], groups, calibration="paper", n_records=3 * m)[1][0][0]
    more = run(monkeypatch, X, y, groups, calibration="paper", n_records=3 * m)[1][0][0]
    assert changed(fewer, more) > m / 2


def test_paper_groups_are_blocks_of_a_shuffle(monkeypatch, rng):
    X, y = rng.normal(size=(500, 2)), rng.normal(size=500)
    groups = rng.permutation(5000)
    models = run(monkeypatch, X, y, groups, calibration="paper", n_records=300)[1][0][0]
    order = np.argsort(groups[:500] % 2**62)
    for g in range(0, 100, 7):
        mine = order[5 * g : 5 * g + 5]
        expected = np.linalg.lstsq(np.column_stack([X[mine], np.ones(5)]), y[mine], rcond=None)[0]
        np.testing.assert_allclose(models[g], expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(("options", "size"), [({}, None), ({"group_size": 7}, 7), ({"calibration": "paper"}, 4)])
def test_number_of_models_follows_the_private_count_only(monkeypatch, rng, options, size):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    # At 5 % of ε = 2 the count is lowered by ⌈10·ln 5000⌉ = 86.
    groups = rng.integers(0, 10**9, 10**5)
    calls, models = run(monkeypatch, X, y, groups, count_noise=86 + 10_000 - 300, **options)
    sizes = [size] if size else [4 * s for s in GROUP_SIZES]
    groups = [c[2] for c in calls if c[0] == "groups"]
    if options.get("calibration") == "paper":  # a shuffle of the records, then jitter for each coefficient
        assert groups == [2**62, 2**20]
        assert models[0][0].shape == (10_000 // size, 4)
    else:
        assert groups[0] in [int(10_000 / s) for s in sizes]


def test_group_size_follows_the_number_of_records(monkeypatch, rng):
    """Few records: small groups, so that there are models enough. Many: groups of four records a coefficient."""
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    sizes = []
    for n in (500, 1_000, 2_000, 5_000, 10**6):
        calls, _ = run(monkeypatch, X, y, rng.integers(0, 10**9, 10**6), count_noise=86 + n - 100)
        sizes.append(round(n / next(c[2] for c in calls if c[0] == "groups") / 4 * 8) / 8)
    assert sizes == sorted(sizes)
    assert sizes[0] == 1.25
    assert sizes[-1] == 4
    assert len(set(sizes)) > 2


def test_models_do_not_depend_on_chunks_or_threads(monkeypatch, rng):
    X, y = rng.normal(size=(2000, 4)), rng.normal(size=2000)
    groups = rng.integers(0, 10**9, 10**5)
    expected = run(monkeypatch, X, y, groups, n_records=300 * 5, group_size=5, n_jobs=1)[1][0][0]
    for chunk in (1, 7, 60, 5999, 10**9):
        monkeypatch.setattr("privreg.engines.memory._CHUNK", chunk)
        np.testing.assert_array_equal(
            run(monkeypatch, X, y, groups, n_records=300 * 5, group_size=5, n_jobs=3)[1][0][0], expected
        )


def test_too_few_models_for_the_test_are_not_even_fitted(monkeypatch, rng):
    calls, models = run(monkeypatch, rng.normal(size=(50, 3)), rng.normal(size=50), np.zeros(50, int))
    assert models == []
    assert [c[0] for c in calls] == ["laplace"]
