"""Floating point: `audit.bits` at a small size, and known mistakes that each of its checks must notice."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

import audit.bits.__main__
import audit.bits.noise
import privreg.data.tables
import privreg.kernels.values
import privreg.mechanisms.mean
import privreg.privacy.noise
from audit import results
from audit.bits.__main__ import CHECKS, main
from audit.bits.boxes import floats_between, narrow_boxes, spent
from audit.bits.cases import cases, finding
from audit.bits.eigenvalues import lowest
from audit.bits.noise import gaussian_bits, laplace_bits, low_bits
from audit.bits.outputs import grids, integers, outputs_alone
from audit.bits.pieces import chunks, layouts, threads
from audit.bits.points import tukey_bits
from audit.bits.processors import kernels
from audit.bits.records import groups, order, shuffle
from audit.bits.worker import digests, fit_handed, outputs_of
from privreg.estimators import boosted_adassp, tukey
from privreg.estimators.private_linear import design, fitting, phases, scales
from privreg.kernels.boosting import gram
from privreg.kernels.least_squares import solve_groups
from privreg.kernels.moments import Sums, round_residuals
from privreg.kernels.threads import share_out
from privreg.mechanisms.depth import LATTICE
from privreg.mechanisms.moments import release_moments
from privreg.privacy.events import ProposeTestRelease
from privreg.privacy.noise import OpenDPNoise, SeededNoise

ONE = ("all columns",)


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "processor kernels"])
def test_checks_find_nothing(name):
    check, small = CHECKS[name]
    found = check(**small)
    assert found["wrong"] == []
    assert found["cases"] > 0


def test_other_processor_kernels_give_the_same_bits():
    found = kernels(("all columns", "adassp"), ("BLAS kernels for Prescott",), records=3000)
    assert found["wrong"] == []
    assert found["cases"] in (0, 3)  # none where the processor cannot run these kernels


# ---- mistakes


def put_in_float_sums(monkeypatch):
    """A plain implementation: rows that were never rounded, added up in floating point, rounded at the end."""

    def float_sums(rows, residuals, clips, products):
        unrounded, whole = rows.values / 3.0, round_residuals(residuals, clips, rows.squares, products)
        return Sums(unrounded @ unrounded.T, whole @ unrounded.T)

    def round_and_release(account, event, sums, *given):
        parts = (np.rint(s * 2**20).astype(np.int64) for s in (sums.products, sums.gradients))
        return release_moments(account, event, Sums(*parts), *given)

    monkeypatch.setattr(design, "moment_sums", float_sums)
    monkeypatch.setattr(phases, "release_moments", round_and_release)


@pytest.mark.parametrize(
    "check",
    [
        lambda: order(ONE, shuffles=1),
        lambda: chunks(ONE, sizes=(7,)),
        lambda: threads(ONE, jobs=(2,), repeats=1),  # with threads come small chunks
    ],
)
def test_sums_of_floats_are_noticed(monkeypatch, check):
    put_in_float_sums(monkeypatch)
    assert any("products" in text for text in check()["wrong"])


def test_sums_of_floats_are_noticed_on_another_processor(monkeypatch):
    (case,) = cases(ONE)
    base, handed = fit_handed(case)
    again, _ = fit_handed(case, handed.noted, outputs_of(base))
    assert digests(again) == digests(base)
    put_in_float_sums(monkeypatch)
    again, _ = fit_handed(case, handed.noted, outputs_of(base))
    assert digests(again) != digests(base)


def test_clipping_after_the_sum_is_noticed(monkeypatch):
    def clip_sums(values, centre, clip):
        sums = np.add.reduceat(values - centre, np.arange(0, values.size, 8))
        return np.array([np.rint(np.clip(sums, -clip, clip) / clip * 2**28).astype(np.int64).sum()])

    monkeypatch.setattr(privreg.mechanisms.mean, "clipped_sum", clip_sums)
    assert any("mean of the target" in text for text in order(ONE, shuffles=1)["wrong"])


def test_threads_that_share_a_total_are_noticed(monkeypatch):
    calls = []

    def racy(work, tasks, n_jobs):
        """What one of several threads adds is overwritten by another."""
        calls.append(n_jobs)
        share_out(work, tasks - (n_jobs > 1 and tasks > 1), n_jobs)

    monkeypatch.setattr(privreg.engines.base, "share_out", racy)
    wrong = threads(ONE, jobs=(3,), repeats=1)["wrong"]
    assert all(any(part in text for text in wrong) for part in ("median", "spread", "lengths", "products and gradient"))
    assert set(calls) == {1, 3}


def test_floats_that_reach_the_noise_are_noticed(monkeypatch):
    original = privreg.mechanisms.mean.clipped_sum
    monkeypatch.setattr(
        privreg.mechanisms.mean, "clipped_sum", lambda *given, **named: original(*given, **named) / np.pi
    )
    with pytest.raises(TypeError, match="int64"):  # the noise itself refuses them
        integers(ONE, seeds=1)
    monkeypatch.setattr(privreg.privacy.noise, "_int64", np.asarray)
    wrong = integers(ONE, seeds=1)["wrong"]
    assert any("reached the noise" in text for text in wrong)
    assert any("came out" in text for text in wrong)


def test_a_layout_that_changes_bits_is_noticed(monkeypatch):
    original = privreg.data.tables.Table.rows

    def rows(self, index):
        strided = isinstance(self._numeric, np.ndarray) and not self._numeric.flags.c_contiguous
        return np.round(original(self, index), 3) if strided else original(self, index)

    monkeypatch.setattr(privreg.data.tables.Table, "rows", rows)
    assert layouts(("adassp",))["wrong"]


def scaled(rows, target, bounds, models, units):
    largest = np.abs(target).max(initial=1.0)  # of all groups together
    solve_groups(rows, target / largest, bounds, models, units)
    models *= largest


def test_a_group_that_sees_the_others_is_noticed(monkeypatch):
    monkeypatch.setattr(tukey, "solve_groups", scaled)
    assert groups(records=12, names=("tukey",))["wrong"]
    assert chunks(("tukey",), sizes=(7,))["wrong"]


def test_rows_that_see_their_block_are_noticed(monkeypatch):
    original = boosted_adassp.RoundRows.__call__
    monkeypatch.setattr(boosted_adassp.RoundRows, "__call__", lambda self, rows: original(self, rows - rows.mean(0)))
    assert any("products" in text for text in chunks(("adassp",), sizes=(7,))["wrong"])


def test_counts_that_see_their_block_are_noticed(monkeypatch):
    values = privreg.kernels.values
    original = values.count_distances
    monkeypatch.setattr(values, "count_distances", lambda x, centre: original(x, np.median(x) if x.size else centre))
    assert any("spread" in text for text in chunks(ONE, sizes=(7,))["wrong"])


def test_a_model_that_sees_the_data_is_noticed(monkeypatch):
    original = fitting.finish

    def finish(setting, state):
        return original(setting, replace(state, theta=state.theta + 1e-15 * setting.engine.target.mean()))

    monkeypatch.setattr(fitting, "finish", finish)
    assert outputs_alone(ONE)["wrong"]


def test_a_median_off_the_grid_is_noticed(monkeypatch):
    original = scales.noisy_median
    monkeypatch.setattr(scales, "noisy_median", lambda *given: original(*given) * (1 + 2**-50))
    assert any("median" in text for text in grids(ONE, codes=100)["wrong"])


class FloatNoise(SeededNoise):
    """A float's noise: rounded at the end, after the sum has lost its last bits."""

    def gaussian(self, values, scale):
        return np.rint((values + scale * self._generator.normal(size=values.shape)) / 8).astype(np.int64) * 8


def test_noise_that_leaves_the_last_bits_alone_is_noticed(monkeypatch):
    monkeypatch.setattr(audit.bits.noise, "SeededNoise", FloatNoise)
    assert low_bits(("adassp",), draws=2000, private=False)["wrong"]


def test_noise_for_half_the_scale_is_noticed(monkeypatch):
    original = OpenDPNoise.laplace
    monkeypatch.setattr(OpenDPNoise, "laplace", lambda self, value, scale: original(self, value, scale / 2))
    assert any("OpenDPNoise" in text for text in low_bits((), draws=2400)["wrong"])


def test_a_uniform_float_is_noticed(monkeypatch):
    def float_uniform(self, low, high):
        a, b = low / 2**1074, high / 2**1074
        return int(Fraction(a + (b - a) * self._generator.random()) * 2**1074)

    monkeypatch.setattr(SeededNoise, "uniform", float_uniform)
    assert tukey_bits(draws=1000, private=False)["wrong"]


def test_an_edge_of_the_box_is_noticed(monkeypatch):
    monkeypatch.setattr(SeededNoise, "uniform", lambda self, low, high: low)
    assert any("coefficient" in text for text in tukey_bits(draws=50, private=False)["wrong"])


def test_a_test_that_always_passes_is_noticed(monkeypatch):
    """In narrow boxes the draw is private because unsafe sets are refused, and for no other reason."""
    monkeypatch.setattr(ProposeTestRelease, "threshold", property(lambda step: -(10**6)))
    assert any("delta" in text for text in narrow_boxes(sets=60)["wrong"])


# ---- the tools


def test_laws_of_the_last_bits():
    z = np.arange(-3000, 3001)
    for scale in (0.7, 5.0, 60.0):
        for value in (0, 5):
            for law, mass in (
                (gaussian_bits, np.exp(-((z / scale) ** 2) / 2)),
                (laplace_bits, np.exp(-np.abs(z) / scale)),
            ):
                expected = np.bincount((value + z) % 16, mass / mass.sum(), minlength=16)
                np.testing.assert_allclose(law(value, scale), expected, rtol=1e-9)


def test_exact_eigenvalues():
    assert lowest(np.diag([7, 3, 9])) == 3
    assert lowest(np.zeros((3, 3), np.int64)) == 0
    assert lowest(np.array([[2, 1], [1, 2]]) * 10**15) == 10**15
    rows = np.arange(12, dtype=np.int16).reshape(3, 4)
    value = lowest(gram(rows))
    assert -1 <= boosted_adassp._smallest_eigenvalue(gram(rows))[0] <= 0 <= value <= 1


def test_floats_and_their_lattice_points():
    for base in (0.0, 1.0, -1.0, 2.0**-1022, -5e-324, 1e300):
        low = high = base
        for _ in range(4):
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        ends = [int(Fraction(float(v)) * LATTICE) for v in (low, high)]
        values, firsts = floats_between(*ends)
        for value, first, after in zip(values, firsts, firsts[1:], strict=False):
            for point in (first, (first + after) // 2, after - 1):
                assert point / LATTICE == value
        assert firsts[0] == ends[0]
        assert firsts[-1] >= ends[1]


def test_a_shuffle_keeps_groups_in_order(rng):
    draws = [rng.integers(5, size=60), rng.integers(30, size=60)]
    rows = shuffle(draws, 60, rng)
    assert sorted(rows) == list(range(60))
    assert (rows != np.arange(60)).any()
    for drawn in draws:
        assert all((np.diff(rows[drawn[rows] == g]) > 0).all() for g in range(30))


def test_the_command(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(audit.bits.__main__, "CHECKS", {"fine": (lambda: finding("All is well.", 3, []), {})})
    assert main([]) == 0
    assert results.read("bits")["checks"][0] == {
        "name": "fine",
        "what": "All is well.",
        "cases": 3,
        "wrong": [],
        "promised": None,
    }
    monkeypatch.setattr(audit.bits.__main__, "CHECKS", {"bad": (lambda: finding("Or not.", 3, ["this"]), {})})
    assert main(["--quick"]) == 1
    assert "1 WRONG" in capsys.readouterr().out
    assert spent({1.0: 1.0}, {2.0: 1.0}, exp(1)) == 1
