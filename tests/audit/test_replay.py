"""Record and replay: fits on neighbouring tables differ in nothing but their statistics, and those as declared."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, product

import numpy as np
import pytest

from audit.cases import CASES, NUMBERS
from audit.changes import changed
from audit.fits import fit_estimator, frozen, numbers_in
from audit.neighbours import HOSTILE, KINDS, Cells, make_table, neighbour
from audit.receipts import gaussian_delta, least_delta, wrong_receipt
from audit.recording import Added, Call, Draw, Recording
from audit.replay import check_pair, compare, numbered, run
from audit.requested_noise import wrong_noise
from privreg import DPKendall, PrivateLinearRegression, TukeyRegression
from privreg.data.schema import Schema
from privreg.privacy.accountant import Budget, adaptive_budget
from privreg.privacy.events import Gaussian, GaussianMoments, Laplace, Pick, ProposeTestRelease
from privreg.privacy.receipt import ADAPTIVE, Receipt

PAIRS = 150  # `make audit` compares thousands
CHUNKS = [
    (name, numbers[a : a + 6])
    for name, tasks in groupby(numbered(PAIRS), lambda task: task[0])
    for numbers in [[i for _, i in tasks]]
    for a in range(0, len(numbers), 6)
]


@pytest.mark.parametrize(("case", "numbers"), CHUNKS, ids=lambda value: value if isinstance(value, str) else value[0])
def test_neighbours_differ_as_declared(case, numbers):
    for number in numbers:
        pair = check_pair(case, number)
        assert not pair.texts, (number, pair.kind)


def test_statistics_move_nearly_as_far_as_declared():
    """So that a sensitivity that is too small would show."""
    worst = {}
    pairs = {"PrivateLinearRegression": 9, "PrivateLinearRegression, screening": 9, "BoostedAdaSSP": 27}
    pairs |= {"SchemaReader": 6, "SchemaReader, fill, people": 6}
    for case, count in pairs.items():
        for number in range(count):
            for step, part in check_pair(case, number).worst.items():
                worst[step] = max(worst.get(step, 0.0), part)
    assert worst["count the records"] == worst["spread of the target"] == worst["spread of column"] == 1
    assert worst["count all records"] == worst["kinds of the columns"] == worst["common values"] == 1
    assert min(worst["mean of the target"], worst["boosting round"], worst["products of features"]) > 0.99
    assert min(worst["median of the target"], worst["median of column"]) > 0.9
    assert worst["lengths of residuals"] == 1
    assert worst["products and gradient"] > 0.999
    assert min(worst["choose feature"], worst["explained variance"]) > 0.6
    assert worst["residual variance"] > 0.9
    assert worst["smallest eigenvalue"] > 0.3


def test_there_are_enough_pairs_of_every_case():
    assert sum(len(numbers) for _, numbers in CHUNKS) >= PAIRS
    assert {case for case, _ in CHUNKS} == set(CASES)


def test_the_published_calibration_is_found_out():
    """Its groups are cut out of a shuffled table: one record moves all of them, as its receipt says."""
    case = replace(
        CASES["TukeyRegression"],
        fit=lambda cells: fit_estimator(
            TukeyRegression(20, 1e-2, calibration="paper", n_jobs=1, random_state=1), cells
        ),
    )
    rng = np.random.default_rng(0)
    table = make_table(rng, 200, 2, gaps=False)
    failed = set()
    for kind in KINDS:
        longer, added = neighbour(rng, table, kind)
        one = run(case, table, 1)
        failed |= compare(one, run(case, longer, 2, one.recording, added))[0]
    assert "statistics" in failed


# ---- the checks themselves


def change_of(step, before, after, rows=1):
    return changed(Call(step, before), Call(step, after), rows)


def test_how_far_a_sum_moved():
    step = Gaussian("s", 25, 9.0, 2)
    assert change_of(step, np.array([7, 1]), np.array([10, 5])) == 1
    assert change_of(step, np.array([7, 1]), np.array([10, 4])) < 1
    assert change_of(step, np.array([7, 1]), np.array([11, 5])) > 1
    assert change_of(step, np.array([7, 1]), np.array([7])) > 1


def test_one_step_more_than_declared_is_seen_however_large():
    """float64 cannot tell the squares apart."""
    step = Gaussian("s", 2**124, 9.0, 1)
    assert change_of(step, np.array([0]), np.array([2**62])) == 1
    assert change_of(step, np.array([0]), np.array([2**62 + 1])) > 1
    assert change_of(step, np.array([0], object), np.array([2**63], object), rows=2) == 1
    assert change_of(step, np.array([0], object), np.array([2**63 + 1], object), rows=2) > 1


def test_how_far_a_count_and_scores_moved():
    assert change_of(Laplace("n", 1, 2.0), 7, 8) == 1
    assert change_of(Laplace("n", 1, 2.0), 7, 5) == 2
    step = Pick("p", 5, 2.0)
    assert change_of(step, np.array([1, 2, 3]), np.array([4, 2, 1])) == 1  # +3 and −2
    assert change_of(step, np.array([1, 2, 3]), np.array([5, 2, 1])) > 1
    assert change_of(step, np.array([1, 2, 3]), np.array([101, 102, 103])) == 0  # all alike: no pick changes


def test_how_far_moments_moved():
    """A full row along an axis, or between two, leaves room for half of the gradient's square; a short one for all."""
    step = GaussianMoments("m", 100, 3.0, 2, products=512)
    none = np.zeros((2, 2), np.int64), np.zeros(2, np.int64)
    assert change_of(step, none, (np.outer([10, 0], [10, 0]), np.array([70, 0]))) == pytest.approx(0.99**0.5, rel=1e-3)
    assert change_of(step, none, (np.outer([10, 0], [10, 0]), np.array([80, 0]))) > 1
    assert change_of(step, none, (np.outer([7, 7], [7, 7]), np.array([50, 50]))) == pytest.approx(0.98**0.5, rel=1e-3)
    assert change_of(step, none, (np.outer([7, 7], [7, -7]), np.array([60, 60]))) > 1
    assert change_of(step, none, (none[0], np.array([0, 100]))) == 1
    assert change_of(step, none, (none[0], np.array([1, 100]))) > 1
    assert change_of(step, none, (np.zeros((3, 3), np.int64), none[1])) > 1


def test_how_far_a_density_moved():
    """Stretches that are cut differently, with the same density: nothing moved."""
    step = Pick("p", 100, 10.0)
    whole = np.array([0, 0]), [(0, 10), (10, 30)]
    cut = np.array([0, round(10 * np.log(10 / 20)), round(10 * np.log(10 / 20))]), [(0, 10), (10, 20), (20, 30)]
    assert change_of(step, whole, cut) < 0.02
    raised = np.array([0, 51]), [(0, 10), (10, 30)]
    assert change_of(step, whole, raised) == pytest.approx(0.51)
    assert change_of(step, whole, (np.array([-50, 51]), whole[1])) > 1
    assert change_of(step, whole, (whole[0], [(0, 10), (10, 20)])) > 1  # not all can come out
    assert change_of(step, (whole[0], [(0, 5), (10, 30)]), (whole[0], [(0, 5), (10, 30)])) > 1


def test_how_far_depth_moved():
    step = ProposeTestRelease("t", 1.0, 1.0, 2, 1e-9, 0.1)
    rate = 2**36
    boxes = [[(0, 100)], [(10, 90)], [(20, 80)]]
    scores = np.array([0, 0, rate])
    same = (3, scores, 1.0, boxes)
    assert change_of(step, same, (4, scores, 1.0, boxes)) == 1
    assert change_of(step, same, (5, scores, 1.0, boxes)) > 1
    shifted = [[(5, 95)], [(10, 85)], [(25, 80)]]
    assert change_of(step, same, (3, scores, 1.0, shifted)) <= 1
    far = [[(0, 60)], [(10, 55)], [(20, 50)]]  # two deeper at once
    assert change_of(step, same, (3, scores, 1.0, far)) > 1
    assert change_of(step, same, (3, np.array([0, 0, 3 * rate]), 1.0, boxes)) > 1


def call(step, statistic, *draws, returned):
    return Call(step, statistic, list(draws), returned)


PAIR = np.array([1, 2])
COUNT, SUM, CHOICE = Laplace("n", 1, 2.0), Gaussian("g", 1, 2.0, 2), Pick("p", 1, 2.0)
MOMENTS = GaussianMoments("m", 4, 3.0, 2, products=400)
TEST = ProposeTestRelease("t", 1.0, 1.0, 2, 1e-9, 0.1)
BOXES = (3, PAIR, 5.0, [[(0, 9)], [(2, 7)]])
STRETCHES = (np.array([4, 5]), [(0, 10), (10, 30)])
SUMS = np.array([[1, 2], [2, 3]]), np.array([8, 9])
NOISY = np.array([[5.0, 7.0], [7.0, 6.0]]), np.array([4.0, 2.0])


def drawn(beside=MOMENTS.off_scale, diagonal=MOMENTS.diagonal_scale, gradient=3.0, given=(8, 9)):
    """What moments ask of the noise."""
    return (
        Draw("gaussian", beside, np.array([2]), np.array([7])),
        Draw("gaussian", diagonal, np.array([1, 3]), np.array([5, 6])),
        Draw("gaussian", gradient, np.array(given), np.array([4, 2])),
    )


@pytest.mark.parametrize(
    ("made", "right"),
    [
        (call(COUNT, 7, Draw("laplace", 2.0, 7, 9), returned=9), True),
        (call(COUNT, 7, Draw("laplace", 0.5, 7, 9), returned=9), False),
        (call(COUNT, 7, Draw("laplace", 2.0, 8, 9), returned=9), False),
        (call(COUNT, 7, Draw("laplace", 2.0, 7, 9), returned=8), False),
        (call(COUNT, 7, returned=7), False),
        (call(SUM, PAIR, Draw("gaussian", 2.0, PAIR, PAIR + 3), returned=PAIR + 3), True),
        (call(SUM, PAIR, Draw("gaussian", 2.0, PAIR, PAIR + 3), returned=PAIR + 2), False),
        (call(replace(SUM, coordinates=3), PAIR, Draw("gaussian", 2.0, PAIR, PAIR), returned=PAIR), False),
        (call(CHOICE, PAIR, Draw("gaussian", 2.0, PAIR, 1), returned=1), False),
        (call(CHOICE, PAIR, Draw("pick", 2.0, PAIR, 1), returned=1), True),
        (call(MOMENTS, SUMS, *drawn(), returned=NOISY), True),
        (call(MOMENTS, SUMS, *drawn(), returned=(NOISY[0] + np.array([[0, 0], [1, 0]]), NOISY[1])), False),
        (call(MOMENTS, SUMS, *drawn(), returned=(NOISY[0], NOISY[1] + 1)), False),
        (call(MOMENTS, SUMS, *drawn(given=(8, 8)), returned=NOISY), False),
        (call(MOMENTS, SUMS, *drawn(diagonal=3.0), returned=NOISY), False),
        (call(MOMENTS, SUMS, *drawn(beside=3.0), returned=NOISY), False),
        (call(MOMENTS, SUMS, *drawn()[:2], returned=NOISY), False),
        (call(TEST, BOXES, Draw("laplace", 1.0, 3, 1), returned=None), True),
        (call(TEST, BOXES, Draw("laplace", 1.0, 3, 9), returned=None), False),
        (
            call(
                TEST, BOXES, Draw("laplace", 1.0, 3, 9), Draw("pick", 5.0, PAIR, 1), Draw("uniform", 0.0, (2, 7), 4),
                returned=[4],
            ),
            True,
        ),
        (
            call(
                TEST, BOXES, Draw("laplace", 1.0, 3, 9), Draw("pick", 5.0, PAIR, 1), Draw("uniform", 0.0, (0, 9), 4),
                returned=[4],
            ),
            False,
        ),
        (
            call(
                CHOICE, STRETCHES, Draw("pick", 2.0, STRETCHES[0], 1), Draw("uniform", 0.0, (10, 30), 12), returned=12
            ),
            True,
        ),
        (
            call(
                CHOICE, STRETCHES, Draw("pick", 2.0, STRETCHES[0], 1), Draw("uniform", 0.0, (10, 20), 12), returned=12
            ),
            False,
        ),
    ],
)  # fmt: skip
def test_what_a_step_asks_of_the_noise(made, right):
    assert (wrong_noise(made) is None) == right


def test_a_receipt_that_lists_less_or_covers_less():
    budget = Budget(1.0, 1e-6)
    mu_squared = float(adaptive_budget(budget))
    fine = (Gaussian.costing("a", mu_squared * 0.6, 2**28), Gaussian.costing("b", mu_squared * 0.399, 2**28))
    receipt = Receipt(fine, budget, False, composition=ADAPTIVE)
    assert wrong_receipt(receipt, fine) is None
    assert wrong_receipt(receipt, fine[:1]) is not None
    more = (*fine, Gaussian.costing("c", mu_squared * 0.01, 2**28))
    assert "more than was asked" in wrong_receipt(Receipt(more, budget, False, composition=ADAPTIVE), more)
    pure = (Pick("p", 1, 2.0), Laplace("l", 1, 2.0))
    assert wrong_receipt(Receipt(pure, Budget(1.0), False), pure) is None
    assert "private" in wrong_receipt(Receipt(pure, Budget(1.0), True), pure)
    assert "unit" in wrong_receipt(receipt, fine, rows=2)


@pytest.mark.parametrize(
    "made",
    [
        [Pick("p", 1, 1.0)] * 15,  # beside a delta
        [Laplace("n", 1, 0.1), ProposeTestRelease("t", 10.0, 0.1, 2, 1e-9, 1e-6)],
        [Pick("p", 1, 0.2), Gaussian.costing("a", 0.01, 2**28)],
    ],
    ids=["picks", "a count before a draw", "a pick before sums"],
)
def test_a_total_that_forgets_steps(monkeypatch, made):
    honest = Receipt(tuple(made), Budget(60.0, 1e-6), False)
    assert wrong_receipt(honest, made) is None
    forgetful = replace(honest, budget=Budget(0.35, 1e-6))
    monkeypatch.setattr(Receipt, "_total", lambda self: (0.35, 1e-6))
    assert wrong_receipt(forgetful, made) is not None


def test_the_least_cost_of_a_composition():
    """Against all outcomes of three picks and a count, one by one."""
    size, lean, epsilon = 0.8, 0.7, 1.1
    high = lean * size
    q = (1 - np.exp(high - size)) / (np.exp(high) - np.exp(high - size))
    p = q * np.exp(high)
    assert np.log((1 - p) / (1 - q)) == pytest.approx(high - size)  # both outcomes have the stated loss
    r = 1 / (1 + np.exp(-0.5))
    total = 0.0
    for outcome in product([0, 1], repeat=4):
        one = np.prod([p if o else 1 - p for o in outcome[:3]]) * (r if outcome[3] else 1 - r)
        two = np.prod([q if o else 1 - q for o in outcome[:3]]) * (1 - r if outcome[3] else r)
        total += max(one - np.exp(epsilon) * two, 0)
    assert least_delta(epsilon, Counter({size: 3}), Counter({0.5: 1}), 0.0, lean) == pytest.approx(total, rel=1e-9)


def test_delta_between_draws_is_exact():
    """A box, and the same box moved by a tenth of its width: a tenth of the draws is told apart, if the test passes."""
    step = ProposeTestRelease("t", 1.0, 1.0, 2, 1e-9, 0.2)
    one, two = (50, np.array([0]), 1.0, [[(0, 100)]]), (50, np.array([0]), 1.0, [[(10, 110)]])
    assert change_of(step, one, two) == pytest.approx(0.5)
    assert change_of(replace(step, delta=0.05), one, two) == pytest.approx(2)
    failing = [(-40, *statistic[1:]) for statistic in (one, two)]
    assert change_of(step, *failing) < 1e-9


def test_the_second_opinion_on_the_curve():
    """Against the classical value: at ε = 1, μ = 1 has δ = Φ(−1/2) − e·Φ(−3/2)."""
    assert gaussian_delta(1.0, 1.0) == pytest.approx(0.30853753872598694 - np.e * 0.06680720126885809, rel=1e-12)


def test_draws_are_coupled_record_by_record():
    drawn, fresh = np.array([5, 6, 7]), np.array([90, 91, 92, 93])
    np.testing.assert_array_equal(Added(1, 1).couple(drawn, 4, fresh), [5, 91, 6, 7])
    np.testing.assert_array_equal(Added(1, 1, removed=True).couple(drawn, 2, fresh[:2]), [5, 7])
    np.testing.assert_array_equal(Added(3, 2).couple(drawn, 4, fresh, first=0), [90, 5, 6, 7])
    np.testing.assert_array_equal(Added(3, 2, removed=True).couple(drawn, 1, fresh[:1], first=1), [5])
    assert Added(1, 1).couple(drawn, 9, np.arange(9)) is None
    assert Added(1, 1).couple(drawn, 2, np.arange(2)) is None


def test_a_fit_replayed_on_its_own_table_is_the_same():
    table = make_table(np.random.default_rng(1), 200, 3)
    one = run(CASES["PrivateLinearRegression"], table, 1)
    two = run(CASES["PrivateLinearRegression"], table, 99, one.recording)
    failed, worst, _ = compare(one, two)
    assert not failed
    assert max(worst.values()) < 1e-9
    assert one.released != run(CASES["PrivateLinearRegression"], table, 99).released


def test_every_bit_of_a_release_is_compared():
    assert frozen(0.0) != frozen(-0.0)
    assert frozen(np.nextafter(1, 2)) != frozen(1.0)
    assert frozen(np.array([1.0])) != frozen(np.array([1]))
    assert frozen({"a": [1.0]}) != frozen({"a": [2.0]})
    assert frozen(DPKendall(2)) != frozen(DPKendall(3))
    given = {"a": [1.5, np.array([2.0, np.nan])], "b": {"c": -0.25, "d": "text"}}
    assert numbers_in(frozen(given)) == [1.5, 2.0, -0.25]


def test_neighbours_are_what_they_say():
    rng = np.random.default_rng(3)
    table = make_table(rng, 50, 3, gaps=False)
    for kind in KINDS:
        longer, added = neighbour(rng, table, kind, [7.25, -3.0])
        np.testing.assert_array_equal(np.delete(longer.numbers, added.row, axis=0), table.numbers)
        new = longer.numbers[added.row]
        assert added.most == 1
        assert added.before(Schema.numbers(3), None) == added.row  # all are complete
        if kind == "copy":
            assert (table.numbers == new).all(axis=1).any()
        if kind == "new maximum":
            assert (np.abs(new) > np.abs(table.numbers).max(axis=0)).all()
        if kind == "huge":
            assert (np.abs(new) == 1e308).all()
        if kind == "not a number":
            assert not np.isfinite(new).all()
        if kind == "released":
            assert np.isin(new, [7.25, -3.0]).any()
            assert np.isclose(np.abs(new[:, None] - [7.25, -3.0]).min(axis=1), 0, atol=1e-12).all()
        if kind == "ties":
            assert (table.numbers == new).any(axis=0).all()


# ---- on any other table, not only on a neighbour


# Draws for people are coupled between neighbours only, and a list without rows has no width.
_ANY_TABLE = [n for n in NUMBERS if n.startswith("Private") and not any(w in n for w in ("people", "Dask", "lists"))]


@pytest.mark.parametrize("case", _ANY_TABLE)
def test_outputs_alone_decide(case):
    """Given the outputs, steps and releases are the same on *any* table: no parameter and no branch sees a record."""
    rng = np.random.default_rng(5)
    table = CASES[case].table(rng)
    width, levels = table.numbers.shape[1], table.levels is not None
    one = run(CASES[case], table, 1)
    wild = rng.choice([v for v in HOSTILE if np.isfinite(v)], size=(2 * len(table) + 1, width))
    for numbers in (np.zeros((0, width)), np.ones((len(table) // 2, width)), wild, -wild[: len(table) + 1]):
        cells = Cells(numbers, ("south",) * len(numbers) if levels else None)
        two = run(CASES[case], cells, 2, one.recording)
        failed, _, texts = compare(one, two)
        assert failed <= {"statistics"}, texts  # which are those of another table


READING = ("count all records", "kinds of the columns", "counts of levels", "common values")  # of all records


def test_a_record_that_is_left_out_moves_nothing():
    rng = np.random.default_rng(6)
    for name in ("PrivateLinearRegression", "DPKendall", "BoostedAdaSSP", "SubLasso"):
        table = CASES[name].table(rng)
        one = run(CASES[name], table, 1)
        for bad in (np.nan, np.inf, -np.inf):
            cells = table.insert(len(table) // 2, Cells(np.full((1, table.numbers.shape[1]), bad)))
            failed, worst, texts = compare(one, run(CASES[name], cells, 2, one.recording))
            assert not failed, texts
            in_the_fit = [part for step, part in worst.items() if step not in READING]
            assert max(in_the_fit) < 1e-9


def test_tapes_of_private_noise_are_not_needed():
    """A recording stands in for the noise of random_state=None too: nothing depends on the seed that was given."""
    table = make_table(np.random.default_rng(7), 100, 2, gaps=False)
    models = []
    for state in (None, 3):
        model = PrivateLinearRegression(3, 1e-3, random_state=state)
        with Recording(4).running():
            model.fit(table.numbers[:, :-1], table.numbers[:, -1])
        models.append(model.coef_)
    np.testing.assert_array_equal(*models)


def test_fractions_are_not_rounded_in_a_cost():
    """A cost just above what is declared is above 1, though the quotient rounds to 1."""
    step = Gaussian("s", 10**30, 9.0, 1)
    part = change_of(step, np.array([0], object), np.array([10**15 + 1], object))
    assert part > 1
    assert Fraction(10**15 + 1, 10**15) > 1
