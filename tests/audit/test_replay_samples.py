"""Record and replay of fits that look at a sample: coins are the same for the records that both tables have."""

from dataclasses import replace

import numpy as np
import pytest

import privreg.estimators.base
from audit.receipts import own_mu_squared, own_pure, wrong_receipt
from audit.recording import Added, Diverged, Recording
from audit.requested_noise import wrong_noise
from privreg.mechanisms.sampling import KEPT_ALL
from privreg.mechanisms.screening import FIRST_RANGE
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Pick
from privreg.privacy.receipt import Receipt
from sampled import BUDGET, HALF, SMALL, picks_of, rising, run


def recorded(table, seed=0, first=None, **added):
    """A fit that consists of this step alone, on recording."""
    with Recording(seed, first, Added(**added)).running() as recording:
        account = AdaptiveAccount(BUDGET, privreg.estimators.base.noise_for(None))
        recording.chosen = run(account, SMALL, table)
        recording.receipt = account.receipt()
    return recording


def test_a_fit_with_a_sample_is_replayed():
    table = rising(30)
    for seed in range(5):
        one = recorded(table[:-1], seed)
        two = recorded(table, seed + 50, one, row=30, most=1)
        assert two.chosen == one.chosen
        assert one.found == two.found == []
        for recording in (one, two):
            assert [wrong_noise(call) for call in recording.calls] == [None] * 3
            assert wrong_receipt(recording.receipt, [call.step for call in recording.calls]) is None
        (before,), (after,) = one.samples, two.samples
        np.testing.assert_array_equal(after[:-1], before)
        assert after[-1]  # where the new record tells most
        change = two.calls[1].statistic - one.calls[1].statistic
        assert 0.5 * FIRST_RANGE < np.ptp(change) <= FIRST_RANGE
        np.testing.assert_array_equal(recorded(table[:-1], 9, two, row=30, most=1, removed=True).samples[0], before)


def test_tables_that_are_no_neighbours_have_coins_of_their_own():
    one = recorded(rising(30))
    assert recorded(rising(44), 1, one).chosen == one.chosen
    with pytest.raises(Diverged, match="another number of records"):
        recorded(rising(44), 1, one, row=3, most=1)


def test_what_a_tape_must_not_let_through():
    recording = recorded(rising(12))
    sample, pick, _ = recording.calls
    coin, gumbel = sample.draws[0], pick.draws[0]
    assert wrong_noise(replace(sample, draws=[replace(coin, scale=HALF)])) is not None
    assert wrong_noise(replace(sample, draws=[])) is not None
    assert wrong_noise(replace(sample, returned=~sample.returned)) is not None
    assert wrong_noise(replace(sample, statistic=14)) is not None
    assert wrong_noise(replace(pick, draws=[replace(gumbel, scale=1.0)])) is not None
    assert wrong_receipt(recording.receipt, [SMALL] * 4) is not None  # one pick too many
    assert wrong_receipt(recording.receipt, [SMALL] * 3 + [Pick("p", 1, 1.0)]) is not None


def test_the_audits_second_opinion():
    for kept, whole in ((HALF, 2.0), (5, 30.0), (KEPT_ALL, 1.0), (KEPT_ALL, 800.0)):
        step = picks_of(kept, whole)
        assert float(own_pure(step)) == pytest.approx(float(step.pure), rel=1e-9)
        assert own_mu_squared(step) == pytest.approx(float(step.mu_squared), rel=1e-9)
    made = [picks_of(HALF, 0.3, picks=3)] * 6
    honest = Receipt(tuple(made), Budget(60.0, 1e-6), False)
    assert wrong_receipt(honest, [step for step in made for _ in range(4)]) is None


def test_the_second_opinion_needs_a_total_that_is_large_enough(monkeypatch):
    """Six samples with three picks each cost more than ε = 0.2 at δ = 1e-6, in a case that could happen."""
    made = tuple(replace(picks_of(HALF, 0.6, picks=3), name=f"s{i}") for i in range(6))
    monkeypatch.setattr(Receipt, "_total", lambda self: (0.2, 1e-6))
    assert wrong_receipt(Receipt(made, Budget(0.2, 1e-6), False), [s for s in made for _ in range(4)]) is not None
