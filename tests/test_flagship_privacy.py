"""Replay: one fit's outputs are handed to a fit on a neighbour, and every statistic must have moved as claimed.

Given the same earlier outputs, the steps and their parameters must be the same on both data sets, and each statistic
must differ by no more than the step's sensitivity. That is what the composition theorem asks for, on the whole program:
anything that reaches a statistic or a parameter around the noise shows here.
"""

from fractions import Fraction

import numpy as np
import pytest

from privreg import PrivateLinearRegression
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.steps import Gaussian, GaussianMatrix, Pick
from scripted import HOSTILE


class Recording(AdaptiveAccount):
    """Keeps each step, its statistic and its output; gives out the outputs of an earlier run if there is one."""

    def __init__(self, *args, replay=None):
        super().__init__(*args)
        self.calls, self._replay = [], None if replay is None else iter(replay.calls)

    def _note(self, step, statistic, draw):
        if self._replay is None:
            output = draw()
        else:
            self._spend(step)
            output = next(self._replay)[2]
        self.calls.append((step, statistic, output))
        return output

    def pick(self, step, scores):
        return self._note(step, scores.copy(), lambda: super(Recording, self).pick(step, scores))

    def pick_within(self, step, scores, bounds):
        stretches = [bounds(i) for i in range(len(scores))]
        statistic = (
            np.array([low for low, _ in stretches]),
            scores / step.scale - np.log([high - low for low, high in stretches]),
        )
        return self._note(step, statistic, lambda: super(Recording, self).pick_within(step, scores, bounds))

    def gaussian(self, step, values):
        return self._note(step, values.copy(), lambda: super(Recording, self).gaussian(step, values))

    def gaussian_matrix(self, step, matrix):
        return self._note(step, matrix.copy(), lambda: super(Recording, self).gaussian_matrix(step, matrix))


def record(monkeypatch, X, y, groups=None, replay=None, **options):
    opened = []

    def open_account(self, budget, columns, noise):
        opened.append(Recording(budget, noise, self.rows_per_person if self._people else 1, replay=replay))
        return opened[0]

    monkeypatch.setattr(PrivateLinearRegression, "_open_account", open_account)
    model = PrivateLinearRegression(random_state=1, **options).fit(X, y, groups)
    return opened[0], model


def same_release(one, other, tmp_path):
    """Both fits had the same outputs, so nothing that leaves them may differ: not a bit of the model file."""
    for model, name in ((one, "one"), (other, "other")):
        model.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert one.summary() == other.summary()
    public = [{k: v for k, v in vars(m).items() if k.endswith("_") and k != "model_"} for m in (one, other)]
    assert public[0].keys() == public[1].keys()
    for name, value in public[0].items():
        np.testing.assert_equal(public[1][name], value)


def moved(step, before, after):
    """How far the statistic moved, as a part of what the step allows (squared for Gaussian noise)."""
    if isinstance(step, GaussianMatrix):
        change = (after - before).astype(object)
        diagonal = sum(int(v) ** 2 for v in np.diagonal(change))
        above = sum(int(v) ** 2 for v in change[np.triu_indices(len(change), 1)])
        cost = diagonal / Fraction(step.scale) ** 2 + above / Fraction(step.off_scale) ** 2
        return float(cost / step.mu_squared)
    if isinstance(step, Gaussian):
        return sum(int(v) ** 2 for v in after - before) / step.sensitivity_squared
    if isinstance(before, tuple):  # a density over stretches of the prior's mass: compare it wherever it may change
        at = np.union1d(before[0], after[0])
        levels = [s[1][np.searchsorted(s[0], at, side="right") - 1] for s in (before, after)]
        change = (levels[1] - levels[0]) * step.scale
    else:
        change = after - before
    return float(change.max() - change.min()) / step.range


def compare(one, other, records=1):
    """The largest move of each kind of step, in units of what one record may do."""
    assert [step for step, *_ in one.calls] == [step for step, *_ in other.calls]
    worst = {}
    for (step, before, _), (_, after, _) in zip(one.calls, other.calls, strict=True):
        allowed = records if isinstance(step, Pick) else records**2
        part = moved(step, before, after)
        assert part <= allowed * (1 + 1e-9), step
        kind = step.name.split(" ")[-1] if "phase" in step.name else step.name.split(" ")[0]
        worst[kind] = max(worst.get(kind, 0), part)
    return worst


def table(rng, n=400, d=4):
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(d) + 5
    X[:, 1] = rng.integers(3, size=n)
    return X, X[:, 0] - 2 * X[:, 1] + rng.standard_t(3, size=n)


# Wide and few records: screening. Many records: all columns, and a second term for some.
CASES = {
    "all columns": {"n": 400, "d": 4, "epsilon": 3.0, "delta": 1e-3},
    "screening": {"n": 300, "d": 12, "epsilon": 1.0, "delta": 1e-3},
    "second terms": {"n": 6000, "d": 3, "epsilon": 5.0, "delta": 1e-2},
    "constant": {"n": 30, "d": 3, "epsilon": 0.1, "delta": 1e-6},
    "a label that is lost": {"n": 500, "d": 3, "epsilon": 1.0, "delta": 1e-3},
    "k": {"n": 500, "d": 6, "epsilon": 5.0, "delta": 1e-3, "k": 2},
}


@pytest.mark.parametrize("case", CASES)
def test_every_statistic_moves_as_claimed(rng, monkeypatch, tmp_path, case):
    options = dict(CASES[case])
    X, y = table(rng, options.pop("n"), options.pop("d"))
    if case == "a label that is lost":
        y = np.where(np.arange(len(y)) < 3, 1.0, 0.0)
    if case == "second terms":
        X = np.exp(rng.normal(size=X.shape) * 2)
    first, model = record(monkeypatch, X, y, **options)
    assert (len(model.model_.terms) > X.shape[1]) == (case == "second terms")
    worst = {}
    hostile = [np.full(X.shape[1] + 1, v) for v in HOSTILE]
    hostile += [rng.choice(HOSTILE, X.shape[1] + 1) for _ in range(4)]
    hostile += [np.append(X[0], y[0]), np.append(X.max(axis=0), -1e4), np.append(X.min(axis=0) * 3, 1e4)]
    for i, new in enumerate(hostile):
        at = [0, len(y) // 2, len(y)][i % 3]
        more = np.insert(X, at, new[:-1], axis=0), np.insert(y, at, new[-1])
        second, other = record(monkeypatch, *more, replay=first, **options)
        same_release(model, other, tmp_path)
        for kind, part in compare(first, second).items():
            worst[kind] = max(worst.get(kind, 0), part)
    assert worst["count"] == 1
    assert worst["median"] > 0.8
    assert worst["spread"] == 1
    if case not in ("constant", "a label that is lost"):
        assert worst["products"] > 0.8
        assert worst["gradient"] > 0.5
    if case == "screening":
        assert worst["choose"] > 0.2


@pytest.mark.parametrize("case", CASES)
def test_outputs_alone_decide(rng, monkeypatch, tmp_path, case):
    """Given the outputs, steps and releases are the same on *any* data, so no parameter and no branch sees a record."""
    options = dict(CASES[case])
    n, d = options.pop("n"), options.pop("d")
    first, model = record(monkeypatch, *table(rng, n, d), **options)
    wild = np.exp(rng.normal(size=(2 * n, d + 1)) * 40)
    wild[rng.random(wild.shape) < 0.3] = 0
    for other in (np.zeros((0, d + 1)), np.ones((n // 2, d + 1)), wild, -wild[: n + 1]):
        second, same = record(monkeypatch, other[:, :-1], other[:, -1], replay=first, **options)
        assert [step for step, *_ in first.calls] == [step for step, *_ in second.calls]
        same_release(model, same, tmp_path)


def test_a_record_that_is_left_out_moves_nothing(rng, monkeypatch, tmp_path):
    X, y = table(rng)
    first, model = record(monkeypatch, X, y, epsilon=3.0)
    for bad in (np.nan, np.inf, -np.inf):
        more = np.insert(X, 7, bad, axis=0), np.insert(y, 7, 1.0)
        second, same = record(monkeypatch, *more, replay=first, epsilon=3.0)
        assert set(compare(first, second).values()) == {0.0}
        same_release(model, same, tmp_path)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_person_moves_what_their_rows_may_move(rng, monkeypatch, tmp_path, rows):
    X, y = table(rng, 600)
    people = np.arange(600) // 4
    options = {"epsilon": 3.0, "delta": 1e-3, "rows_per_person": rows}
    first, model = record(monkeypatch, X, y, people, **options)
    most = {}
    for value in HOSTILE:  # a new person with ten rows, after all others: their keys come last
        more = np.vstack([X, np.full((10, 4), value)]), np.append(y, np.full(10, value))
        second, other = record(monkeypatch, *more, np.append(people, np.full(10, 999)), replay=first, **options)
        same_release(model, other, tmp_path)
        for kind, part in compare(first, second, rows).items():
            most[kind] = max(most.get(kind, 0), part)
    assert most["count"] == rows**2
    assert most["spread"] == rows**2
    assert model.receipt_.unit == f"one person, at most {rows} row{'s' if rows > 1 else ''}"
    assert model.receipt_.epsilon <= 3.0
