"""The audit watches counts above a threshold: the noise they ask for, what moved, and what a receipt must cost."""

from dataclasses import replace

import numpy as np
import pytest

from audit.changes import changed
from audit.counts import shown_alone, wrong_counts
from audit.receipts import own_extra, wrong_receipt
from audit.recording import Added, Call, Diverged, Draw, Recording, ShownAlone
from audit.replay import Pair, too_often
from audit.requested_noise import wrong_noise
from privreg.data.cells import CLASSES
from privreg.mechanisms.kinds import GRID, plan_kinds
from privreg.privacy.account import Levels
from privreg.privacy.accountant import Budget, adaptive_cost
from privreg.privacy.events import LevelCounts
from privreg.privacy.receipt import ADAPTIVE, Receipt

STEP = LevelCounts("levels", 2, 1, 16.0, 2, 40, 8)
VECTOR = (("t", 0), ("u", 1))  # one column of text, and one with a declared level


def ints(*values):
    return np.array(values, np.int64)


def call(
    counts=(80, 8, 16), declared=(5,), values="abc", given=(80, 16, 5), result=(81, 20, 6),
    out=((0,), (81,), (6,)), scale=16.0, step=STEP, vector=VECTOR,
):  # fmt: skip
    statistic = ints(*counts), ints(*declared), tuple(("t", value) for value in values), vector
    draws = [Draw("gaussian", scale, ints(*given), ints(*result))]
    levels = Levels(*(ints(*part) for part in out))
    return Call(step, statistic, draws, levels, levels)


def test_what_the_step_asks_of_the_noise():
    assert wrong_noise(call()) is None
    for wrong in (
        {"given": (80, 8, 16, 5), "result": (81, 8, 20, 6)},  # noise on a value that is no candidate
        {"out": ((0, 2), (81, 20), (6,))},  # a value that did not pass
        {"out": ((), (), (6,))},
        {"out": ((0,), (80,), (6,))},  # the true count
        {"out": ((0,), (81,), (5,))},
        {"scale": 15.0},
    ):
        assert wrong_noise(call(**wrong)) is not None
    nothing = Levels(ints(), ints(), ints())
    assert wrong_noise(Call(STEP, (ints(), ints(), (), ()), [], nothing)) is not None


@pytest.mark.parametrize(
    ("after", "part"),
    [
        (((80, 8, 16), (5,)), 0.0),
        (((88, 8, 16), (13,)), 1.0),
        (((80, 8, 16, 16), (13,), "abcd"), 1.0),  # a new candidate: there was one record less than it needs
        (((80, 8), (5,), "ab"), 0.5**0.5),  # one that is gone
        (((16, 80, 8), (5,), "cab"), 0.0),  # in another order
    ],
)
def test_what_one_record_may_change(after, part):
    assert changed(call(), call(*after)) == pytest.approx(part)
    assert list(wrong_counts(call(), call(*after), 1, Added())) == []


def test_more_than_one_record_may_change():
    for after in (((96, 8, 16), (5,)), ((88, 16, 24), (5,)), ((80, 8, 16), (5, 8)), ((80, 8, 16, 32), (5,), "abcd")):
        assert changed(call(), call(*after)) > 1
    two = replace(STEP, rows=2, threshold=48)
    for after in (((96, 8, 16), (5,)), ((80, 8, 16, 24), (21,), "abcd"), ((80, 8, 16, 16, 16), (5,), "abcde")):
        assert changed(call(step=two), call(*after, step=two), 2) <= 1
        assert not list(wrong_counts(call(step=two), call(*after, step=two), 2, Added()))
    assert changed(call(step=two), call((104, 8, 16), (13,), step=two), 2) > 1


def test_what_counts_by_column_must_keep_to():
    """A vector may be short enough as a whole, and one of its columns move too far."""
    moved = call((88, 8, 24), (5,))  # two values of one column, and none of the other
    assert changed(call(), moved) == pytest.approx(1.0)
    assert "one column moved by 2 records" in next(wrong_counts(call(), moved, 1, Added()))
    added = Added(texts=frozenset({("t", "b")}))
    assert "no new record has" in next(wrong_counts(call(), call((88, 8, 16)), 1, added))
    assert list(wrong_counts(call(), call((80, 16, 16)), 1, added)) == []

    def told(step, rows=1, vector=VECTOR):
        one = call(step=step, vector=vector)
        return " ".join(wrong_counts(one, one, rows, Added()))

    assert "2 columns, and says 1" in told(replace(STEP, columns=1))
    assert "for 1 records, where a unit may have 2" in told(STEP, rows=2)
    assert "reaches without noise" in told(replace(STEP, threshold=15))
    assert "other columns" in " ".join(wrong_counts(call(), call(vector=(*VECTOR, ("w", 0))), 1, Added()))


def test_one_record_moves_one_count_of_kinds_in_each_column():
    step = plan_kinds(1.0, 2)
    before, once, twice = np.zeros((3, 2 * CLASSES), np.int64)
    once[[1, CLASSES + 2]] = GRID
    twice[[1, 2]] = GRID  # as long, and both in one column
    assert list(wrong_counts(Call(step, before), Call(step, once), 1, Added())) == []
    assert "by 2 cells" in next(wrong_counts(Call(step, before), Call(step, twice), 1, Added()))
    assert changed(Call(step, before), Call(step, twice)) == changed(Call(step, before), Call(step, once)) == 1


def test_released_values_are_found_again_by_name():
    first = call(out=((0, 2), (81, 50), (6,)))
    forced = Recording(1)._by_value(first, call((16, 80, 8), (5,), "cab"))
    assert [part.tolist() for part in forced] == [[0, 1], [50, 81], [6]]
    with pytest.raises(ShownAlone):
        Recording(1)._by_value(first, call((80, 8), (5,), "ab"))
    with pytest.raises(Diverged):  # one value counted twice
        Recording(1)._by_value(first, call((80, 8, 16), (5,), "aca"))


def test_values_that_only_one_table_shows():
    shows = call((80, 8, 16, 16), (5,), "abcd", out=((0, 3), (81, 44), (6,)))
    assert shown_alone(call(), shows)
    assert not shown_alone(call(values="abd"), shows)
    assert not shown_alone(call(), call())
    pairs = [Pair("c", "k", set(), {}, [], number < 3, 0.02) for number in range(100)]
    assert too_often(pairs) == []  # three, where two are to be expected
    assert "shown 3 times" in too_often([replace(pair, chance=1e-6) for pair in pairs])[0]
    assert too_often([replace(pair, alone=False) for pair in pairs]) == []


def test_a_receipt_that_forgets_the_extra_delta(monkeypatch):
    step = LevelCounts.costing("levels", 0.02, 3, 1, 2, 5e-7, 2**28)
    assert 0.9 * float(step.extra_delta) < own_extra(step, 1) <= float(step.extra_delta)
    honest = Receipt((step,), Budget(1.0, 1e-6), False, composition=ADAPTIVE)
    assert wrong_receipt(honest, [step]) is None
    forgetful = adaptive_cost(step.mu_squared, 1e-6)  # at all of δ
    monkeypatch.setattr(Receipt, "_own_total", lambda self: (forgetful, 1e-6))
    assert wrong_receipt(honest, [step]) is not None


def test_a_receipt_of_two_parts():
    """Reading first, then a plan: each part must cover its steps, and the total both."""
    reading = LevelCounts.costing("levels", 0.02, 3, 2, 2, 5e-7, 2**28)
    first = Receipt((reading,), Budget(1.0, 1e-6), False, "one person, at most 2 rows", 2, ADAPTIVE)
    plan = Receipt((), Budget(9.0, 9e-6), False, "one person, at most 2 rows", 2)
    whole = plan.after(first, Budget(10.0, 1e-5))
    assert wrong_receipt(whole, [reading], rows=2) is None
    cheap = replace(first, own=(replace(reading, threshold=reading.threshold - reading.grid),))
    other = plan.after(cheap, Budget(10.0, 1e-5))
    assert wrong_receipt(other, list(cheap.own), rows=2) is None  # its total tells, and is within the budget
    assert own_extra(cheap.own[0], 2) > own_extra(reading, 2) > own_extra(reading, 1)
