"""People instead of records: every private estimator protects them, at the price of group privacy."""

import numpy as np
import pandas as pd
import pytest

from ledgers import opened
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    LedgerError,
    PrivateLinearRegression,
    SchemaReader,
    SubLasso,
    TukeyRegression,
)
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.paper import make_method
from privreg.privacy.accountant import Budget, for_each_record
from privreg.privacy.receipt import PLANNED, Receipt

N = 1200
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "c": RNG.normal(size=N)})
Y = 2 * X["a"] - X["b"] + RNG.normal(size=N)
TOWNS = X.assign(town=RNG.choice(["Ayr", "Bath"], N))
PEOPLE = pd.Series(np.arange(N) // 4, name="person")
EPSILON, DELTA = 3.0, 1e-6
ESTIMATORS = {
    "PrivateLinearRegression": PrivateLinearRegression,
    "DPKendall": lambda *b, **o: DPKendall(2, *b, **o),
    "SubLasso": lambda *b, **o: SubLasso(2, *b, **o),
    "Tukey": TukeyRegression,
    "BAS": lambda *b, **o: BoostedAdaSSP(*b, rounds=3, **o),
    "K-Tukey": lambda *b, **o: SelectThenRegress("kendall", "tukey", 2, *b, **o),
    "L-Tukey": lambda *b, **o: SelectThenRegress("sublasso", "tukey", 2, *b, **o),
    "K-BAS": lambda *b, **o: SelectThenRegress("kendall", "adassp", 2, *b, **o),
    "L-BAS": lambda *b, **o: SelectThenRegress("sublasso", "adassp", 2, *b, **o),
    "SchemaReader": SchemaReader,
}
every = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
pytestmark = pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")


@every
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("table", [X, TOWNS], ids=["numbers", "text"])
def test_the_receipt_is_for_people_and_within_the_budget(make, rows, table):
    model = make(EPSILON, DELTA, rows_per_person=rows, random_state=1).fit(table, Y, groups=PEOPLE)
    receipt = model.receipt_
    assert receipt.unit == f"one person, at most {'1 row' if rows == 1 else '3 rows'}"
    assert receipt.rows == rows
    assert 0 < receipt.epsilon <= EPSILON
    assert receipt.delta <= DELTA
    assert receipt.protects_people
    # What is left after reading goes by a plan for each of a person's records.
    *before, own = receipt.parts
    if own.composition == PLANNED and own.own:
        inner = for_each_record(own.budget, rows)
        alone = Receipt(own.own, inner, own.private)  # of one record
        assert alone.epsilon <= inner.epsilon
        assert alone.delta <= inner.delta
        if rows == 3:
            assert inner.epsilon == pytest.approx(own.budget.epsilon / 3, rel=1e-6)
            assert inner.delta < own.budget.delta / 3
    for part in before:
        assert part.rows == rows
    text = str(receipt)
    assert f"for adding or removing {receipt.unit}" in text


@every
def test_without_groups_one_record_is_protected(make):
    receipt = make(EPSILON, DELTA, rows_per_person=3, random_state=1).fit(X, Y).receipt_
    assert (receipt.unit, receipt.rows) == ("one record", 1)


@every
def test_a_ledger_for_people_takes_them(make, tmp_path):
    ledger = opened(tmp_path, "100", "1e-3")
    options = {"rows_per_person": 2, "ledger": ledger, "dataset": "people"}
    model = make(EPSILON, DELTA, **options).fit(TOWNS, Y, groups=PEOPLE)
    (entry,) = ledger.history()
    assert (entry.unit, entry.state) == ("person by person", "finished")
    assert entry.receipt["unit"] == model.receipt_.unit == "one person, at most 2 rows"
    assert model.receipt_.delta <= 0.9 * DELTA  # the ledger keeps a part
    with pytest.raises(LedgerError, match="as its first entry decided"):
        make(EPSILON, DELTA, **options).fit(TOWNS, Y)
    with pytest.raises(LedgerError, match="as its first entry decided"):
        make(EPSILON, DELTA, **options).fit(TOWNS, Y, groups=PEOPLE.rename("household"))
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("name", ["Tukey", "K-Tukey", "L-Tukey"])
def test_the_published_calibration_cannot_protect_people(name):
    """Its unit is one model of a group of records."""
    model = make_method(name, 2, EPSILON, DELTA, random_state=1)
    with pytest.raises(ValueError, match='calibration="paper" protects one model, so it cannot protect people'):
        model.fit(X, Y, groups=PEOPLE)
    assert not hasattr(model, "receipt_")
    model.fit(X, Y)
    assert model.receipt_.unit.startswith("one model in the draw")
    strict = make_method(name, 2, EPSILON, DELTA, calibration="strict", random_state=1).fit(X, Y, groups=PEOPLE)
    assert strict.receipt_.unit == "one person, at most 1 row"


def with_one_more(rows, **values):
    """The table, and so many rows of one further person."""
    more = pd.DataFrame({name: [values.get(name, 1e6)] * rows for name in X})
    table = pd.concat([X, more], ignore_index=True)
    people = np.append(np.arange(N), np.full(rows, N))
    return table, np.append(Y, np.full(rows, -1e6)), people


@every
def test_ten_thousand_rows_of_one_person_count_as_one(make):
    """Keys are drawn for each row, so the noise is the same only if the numbers of rows are."""
    table, y, people = with_one_more(10_000)
    kept = np.append(np.ones(N, bool), np.zeros(10_000, bool))
    many = make(EPSILON, DELTA, random_state=4).fit(table, y, groups=people)
    # The other 9,999 rows are nobody's, so they are left out: what counts is the same.
    nobody = pd.Series(people, dtype="Int64").where(kept | (np.arange(N + 10_000) == N))
    one = make(EPSILON, DELTA, random_state=4).fit(table, y, groups=nobody)
    assert one.receipt_ == many.receipt_
    for name in ("coef_", "ranking_", "schema_"):
        if hasattr(one, name):
            first, second = getattr(one, name), getattr(many, name)
            assert first == second if name == "schema_" else (first == second).all()


def test_values_that_one_person_has_ten_thousand_times_are_not_common():
    """Neither as a level, nor as a kind."""
    town = pd.Series([*RNG.choice(["Ayr", "Bath"], N), *["secret"] * 10_000])
    code = pd.Series([*RNG.normal(size=N).round(3).astype(str), *["text"] * 10_000])
    people = np.append(np.arange(N), np.full(10_000, N))
    frame = pd.DataFrame({"town": town, "code": code})
    for rows in (1, 3):
        schema = SchemaReader(EPSILON, DELTA, rows_per_person=rows, random_state=1).fit(frame, groups=people).schema_
        assert set(schema.columns[0].levels) == {"Ayr", "Bath"}
        assert schema.columns[1].kind == "number"
        assert schema.records == pytest.approx(N, abs=200)
    schema = SchemaReader(EPSILON, DELTA, random_state=1).fit(frame).schema_
    assert schema.columns[0].levels[0] == "secret"


def test_a_level_needs_more_rows_than_a_person_may_have():
    """The threshold grows with the rows of a person; seeds are fixed."""
    town = pd.Series(["Ayr"] * 600 + ["Bath"] * 560 + ["Cork"] * 40)
    people = np.arange(N)

    def threshold(rows):
        reader = SchemaReader(EPSILON, DELTA, rows_per_person=rows, random_state=1)
        receipt = reader.fit(pd.DataFrame({"town": town}), groups=people).receipt_
        event = next(event for event in receipt.steps if event.name == "common values")
        assert event.rows == rows
        return event.threshold / event.grid

    assert threshold(1) < threshold(3) < threshold(10)
    assert threshold(10) > 10


@every
def test_groups_must_fit_the_table(make):
    with pytest.raises(ValueError, match="groups"):
        make(EPSILON, DELTA).fit(X, Y, groups=np.arange(7))
    with pytest.raises(ValueError, match="rows_per_person must be a whole number of at least 1"):
        make(EPSILON, DELTA, rows_per_person=0).fit(X, Y, groups=PEOPLE)


def test_more_rows_per_person_cost_more_noise():
    plans = {}
    for rows in (1, 3):
        model = BoostedAdaSSP(EPSILON, DELTA, rounds=3, rows_per_person=rows, random_state=1)
        plans[rows] = model.fit(X, Y, groups=PEOPLE).receipt_.steps[0].scale
    assert plans[3] > 3 * plans[1]
    assert for_each_record(Budget(EPSILON, DELTA), 1) == Budget(EPSILON, DELTA)
