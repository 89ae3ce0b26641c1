"""The audit watches counts above a threshold: the noise they ask for, what moved, and what a receipt must cost."""

import numpy as np
import pytest

from audit.changes import changed
from audit.receipts import own_extra, wrong_receipt
from audit.recording import Call, Draw
from audit.requested_noise import wrong_noise
from privreg.privacy.account import Levels
from privreg.privacy.accountant import Budget, adaptive_cost
from privreg.privacy.events import LevelCounts
from privreg.privacy.receipt import ADAPTIVE, Receipt

STEP = LevelCounts("levels", 2, 1, 16.0, 2, 40, 8)


def ints(*values):
    return np.array(values, np.int64)


def call(counts=(80, 8, 24), declared=(5,), given=(80, 24, 5), result=(81, 20, 6), out=((0,), (81,), (6,)), scale=16.0):
    draws = [Draw("gaussian", scale, ints(*given), ints(*result))]
    return Call(STEP, (ints(*counts), ints(*declared)), draws, Levels(*(ints(*part) for part in out)))


def test_what_the_step_asks_of_the_noise():
    assert wrong_noise(call()) is None
    for wrong in (
        {"given": (80, 8, 24, 5), "result": (81, 8, 20, 6)},  # noise on a value that is no candidate
        {"out": ((0, 2), (81, 20), (6,))},  # a value that did not pass
        {"out": ((), (), (6,))},
        {"out": ((0,), (80,), (6,))},  # the true count
        {"out": ((0,), (81,), (5,))},
        {"scale": 15.0},
    ):
        assert wrong_noise(call(**wrong)) is not None
    assert wrong_noise(Call(STEP, (ints(), ints()), [], Levels(ints(), ints(), ints()))) is not None


@pytest.mark.parametrize(
    ("after", "part"),
    [
        (((80, 8, 24), (5,)), 0.0),
        (((88, 8, 24), (13,)), 1.0),
        (((80, 8, 8, 24), (13,)), 1.0),  # a new value
        (((80, 24), (5,)), 0.5**0.5),  # one that is gone
    ],
)
def test_what_one_record_may_change(after, part):
    assert changed(call(), call(*after)) == pytest.approx(part)


def test_more_than_one_record_may_change():
    for after in (((96, 8, 24), (5,)), ((88, 16, 32), (5,)), ((80, 8, 24), (5, 8))):
        assert changed(call(), call(*after)) > 1


def test_a_receipt_that_forgets_the_extra_delta(monkeypatch):
    step = LevelCounts.costing("levels", 0.02, 3, 1, 2, 5e-7, 2**28)
    assert 0.9 * float(step.extra_delta) < own_extra(step, 1) <= float(step.extra_delta)
    honest = Receipt((step,), Budget(1.0, 1e-6), False, composition=ADAPTIVE)
    assert wrong_receipt(honest, [step]) is None
    forgetful = adaptive_cost(step.mu_squared, 1e-6)  # at all of δ
    monkeypatch.setattr(Receipt, "_total", lambda self: (forgetful, 1e-6))
    assert wrong_receipt(honest, [step]) is not None
