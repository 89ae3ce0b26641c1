"""The black-box audits: their bounds are right, they stay below the claims, and they catch bugs."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from audit import blackbox, results
from audit.blackbox import AUDITS, Audit, Claim, run
from audit.distinguish import epsilon_bound, proved
from privreg.estimators import dp_kendall, tukey
from privreg.mechanisms import count, lengths, moments
from privreg.privacy.account import Account
from privreg.privacy.events import ProposeTestRelease
from privreg.privacy.noise import SeededNoise

# ---- the bound


@pytest.mark.parametrize(("hits", "others"), [(400, 30), (1, 0), (1000, 7), (90, 999)])
def test_the_bound_is_that_of_clopper_and_pearson(hits, others):
    """The chance to see so many hits, or so few, is exactly the allowed error at the two ends."""
    error = 1e-3
    (low, high) = (
        stats.binomtest(hits, 1000).proportion_ci(1 - 2 * error, "exact").low,
        stats.binomtest(others, 1000).proportion_ci(1 - 2 * error, "exact").high,
    )
    assert stats.binom.sf(hits - 1, 1000, low) == pytest.approx(error, rel=1e-6)
    assert stats.binom.cdf(others, 1000, high) == pytest.approx(error, rel=1e-6)
    for delta in (0.0, 1e-4, 0.05):
        expected = max(np.log(max(low - delta, 1e-300) / high), 0)
        assert epsilon_bound(hits, others, 1000, delta, error) == pytest.approx(expected, rel=1e-9)


def test_nothing_seen_proves_nothing():
    assert epsilon_bound(0, 0, 1000, 0.0, 1e-3) == 0
    assert epsilon_bound(1000, 1000, 1000, 0.0, 1e-3) == 0
    assert epsilon_bound(9, 0, 1000, 0.02, 1e-3) == 0
    same = [np.zeros(500), np.zeros(500)]
    assert proved(same, same, 0.0, 0.999) == 0


@pytest.mark.parametrize(("p", "q", "delta"), [(0.4, 0.1, 0.0), (0.05, 0.01, 0.01), (0.9, 0.5, 0.1), (0.02, 0.0, 0.02)])
def test_the_bound_is_too_high_as_rarely_as_it_says(p, q, delta):
    """By the exact law of both counts. Where the true ε is 0, any bound above 0 is too high."""
    runs, error = 300, 0.01
    true = max(np.log((p - delta) / q), 0) if q else 0.0
    counts = np.arange(runs + 1)
    bound = epsilon_bound(counts[:, None], counts, runs, delta, error)
    law = stats.binom.pmf(counts, runs, p)[:, None] * stats.binom.pmf(counts, runs, q)
    assert law[bound > true + 1e-12].sum() <= 2 * error


def test_scores_of_known_laws_prove_nearly_all(rng):
    """Two normal laws a distance μ apart, at the δ of their curve; in either direction, and infinite scores count."""
    mu, epsilon = 1.0, 1.0
    delta = float(stats.norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2))
    samples = [mu * (rng.normal(size=(2, 50_000)) + m) for m in (mu, 0.0)]
    pilot, scores = [samples[0][0], samples[1][0]], [samples[0][1], samples[1][1]]
    assert 0.9 < proved(pilot, scores, delta, 0.999) < epsilon
    assert 0.9 < proved([-s for s in pilot[::-1]], [-s for s in scores[::-1]], delta, 0.999) < epsilon
    sure = [np.full(500, np.inf), np.full(500, -np.inf)]
    assert proved(sure, sure, 0.0, 0.999) > 4


# ---- the audits


@pytest.mark.parametrize("name", AUDITS)
def test_no_audit_proves_more_than_the_claim(name):
    found = run(name, runs={"flagship refits": 1000, "flagship constant": 10_000}.get(name, 3000))
    assert found.rows
    assert found.excess == []
    if name not in ("tukey unsafe", "flagship refits", "long median"):  # the first is all δ, the others need more runs
        assert all(row.tight > 0.1 for row in found.rows)


def test_claims_are_the_budgets():
    epsilons = [run(name, runs=200).rows[0].epsilon for name in ("bas 5", "tukey 1-D", "kendall", "noisy count")]
    assert epsilons == pytest.approx([3.0, 0.9, 1.5, 3.0], rel=1e-6)


@pytest.mark.parametrize("name", ["count", "noisy count", "mean"])
def test_private_noise_stays_below_the_claim(name):
    """Fails by chance less than once in a million runs."""
    found = run(name, "OpenDP", runs=500, confidence=1 - 1e-7)
    assert not found.excess
    assert found.rows[0].noise == "OpenDP"


def test_parts_do_not_depend_on_the_number_of_processes():
    """Each part of the runs has its own seed."""
    seed = np.random.SeedSequence(1)
    parts = blackbox._parts(("seeded", 1, 25_000), seed)
    assert [size for _, _, size, _ in parts] == [10_000, 10_000, 5_000]
    drawn = [np.random.default_rng(own).random() for *_, own in parts]
    assert len(set(drawn)) == 3


def test_the_command_keeps_what_it_found_and_fails_on_a_bound_above_its_claim(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(blackbox, "ProcessPoolExecutor", lambda **_: nullcontext())
    monkeypatch.setattr(blackbox, "AUDITS", {"count": AUDITS["count"]})
    assert blackbox.main(["--runs", "500"]) == 0
    kept = results.read("blackbox")
    assert (kept["runs"], kept["confidence"], len(kept["rows"])) == (500, 0.999, 2)
    assert kept["rows"][1].keys() >= {"mechanism", "what", "noise", "runs", "epsilon", "delta", "bound", "tight"}

    def leak():
        return Audit("one", [Claim("leak", 0.5)], lambda side, runs, noise: np.full((runs, 1), -float(side)))

    monkeypatch.setattr(blackbox, "AUDITS", {"leak": leak})
    assert blackbox.main(["--runs", "500"]) == 1
    assert "2 above the claim" in capsys.readouterr().out


# ---- bugs


def half_the_noise(patch):
    def gaussian(self, step, values):
        self._spend(step)
        return self._noise.gaussian(values, step.scale / 2)

    patch.setattr(Account, "gaussian", gaussian)


def half_the_gumbel_noise(patch):
    def pick(self, scores, scale):
        return int(np.argmax(scores + scale / 2 * self._generator.gumbel(size=len(scores))))

    patch.setattr(SeededNoise, "pick", pick)


def inverted_count(patch):
    def lower_count(account, step, n):
        return account.laplace(replace(step, scale=1 / step.scale), n)

    patch.setattr(count, "lower_count", lower_count)


def inverted_test(patch):
    def test(self, step, distance, scores, grid, box):
        self._spend(step)
        if self._noise.laplace(distance, 1 / step.scale) < step.threshold:
            return None
        return [self._noise.uniform(*side) for side in box(self._noise.pick(scores, grid))]

    patch.setattr(Account, "propose_test_release", test)


def no_threshold(patch):
    patch.setattr(ProposeTestRelease, "threshold", 0)


def draw_at_half_price(patch):
    strict = tukey.CALIBRATIONS["strict"]
    patch.setitem(tukey.CALIBRATIONS, "strict", replace(strict, steps=1))


def half_the_range(patch):
    patch.setattr(dp_kendall, "FIRST_RANGE", dp_kendall.FIRST_RANGE // 2)


def lengths_counted_twice(patch):
    counts = lengths.length_counts
    patch.setattr(lengths, "length_counts", lambda values, unit: np.cumsum(counts(values, unit)[::-1])[::-1].copy())


def half_the_sensitivity(patch):
    plan = moments.plan_moments

    def half(*given):
        step = plan(*given)
        return replace(step, norm_squared=step.norm_squared // 2, scale=step.scale / 2)

    patch.setattr(moments, "plan_moments", half)


def products_for_nothing(patch):
    sums = blackbox.moment_kernels.moment_sums
    patch.setattr(
        blackbox.moment_kernels, "moment_sums", lambda rows, residuals, clips, _: sums(rows, residuals, clips, 0)
    )


BUGS = [
    (half_the_noise, "noisy count"),
    (half_the_noise, "bas 5"),
    (half_the_gumbel_noise, "kendall"),
    (half_the_noise, "lengths"),
    (inverted_count, "count"),
    (inverted_test, "tukey 1-D"),
    (no_threshold, "tukey unsafe"),
    (draw_at_half_price, "tukey 1-D"),
    (half_the_range, "kendall"),
    (lengths_counted_twice, "lengths"),
    (half_the_sensitivity, "moments"),
    (products_for_nothing, "moments"),
]


@pytest.mark.parametrize(("bug", "name"), BUGS, ids=lambda x: getattr(x, "__name__", x))
def test_bugs_are_caught(bug, name, monkeypatch):
    bug(monkeypatch)
    assert run(name, runs=10_000).excess
