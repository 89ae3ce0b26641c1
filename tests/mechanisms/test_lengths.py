"""The histogram of lengths: one record moves one bin by one, and reading it never fails.

Proof: docs/proofs/lengths.md.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privreg.engines import base
from privreg.estimators.private_linear.design import Design, Phase
from privreg.estimators.private_linear.model import Scale, Term
from privreg.kernels.ranks import MAX_RECORDS
from privreg.mechanisms.lengths import (
    BINS,
    EDGES,
    GRID,
    LONGEST,
    Lengths,
    length_counts,
    noisy_lengths,
    plan_lengths,
)
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import SeededNoise
from public_tables import array_engine
from scripted import Keeper

HOSTILE = [0.0, -0.0, 5e-324, 1e-308, 1.0, 1.7e308, np.inf, np.nan, -np.inf]
UNITS = [1.0, 3.0, 2.0**-60, 2.0**70]
length = st.one_of(st.sampled_from([*HOSTILE, *EDGES.tolist()]), st.floats(0, 40))
STEP = plan_lengths("lengths", 0.02)
ROOMY = Budget(5.0, 1e-6)


def released(values, unit):
    """The integers that get noise."""
    keeper = Keeper()
    noisy_lengths(AdaptiveAccount(ROOMY, keeper), STEP, length_counts(np.array(values, float), unit), unit, 100.0)
    ((integers, scale),) = keeper.calls
    assert scale == STEP.scale
    return integers


# ---- what is released


@settings(max_examples=300)
@given(st.lists(length, max_size=20), length, st.sampled_from(UNITS), st.data())
def test_a_record_moves_one_bin_by_one(values, record, unit, data):
    """Wherever it stands, whatever it is, and without a warning: pytest turns warnings into errors."""
    place = data.draw(st.integers(0, len(values)))
    before = released(values, unit)
    after = released([*values[:place], record, *values[place:]], unit)
    moved = [b - a for a, b in zip(before, after, strict=True)]
    assert sorted(moved) == [0] * (BINS - 1) + [GRID]
    assert sum(change**2 for change in moved) == STEP.sensitivity_squared == GRID**2
    assert moved == released([record], unit)


@pytest.mark.parametrize("unit", [1.0, 3.0])
def test_bins_begin_above_their_edges(unit):
    for i, edge in enumerate((EDGES * unit).tolist()):
        assert length_counts(np.array([edge]), unit).tolist().index(1) == i
        assert length_counts(np.array([np.nextafter(edge, np.inf)]), unit).tolist().index(1) == i + 1
    assert length_counts(np.array([np.inf, 1.7e308]), unit).tolist() == [0] * (BINS - 1) + [2]
    assert length_counts(np.array([np.nan, 0.0, -np.inf]), unit).tolist() == [3] + [0] * (BINS - 1)
    assert length_counts(np.empty(0), unit).tolist() == [0] * BINS


def test_it_costs_what_was_asked_for():
    for mu_squared in np.geomspace(1e-10, 10, 50):
        step = plan_lengths("lengths", mu_squared)
        assert float(step.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert step.mu_squared == Fraction(GRID) ** 2 / Fraction(step.scale) ** 2
        assert step.coordinates == BINS
        assert step.rounding_distance <= step.mu_squared / 2**42
    assert MAX_RECORDS * GRID < 2**62


def test_the_noise_has_the_scale_that_it_says(rng):
    drawn = [
        noisy_lengths(AdaptiveAccount(ROOMY, SeededNoise(rng)), STEP, np.zeros(BINS, np.int64), 1.0, 100.0)
        for _ in range(300)
    ]
    assert {each.noise for each in drawn} == {STEP.scale / GRID}
    assert np.std([each.counts for each in drawn]) == pytest.approx(STEP.scale / GRID, rel=0.06)


@pytest.mark.parametrize("last", [False, True])
def test_a_phase_counts_each_record_once_in_any_blocks(rng, monkeypatch, last):
    """The length of a record does not depend on others, nor on blocks and threads."""
    X, y = rng.normal(size=(300, 2)) * [1, 30], rng.standard_cauchy(300)
    X[::7] *= 50  # rows beyond the radius
    terms = Term(0, Scale(0.1, 8.0, 1.0)), Term(1, Scale(0.0, 900.0, 25.0))
    design = Design(Scale(0.0, 20.0, 1.0), terms)
    frame = np.eye(3) + rng.normal(size=(3, 3)) / 5
    phase = Phase(design, rng.normal(size=3), frame, 1.5, np.array([0.5, 1.0]), 400, 1.0, bounded=False, last=last)
    seen = set()
    for size, jobs in ((1, 1), (7, 2), (8192, 1)):
        monkeypatch.setattr(base, "ROWS", size)
        counts = array_engine(X, y, jobs).total(phase, design.columns).lengths
        assert counts.sum() == 300
        seen.add(tuple(counts.tolist()))
    assert len(seen) == 1
    assert sum(count > 0 for count in seen.pop()) > 4


def test_rows_too_long_to_be_squared_do_not_warn():
    """Their factor is 0, and their residual over it ±∞ or no number: they are in the first bin, and count for 0."""
    design = Design(Scale(0.0, 1.0, 1.0), (Term(0, Scale(0.0, 1.0, 1.0)),))
    engine = array_engine(np.array([[0.3], [0.4], [-1.0]]), np.array([0.0, 0.5, 1.0]), 1)
    for last in (False, True):
        phase = Phase(design, np.zeros(2), np.eye(2) * 1e300, 1.0, np.ones(1), 400, 1.0, bounded=False, last=last)
        with np.errstate(all="warn"):
            found = engine.total(phase, design.columns)
        assert found.lengths.tolist() == [3] + [0] * (BINS - 1)
        assert not found.sums.gradients.any()


# ---- how it is read


def pareto(slope, at, records=10**6, part=0.05):
    """A histogram without noise: `part` of the records follow a Pareto law from an edge on, the others are shorter."""
    beyond = part * records * np.maximum(EDGES / EDGES[at], 1.0) ** -slope
    counts = -np.diff(np.concatenate([[part * records], beyond, [0.0]]))
    counts[at] += (1 - part) * records
    return Lengths(counts, 1.0, 1.0, float(records))


@pytest.mark.parametrize("slope", [1.5, 2.0, 3.0, 5.0])
def test_excess_of_a_pareto_tail(slope):
    """Σ (length − clip)⁺ of records that follow the law up to where the tail ends, within a fifth."""
    at, tail = 4, 0.05 * 10**6
    lengths, clips = pareto(slope, at), EDGES[5:8]
    end = LONGEST * EDGES[-1] / EDGES[at]
    cut = (clips / EDGES[at]) ** (1 - slope) - end ** (1 - slope)
    np.testing.assert_allclose(lengths.excess(clips), tail * EDGES[at] * cut / (slope - 1), rtol=0.2)
    assert lengths.excess(EDGES[at : at + 1] / 2) > lengths.excess(EDGES[at : at + 1]) + 0.99 * tail * EDGES[at] / 2


def test_quantiles_of_a_known_histogram():
    counts = np.zeros(BINS)
    counts[[3, 5]] = 60, 40  # up to EDGES[3], and up to EDGES[5]
    lengths = Lengths(counts, 1.0, 2.0, 100.0)
    assert lengths.quantile(0.6) == pytest.approx(2 * EDGES[3])
    assert lengths.quantile(0.3) == pytest.approx(2 * EDGES[3] / np.sqrt(2))
    assert lengths.quantile(0.8) == pytest.approx(2 * EDGES[5] / np.sqrt(2))
    assert lengths.quantile(1.0) == pytest.approx(2 * EDGES[5])


def test_quantiles_and_mean_square_of_a_sample(rng):
    """Of a normal law: a bin is an octave, so they are known within a third."""
    values = np.abs(rng.normal(size=200_000))
    lengths = Lengths(length_counts(values, 1.0).astype(float), 0.5, 1.0, 200_000.0)
    for level in (0.5, 0.9, 0.98):
        assert lengths.quantile(level) == pytest.approx(np.quantile(values, level), rel=0.33)
    assert lengths.mean_square == pytest.approx(1, rel=0.35)


counts = hnp.arrays(float, BINS, elements=st.one_of(st.sampled_from([0.0, 1.0, -1e9, 1e12]), st.floats(-1e6, 1e9)))


@settings(max_examples=300)
@given(counts, st.floats(1e-6, 1e6), st.sampled_from(UNITS), st.floats(20, 1e9))
def test_reading_never_fails(histogram, noise, unit, records):
    """Whatever the noise made of it, without a warning: finite numbers, less excess for larger clips."""
    lengths = Lengths(histogram, noise, unit, records)
    clips = unit * 2.0 ** np.linspace(-8, 8, 33)
    excess = lengths.excess(clips)
    assert np.isfinite(excess).all()
    assert (excess >= 0).all()
    assert (np.diff(excess) <= 1e-12 * excess[:-1]).all()
    quantiles = [lengths.quantile(level) for level in (0.0, 0.3, 0.5, 0.9, 0.98, 1.0)]
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= 0).all()
    assert unit * EDGES[0] / 2 <= quantiles[0]
    assert quantiles[-1] <= unit * EDGES[-1]
    assert np.isfinite(lengths.mean_square)
    assert lengths.mean_square > 0
    np.testing.assert_array_equal(lengths.excess(clips), excess)


@pytest.mark.parametrize("value", [0.0, -1e6, 1e9, 2.0**35])
def test_histograms_that_say_nothing(value):
    lengths = Lengths(np.full(BINS, value), 3.0, 1.0, 1000.0)
    assert np.isfinite(lengths.excess(EDGES)).all()
    assert np.isfinite([lengths.quantile(0.9), lengths.mean_square]).all()
