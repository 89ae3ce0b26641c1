"""Picks on a secret sample: the exact law over all samples, what it is charged, the coin, and the account.

Proof: docs/proofs/sampling.md. Laws are sums over every sample a table can have, so nothing here is estimated but the
two frequency tests, which fail by chance with the probability that they state.
"""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations
from math import exp, log, log1p, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import binom

import privreg.estimators.base
from audit.asked import wrong_noise
from audit.receipts import own_mu_squared, own_pure, wrong_receipt
from audit.tape import Added, Diverged, Tape
from exact import assert_law, log_softmax
from privreg.mechanisms.peel import peel
from privreg.mechanisms.sampling import KEPT_ALL, plan_sampled_picks, rate_for
from privreg.mechanisms.screening import FIRST_RANGE, GRID, round_scores
from privreg.privacy import noise as noise_module
from privreg.privacy.account import AdaptiveAccount, PlannedAccount
from privreg.privacy.accountant import Budget, adaptive_cost, cost
from privreg.privacy.events import Gaussian, Laplace, Pick, SampledPicks, amplified, event_from_dict
from privreg.privacy.noise import OpenDPNoise, SeededNoise
from privreg.privacy.receipt import Receipt

HALF = KEPT_ALL // 2
ROUNDING = 1e-9


def picks_of(kept, whole=2.0, picks=2):
    """Picks that cost `whole` together where no record is left out."""
    return SampledPicks("choose features", FIRST_RANGE, picks * FIRST_RANGE / whole, picks, kept, GRID)


# ---- the exact law of two picks


def scores_of(table, samples):
    """Scores of all columns but the last with the last, on each sample (rows of 0 and 1): pairs counted one by one."""
    signs = [np.sign(c[:, None] - c[None, :]) for c in table.T]
    pairs = [(samples @ (s * signs[-1]) * samples).sum(axis=1) // 2 for s in signs[:-1]]
    return round_scores(np.abs(np.array(pairs, np.int64).T), 0, 0, samples.sum(axis=1, keepdims=True))


def law_of_scores(scores, scale):
    """Probabilities of every ordered pair of columns, for each row of scores."""
    first, result = log_softmax(scores, scale), []
    for i, j in permutations(range(scores.shape[1]), 2):
        left = [k for k in range(scores.shape[1]) if k != i]
        result.append(first[:, i] + log_softmax(scores[:, left], scale)[:, left.index(j)])
    return np.exp(result).T


def law(table, step):
    """The law of both picks: the average over all 2^n samples of n records."""
    table = np.asarray(table)
    samples = (np.arange(2 ** len(table))[:, None] >> np.arange(len(table))) & 1
    sizes, q = samples.sum(axis=1), step.kept / KEPT_ALL
    return (q**sizes * (1 - q) ** (len(table) - sizes)) @ law_of_scores(scores_of(table, samples), step.scale)


def rising(records, good=2, bad=8):
    """Columns that know nothing and columns that rise with the label; the last record turns all of that round."""
    label = np.arange(records + 1)
    return np.array([label // records] * good + [np.append(label[:-1], -1)] * bad + [label]).T


@cache
def told(step, records=11):
    """Largest and smallest log-ratio of the law with the last record of `rising` to that without it."""
    table = rising(records)
    ratios = np.log(law(table, step) / law(table[:-1], step))
    return ratios.max(), ratios.min()


def least_log_ratio(step):
    """ln(1 − q + q·e^−E), the bound on the other side."""
    q, whole = step.kept / KEPT_ALL, float(step.picks * step.range / Fraction(step.scale))
    return log(1 - q + q * exp(-whole))


@pytest.mark.parametrize("whole", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("kept", [HALF // 2, HALF, 3 * HALF // 2, KEPT_ALL])
def test_a_bad_record_tells_what_is_claimed_and_no_more(whole, kept):
    step = picks_of(kept, whole)
    most, least = told(step)
    assert most <= float(step.pure) + ROUNDING
    assert -least <= -least_log_ratio(step) + ROUNDING <= float(step.pure) + 2 * ROUNDING
    if kept >= HALF:
        assert most > 0.75 * float(step.pure)


MUTANTS = {
    "half the rate": lambda step: replace(step, kept=step.kept // 2).pure,
    "the rate squared": lambda step: replace(step, kept=step.kept**2 // KEPT_ALL).pure,
    "one pick": lambda step: replace(step, picks=1).pure,
    "twice the scale": lambda step: replace(step, scale=2 * step.scale).pure,
    "the other direction": lambda step: -least_log_ratio(step),
    "picks one by one": lambda step: step.picks * replace(step, picks=1).pure,
    "rate times E": lambda step: step.kept / KEPT_ALL * replace(step, kept=KEPT_ALL).pure,
}


@cache
def told_at_a_small_rate(step, n=1500):
    """The largest log-ratio for n records of `rising`. Its samples are such tables too: only their sizes matter."""
    size, q = np.arange(n + 1)[:, None], step.kept / KEPT_ALL
    none, all_of = np.zeros((n + 1, 2), np.int64), np.repeat(size * (size - 1) // 2, 8, axis=1)
    without = law_of_scores(round_scores(np.hstack([none, all_of]), 0, 0, size), step.scale)
    pairs = np.hstack([none + size, np.abs(all_of - size)])
    inside = law_of_scores(round_scores(pairs, 0, 0, size + 1), step.scale)
    weights = binom.pmf(size[:, 0], n, q)
    return log1p(q * ((weights @ inside) / (weights @ without) - 1).max())


def test_sizes_are_all_that_matters():
    step = picks_of(HALF, 2.0)
    assert told_at_a_small_rate(step, 11) == pytest.approx(told(step)[0], rel=1e-9)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_smaller_claims_are_caught(mutant):
    step = picks_of(KEPT_ALL // 64, 2.0)
    told_here = told_at_a_small_rate(step)
    assert 0.8 * step.pure < told_here <= step.pure
    assert MUTANTS[mutant](step) < 0.9 * told_here
    if mutant != "picks one by one":  # which is a small mistake at large rates
        assert MUTANTS[mutant](picks_of(HALF, 2.0)) < told(picks_of(HALF, 2.0))[0]


# Ties, a record that contradicts the others, and a column that never changes.
POINTS = [(0, 0, 1, 0), (1, 0, 1, 1), (2, 1, 1, 2), (0, 2, 1, 3), (3, -1, 1, 3), (-1, 0, 0, 4)]


@pytest.mark.parametrize("kept", [HALF // 3, HALF, KEPT_ALL - HALF // 8])
def test_every_small_table_and_neighbour(kept):
    """All tables of up to three of six points, and every record added, for two sizes of noise."""
    for whole in (1.0, 5.0):
        step = picks_of(kept, whole)
        laws = cache(lambda chosen, step=step: law(np.array([POINTS[i] for i in chosen]).reshape(-1, 4), step))
        worst = 0.0
        for size in range(4):
            for chosen in combinations_with_replacement(range(len(POINTS)), size):
                for new in range(len(POINTS)):
                    ratios = np.log(laws(tuple(sorted((*chosen, new)))) / laws(chosen))
                    assert ratios.max() <= float(step.pure) + ROUNDING
                    assert ratios.min() >= least_log_ratio(step) - ROUNDING
                    worst = max(worst, np.abs(ratios).max())
        assert kept < 0.9 * KEPT_ALL or worst > 0.3 * float(step.pure)  # so few records are seldom in a small sample


@pytest.mark.parametrize("records", [1, 2])
def test_the_curve_of_gaussian_dp_covers_the_law(records):
    """Hockey-stick divergence both ways beside that of μ-GDP, for one record and for two of the same person."""
    table = np.vstack([rising(9), rising(9)[-1]])
    for kept, whole in ((HALF, 1.0), (HALF, 4.0), (3 * HALF // 2, 2.0)):
        step = picks_of(kept, whole)
        mu = records * sqrt(step.mu_squared)
        laws = law(table[:9], step), law(table[: 9 + records], step)
        for one, two in (laws, laws[::-1]):
            for at in np.linspace(-4, 4, 81):
                curve = exp(log_ndtr(-at / mu + mu / 2)) - exp(at + log_ndtr(-at / mu - mu / 2))
                assert np.maximum(one - exp(at) * two, 0).sum() <= curve + ROUNDING


def run(account, step, table):
    """What a fit does: nothing but the sampled records enters the scores."""
    sample = np.asarray(table)[account.sample(step, len(table))]
    return peel(account, step, scores_of(sample, np.ones((1, len(sample)), np.int64))[0])


@pytest.mark.parametrize("noise", [OpenDPNoise(), SeededNoise(np.random.default_rng(3))], ids=["OpenDP", "seeded"])
def test_draws_follow_the_law(noise):
    """1500 whole steps, samples and picks; chi-square at level 1e-7."""
    step, table = picks_of(HALF, 6.0), rising(6, good=1, bad=2)
    outcomes = list(permutations(range(3), 2))
    counts = np.zeros(len(outcomes))
    for _ in range(1500):
        account = AdaptiveAccount(Budget(200.0, 1e-6), noise)
        counts[outcomes.index(tuple(run(account, step, table)))] += 1
        assert account.receipt().steps == (step,)
    exact = law(table, step)
    assert np.abs(exact - law_of_scores(scores_of(table, np.ones((1, 7), np.int64)), step.scale)[0]).sum() > 0.1
    assert_law(counts, exact)


# ---- the price


def true_pure(step):
    with mpmath.workdps(60):
        whole = mpmath.mpf(step.picks * step.range) / mpmath.mpf(step.scale)
        return mpmath.log1p(mpmath.mpf(step.kept) / KEPT_ALL * mpmath.expm1(whole))


rates = st.one_of(st.integers(1, KEPT_ALL), st.integers(0, 32).map(lambda bits: 2**bits))
wholes = st.one_of(st.floats(1e-300, 1e-9), st.floats(1e-13, 1e-11), st.floats(1e-9, 60), st.floats(600, 1e6))


@given(rates, wholes, st.integers(1, 500))
def test_the_price_is_not_below_the_truth(kept, whole, picks):
    step = picks_of(kept, whole, picks)
    pure = step.pure
    with mpmath.workdps(60):
        truth, claimed = true_pure(step), mpmath.mpf(pure.numerator) / pure.denominator
        assert truth <= claimed
        if whole < 690:
            assert claimed <= truth * (1 + 1e-11)
    unsampled = Fraction(picks * FIRST_RANGE) / Fraction(step.scale)
    assert pure <= unsampled
    assert replace(step, kept=KEPT_ALL).pure == unsampled
    assert step.rho == pure**2 / 2 <= step.mu_squared / 2
    assert float(step.mu_squared) == pytest.approx(float(pure) ** 2 * np.pi / 2, rel=1e-14)


@given(st.integers(1, KEPT_ALL - 1), wholes, st.integers(1, 9))
def test_more_records_more_picks_and_less_noise_cost_more(kept, whole, picks):
    step = picks_of(kept, whole, picks)
    assert step.pure <= replace(step, kept=kept + 1).pure
    assert step.pure < replace(step, picks=picks + 1).pure
    assert step.pure < replace(step, scale=step.scale * 0.99).pure
    if 1e-9 < whole < 600 and kept < KEPT_ALL // 2:
        assert step.pure < replace(step, kept=2 * kept).pure


def test_amplification_of_what_is_too_large_or_too_small_for_floats():
    assert amplified(Fraction(10**400), HALF) == 10**400
    assert amplified(Fraction(1, 10**400), HALF) == pytest.approx(Fraction(1, 2 * 10**400), rel=1e-12)


@given(st.floats(1e-14, 100), rates, st.integers(1, 300))
def test_a_plan_uses_its_share_and_no_more(mu_squared, kept, picks):
    step = plan_sampled_picks("s", picks, kept, FIRST_RANGE, mu_squared, GRID)
    assert (step.picks, step.kept, step.range, step.grid) == (picks, kept, FIRST_RANGE, GRID)
    assert 0.999 * mu_squared <= step.mu_squared <= Fraction(mu_squared)


def test_a_plan_for_more_than_floats_hold():
    for mu_squared in (6e5, 7.2e5, 1e6, 1e9):
        assert plan_sampled_picks("s", 3, 5, FIRST_RANGE, mu_squared, GRID).mu_squared <= mu_squared


def test_rates():
    assert rate_for(1000, 4000.0) == KEPT_ALL // 4
    assert rate_for(1000, 1000.0) == rate_for(1000, 20.0) == rate_for(1000, -5.0) == KEPT_ALL
    assert rate_for(1, 1e30) == 1
    assert rate_for(10**6, 1e9) * 1e9 / KEPT_ALL == pytest.approx(1e6, rel=1e-6)
    assert 1 <= rate_for(10**6, np.nextafter(1e6, 2e6)) <= KEPT_ALL


@pytest.mark.parametrize("wrong", [{"kept": 0}, {"kept": KEPT_ALL + 1}, {"picks": 0}, {"scale": 0.0}])
def test_steps_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(picks_of(HALF), **wrong)


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
SMALL = picks_of(HALF // 2, 0.05)
BUDGET = Budget(1.0, 1e-6)


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
    if receipt.rows is None:
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


@pytest.mark.parametrize("rows", [None, 1, 3])
def test_receipts_are_read_back(rows):
    receipt = Receipt((SMALL, Pick("p", 1, 50.0)), BUDGET, True, rows=rows)
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


# ---- record and replay


def tape_of(table, seed=0, first=None, **added):
    """A fit that consists of this step alone, on tape."""
    with Tape(seed, first, Added(**added)).running() as tape:
        account = AdaptiveAccount(BUDGET, privreg.estimators.base.noise_for(None))
        tape.chosen = run(account, SMALL, table)
        tape.receipt = account.receipt()
    return tape


def test_a_fit_with_a_sample_is_replayed():
    table = rising(30)
    for seed in range(5):
        one = tape_of(table[:-1], seed)
        two = tape_of(table, seed + 50, one, places=(30,))
        assert two.chosen == one.chosen
        assert one.found == two.found == []
        for tape in (one, two):
            assert [wrong_noise(call) for call in tape.calls] == [None] * 3
            assert wrong_receipt(tape.receipt, [call.step for call in tape.calls]) is None
        (before,), (after,) = one.samples, two.samples
        np.testing.assert_array_equal(after[:-1], before)
        assert after[-1]  # where the new record tells most
        change = two.calls[1].statistic - one.calls[1].statistic
        assert 0.5 * FIRST_RANGE < np.ptp(change) <= FIRST_RANGE
        np.testing.assert_array_equal(tape_of(table[:-1], 9, two, places=(30,), removed=True).samples[0], before)


def test_tables_that_are_no_neighbours_have_coins_of_their_own():
    one = tape_of(rising(30))
    assert tape_of(rising(44), 1, one).chosen == one.chosen
    with pytest.raises(Diverged, match="another number of records"):
        tape_of(rising(44), 1, one, places=(3,))


def test_what_a_tape_must_not_let_through():
    tape = tape_of(rising(12))
    sample, pick, _ = tape.calls
    coin, gumbel = sample.draws[0], pick.draws[0]
    assert wrong_noise(replace(sample, draws=[replace(coin, scale=HALF)])) is not None
    assert wrong_noise(replace(sample, draws=[])) is not None
    assert wrong_noise(replace(sample, returned=~sample.returned)) is not None
    assert wrong_noise(replace(sample, statistic=14)) is not None
    assert wrong_noise(replace(pick, draws=[replace(gumbel, scale=1.0)])) is not None
    assert wrong_receipt(tape.receipt, [SMALL] * 4) is not None  # one pick too many
    assert wrong_receipt(tape.receipt, [SMALL] * 3 + [Pick("p", 1, 1.0)]) is not None


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
