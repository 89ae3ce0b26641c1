"""Picks on a secret sample: the exact law over all samples, and what it is charged.

Proof: docs/proofs/sampling.md. Laws are sums over every sample a table can have, so nothing here is estimated but the
frequency test, which fails by chance with the probability that it states.
"""

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

from exact import assert_law, log_softmax
from privreg.mechanisms.sampling import KEPT_ALL, plan_sampled_picks, rate_for
from privreg.mechanisms.screening import FIRST_RANGE, GRID, round_scores
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import amplified
from privreg.privacy.noise import OpenDPNoise, SeededNoise
from sampled import HALF, picks_of, rising, run, scores_of

ROUNDING = 1e-9


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

DIGITS = 400  # small prices are above the truth by less than one part in 10^290


def true_pure(step):
    with mpmath.workdps(DIGITS):
        whole = mpmath.mpf(step.picks * step.range) / mpmath.mpf(step.scale)
        return mpmath.log1p(mpmath.mpf(step.kept) / KEPT_ALL * mpmath.expm1(whole))


rates = st.one_of(st.integers(1, KEPT_ALL), st.integers(0, 32).map(lambda bits: 2**bits))


wholes = st.one_of(st.floats(1e-290, 1e-9), st.floats(1e-13, 1e-11), st.floats(1e-9, 60), st.floats(600, 1e6))


@given(rates, wholes, st.integers(1, 500))
def test_the_price_is_not_below_the_truth(kept, whole, picks):
    step = picks_of(kept, whole, picks)
    pure = step.pure
    with mpmath.workdps(DIGITS):
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
