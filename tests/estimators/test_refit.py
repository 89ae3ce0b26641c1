"""Fits of an object that was fitted before: nothing of the old one counts, or goes before the new one is charged."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import cross_val_score

from privreg import (
    BoostedAdaSSP,
    BudgetRefusedError,
    DPKendall,
    Ledger,
    LedgerError,
    PrivateLinearRegression,
    SubLasso,
    TukeyRegression,
)
from privreg.paper import make_method

RNG = np.random.default_rng(7)
FRAME = pd.DataFrame(RNG.normal(size=(400, 3)), columns=["a", "b", "c"])
Y = FRAME.to_numpy() @ [3.0, -2.0, 0.0] + RNG.normal(size=400)

ESTIMATORS = {
    "PrivateLinearRegression": lambda **o: PrivateLinearRegression(1.0, 1e-6, **o),
    "TukeyRegression": lambda **o: TukeyRegression(1.0, 1e-6, **o),
    "BoostedAdaSSP": lambda **o: BoostedAdaSSP(1.0, 1e-6, rounds=3, **o),
    "DPKendall": lambda **o: DPKendall(2, 1.0, **o),
    "SubLasso": lambda **o: SubLasso(2, 1.0, **o),
    "K-BAS": lambda **o: make_method("K-BAS", 2, 1.0, 1e-6, **o),
    "L-Tukey": lambda **o: make_method("L-Tukey", 2, 1.0, 1e-6, calibration="strict", **o),
}


@pytest.fixture(params=ESTIMATORS, ids=list(ESTIMATORS))
def make(request):
    return ESTIMATORS[request.param]


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", "3", "1e-5")
    return ledger


def state(model):
    use = model.predict if hasattr(model, "predict") else model.transform
    return str(use(FRAME).tolist()), str(model.receipt_), list(model.feature_names_in_), model.n_features_in_


@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (pd.concat([FRAME, FRAME[["a"]]], axis=1), Y),
        (FRAME, np.array(["text"] * 400)),
        (FRAME, Y[:10]),
        (pd.DataFrame({1: Y, "a": Y}), Y),  # names of two kinds, which scikit-learn refuses
        (np.zeros((4, 3, 2)), Y),
    ],
    ids=["two columns of one name", "text as target", "other length", "mixed names", "three dimensions"],
)
def test_a_refit_that_is_refused_leaves_the_model_as_it_was(make, ledger, X, y):
    model = make(ledger=ledger, dataset="d").fit(FRAME, Y)
    before, entries = state(model), ledger.status("d")[0].entries
    with pytest.raises((ValueError, TypeError)):
        model.fit(X, y)
    assert state(model) == before
    assert ledger.status("d")[0].entries == entries


@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
def test_a_refit_that_the_ledger_refuses_leaves_the_model_as_it_was(make, ledger):
    model = make(ledger=ledger, dataset="d").fit(FRAME, Y)
    before = state(model)
    model.set_params(epsilon=9.0)
    with pytest.raises(BudgetRefusedError):
        model.fit(FRAME, Y)
    assert state(model) == before


def test_a_refit_that_dies_after_it_was_charged_is_not_fitted(make, ledger, monkeypatch):
    model = make(ledger=ledger, dataset="d")
    monkeypatch.setattr(model, "progress", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME, Y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "ranking_")
    assert len(model.receipt_.steps) == 1
    assert ledger.history("d")[0].state == "failed"


@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
def test_every_private_estimator_is_charged_once_and_so_is_its_clone(make, ledger):
    model = make(ledger=ledger, dataset="d")
    assert clone(model).get_params()["ledger"] == ledger
    clone(model).fit(FRAME, Y)
    (entry,) = ledger.history("d")
    assert (entry.what, str(entry.epsilon), entry.state) == (f"fit {type(model).__name__}", "1.0", "finished")
    assert entry.receipt["epsilon"] <= 1


def test_every_fold_of_a_cross_validation_is_charged(ledger):
    model = PrivateLinearRegression(0.5, 1e-6, ledger=ledger, dataset="d")
    cross_val_score(model, FRAME, Y, cv=3)
    assert [str(e.epsilon) for e in ledger.history("d")] == ["0.5"] * 3


def test_ledger_data_set_and_seed_must_go_together(make, ledger):
    for options, message in [
        ({"ledger": ledger}, "go together"),
        ({"dataset": "d"}, "go together"),
        ({"ledger": "file", "dataset": "d"}, "must be a privreg.Ledger"),
        ({"ledger": ledger, "dataset": "d", "random_state": 0}, "not private"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**options).fit(FRAME, Y)
    assert ledger.history() == []


def test_what_protects_no_record_is_not_entered(ledger):
    for name in ("Tukey", "K-Tukey", "L-Tukey"):
        with pytest.raises(ValueError, match='use calibration="strict"'):
            make_method(name, 2, 1.0, 1e-6, ledger=ledger, dataset="d").fit(FRAME, Y)
    with pytest.raises(ValueError, match="not private"):
        make_method("NonDP", ledger=ledger, dataset="d")
    assert ledger.history() == []


def test_a_column_vector_is_warned_of_once(make):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        make().fit(FRAME, Y[:, None])
    assert sum(w.category is DataConversionWarning for w in told) == 1


IDS = np.arange(400) // 2


@pytest.mark.parametrize(
    "named",
    [
        lambda ids, name: pd.Series(ids, name=name),
        lambda ids, name: pd.DataFrame({name: ids}),
        lambda ids, name: pd.Index(ids, name=name),
    ],
    ids=["series", "frame", "index"],
)
def test_the_unit_is_decided_anew_at_every_fit(named, ledger):
    """People named by another column, or by nothing, are another unit, also for an object that was fitted before."""
    model = PrivateLinearRegression(0.1, 1e-7, ledger=ledger, dataset="d")
    model.fit(FRAME, Y, groups=named(IDS, "person"))
    assert ledger.status("d")[0].unit == "person by person"
    for other in (IDS, list(IDS), named(IDS, "household"), None):
        with pytest.raises(LedgerError, match="as its first entry decided"):
            model.fit(FRAME, Y, groups=other)
    model.fit(FRAME, Y, groups=named(IDS, "person"))
    assert len(ledger.history("d")) == 2


def test_a_fit_for_records_after_one_for_people_says_so(ledger, tmp_path):
    model = PrivateLinearRegression(1.0, 1e-6, rows_per_person=2).fit(FRAME, Y, groups=IDS)
    assert model.receipt_.unit == "one person, at most 2 rows"
    model.fit(FRAME, Y)
    assert model.receipt_.unit == "one record"
    assert model.receipt_.rows == 1
