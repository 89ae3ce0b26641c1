"""Picks on a secret sample: the coin that keeps a record, and what the account lets through."""

import json
from dataclasses import replace

import numpy as np
import pytest

from exact import assert_law
from privreg.mechanisms.peel import peel
from privreg.mechanisms.sampling import KEPT_ALL, plan_sampled_picks
from privreg.mechanisms.screening import FIRST_RANGE, GRID
from privreg.privacy import noise as noise_module
from privreg.privacy.account import AdaptiveAccount, PlannedAccount
from privreg.privacy.accountant import adaptive_cost, cost
from privreg.privacy.events import Gaussian, Laplace, Pick, event_from_dict
from privreg.privacy.noise import OpenDPNoise, SeededNoise
from privreg.privacy.receipt import ADAPTIVE, PLANNED, Receipt
from sampled import BUDGET, HALF, SMALL, picks_of

# ---- the coin


def words(*values):
    """A source of these words, once."""
    left = bytearray(np.array(values, "<u4").tobytes())

    def draw(size):
        taken = bytes(left[:size])
        del left[:size]
        assert len(taken) == size
        return taken

    return draw


@pytest.mark.parametrize("kept", [1, 2, 12345, HALF, KEPT_ALL - 1, KEPT_ALL])
def test_a_word_below_kept_keeps_the_record(monkeypatch, kept):
    around = sorted({0, kept - 1, min(kept, KEPT_ALL - 1), max(kept - 2, 0), KEPT_ALL - 1})
    for chunk in (2, 1000):
        monkeypatch.setattr(noise_module, "_CHUNK", chunk)
        monkeypatch.setattr(noise_module.os, "urandom", words(*around))
        mask = OpenDPNoise().sample(len(around), kept)
        assert mask.dtype == np.bool_
        assert mask.tolist() == [word < kept for word in around]


def test_samples_of_nothing_and_rates_out_of_range():
    for noise in (OpenDPNoise(), SeededNoise(np.random.default_rng(0))):
        assert noise.sample(0, HALF).shape == (0,)
        assert noise.sample(600_000, KEPT_ALL).all()
        for kept in (0, KEPT_ALL + 1):
            with pytest.raises(OverflowError):
                noise.sample(5, kept)


@pytest.mark.parametrize("noise", [OpenDPNoise(), SeededNoise(np.random.default_rng(11))], ids=["OpenDP", "seeded"])
def test_frequencies_of_coins(noise):
    """Triples of neighbours across chunks: eight outcomes, chi-square at level 1e-7."""
    for kept in (HALF // 4, HALF + 12345):
        coins, q = noise.sample(900_000, kept).reshape(-1, 3), kept / KEPT_ALL
        expected = [q ** bin(k).count("1") * (1 - q) ** (3 - bin(k).count("1")) for k in range(8)]
        assert_law(np.bincount(coins @ [1, 2, 4], minlength=8), np.array(expected))


def test_a_seed_repeats_the_sample():
    first, again, other = (SeededNoise(np.random.default_rng(s)).sample(1000, HALF) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# ---- the account

SCORES = np.array([5, 0, 7, 3], np.int64)


class Watcher(SeededNoise):
    """Notes what is spent at the moment of each draw."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.seen, self.account, self.dies = [], None, False

    def sample(self, records, kept):
        self.seen.append(("sample", records, kept, self.account.receipt().steps))
        if self.dies:
            raise KeyboardInterrupt
        return super().sample(records, kept)

    def pick(self, scores, scale):
        self.seen.append(("pick", scores.tolist(), scale, self.account.receipt().steps))
        return super().pick(scores, scale)


def open_account(kind, plan=(SMALL,)):
    noise = Watcher()
    noise.account = AdaptiveAccount(BUDGET, noise) if kind == "adaptive" else PlannedAccount(list(plan), BUDGET, noise)
    return noise.account, noise


@pytest.fixture(params=["adaptive", "planned"])
def opened(request):
    return open_account(request.param)


def test_the_step_is_spent_once_and_before_the_sample_is_drawn(opened):
    account, noise = opened
    watched = []
    account.watch = watched.append
    mask = account.sample(SMALL, 9)
    assert mask.shape == (9,)
    chosen = peel(account, SMALL, SCORES)
    assert len(set(chosen)) == 2
    assert watched == [SMALL.name]
    left = np.delete(SCORES, chosen[0]).tolist()
    assert noise.seen == [
        ("sample", 9, SMALL.kept, (SMALL,)),
        ("pick", SCORES.tolist(), SMALL.scale, (SMALL,)),
        ("pick", left, SMALL.scale, (SMALL,)),
    ]
    receipt = account.receipt()
    assert receipt.steps == (SMALL,)
    if receipt.composition == PLANNED:
        assert (receipt.epsilon, receipt.delta) == (cost([SMALL], 0.0), 0.0)
    else:
        assert receipt.epsilon == adaptive_cost(SMALL.mu_squared, BUDGET.delta)


def test_no_pick_without_its_sample(opened):
    account, noise = opened
    for step in (SMALL, replace(SMALL, picks=1)):
        with pytest.raises(RuntimeError, match="no open sample"):
            account.sampled_pick(step, SCORES)
    account.sample(SMALL, 9)
    with pytest.raises(RuntimeError, match="no open sample"):
        account.sampled_pick(replace(SMALL, scale=1.0), SCORES)
    for _ in range(SMALL.picks):
        account.sampled_pick(SMALL, SCORES)
    with pytest.raises(RuntimeError, match="no open sample"):
        account.sampled_pick(SMALL, SCORES)
    assert [kind for kind, *_ in noise.seen] == ["sample", "pick", "pick"]


@pytest.mark.parametrize("kind", ["adaptive", "planned"])
def test_another_step_closes_the_sample(kind):
    """The proof is for picks in a row; a step in between would be another program."""
    between = Pick("between", 1, 1e3)
    account, _ = open_account(kind, (SMALL, between, SMALL))
    account.sample(SMALL, 9)
    account.sampled_pick(SMALL, SCORES)
    account.pick(between, SCORES)
    with pytest.raises(RuntimeError, match="no open sample"):
        account.sampled_pick(SMALL, SCORES)
    account.sample(SMALL, 9)
    assert len(peel(account, SMALL, SCORES)) == 2
    assert account.receipt().steps == (SMALL, between, SMALL)


def test_what_does_not_fit_is_refused_before_any_coin():
    account, noise = open_account("adaptive")
    with pytest.raises(RuntimeError, match="does not fit"):
        account.sample(picks_of(KEPT_ALL, 3.0), 9)
    planned, other = open_account("planned")
    with pytest.raises(RuntimeError, match="not the next one"):
        planned.sample(replace(SMALL, kept=HALF), 9)
    for a, n in ((account, noise), (planned, other)):
        assert a.receipt().steps == ()
        assert n.seen == []
        with pytest.raises(RuntimeError, match="no open sample"):
            a.sampled_pick(SMALL, SCORES)


def test_a_draw_that_dies_has_spent_and_opens_nothing(opened):
    account, noise = opened
    noise.dies = True
    with pytest.raises(KeyboardInterrupt):
        account.sample(SMALL, 9)
    assert account.receipt().steps == (SMALL,)
    with pytest.raises(RuntimeError, match="no open sample"):
        account.sampled_pick(SMALL, SCORES)


def test_a_sample_uses_the_last_of_the_budget():
    account, _ = open_account("adaptive")
    step = plan_sampled_picks("s", 4, HALF // 50, FIRST_RANGE, account.mu_squared, GRID)
    account.sample(step, 9)
    assert 0.999 < account.receipt().epsilon <= BUDGET.epsilon


@pytest.mark.parametrize(("rows", "composition"), [(1, PLANNED), (2, PLANNED), (1, ADAPTIVE), (3, ADAPTIVE)])
def test_receipts_are_read_back(rows, composition):
    receipt = Receipt((SMALL, Pick("p", 1, 50.0)), BUDGET, True, rows=rows, composition=composition)
    record = json.loads(json.dumps(receipt.to_dict()))
    assert Receipt.from_dict(record) == receipt
    assert event_from_dict(record["steps"][0]) == SMALL
    assert record["steps"][0]["mechanism"] == "sampled picks"
    assert record["steps"][0]["parameters"]["kept"] == SMALL.kept
    assert "sampled picks  scale" in str(receipt)


def test_planned_sampled_picks_cost_what_a_laplace_step_does():
    """ε-DP and nothing more: added as it is, or ε²/2 in concentrated DP where there are many."""
    step = picks_of(HALF, 0.02)
    same = Laplace("l", 1, 1 / float(step.pure))
    for many, delta in ((1, 0.0), (40, 0.0), (2000, 1e-6)):
        assert cost([step] * many, delta) == pytest.approx(cost([same] * many, delta), rel=1e-9)
    gaussian = Gaussian.costing("g", 0.01, 2**28)
    assert cost([step, gaussian], 1e-6) == pytest.approx(cost([same, gaussian], 1e-6), rel=1e-9)
