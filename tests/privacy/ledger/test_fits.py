"""Fits and the ledger: each is entered before its noise is drawn, and a mistake costs nothing."""

import json
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ledgers import opened
from privreg import BudgetRefusedError, DPKendall, LedgerError, PrivateLinearRegression, SchemaError
from privreg.paper import make_method
from privreg.privacy.accountant import Budget
from privreg.privacy.ledger.request import running_budget
from privreg.privacy.noise import OpenDPNoise


def table(rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    return X, X @ [1.0, 2.0]


def test_a_fit_is_entered_and_its_receipt_kept(tmp_path):
    ledger = opened(tmp_path, "2", "1e-5")
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people").fit(*table())
    entry = ledger.history()[0]
    assert (entry.state, entry.what, entry.unit) == ("finished", "fit PrivateLinearRegression", "record")
    assert (entry.epsilon, entry.delta) == (Decimal("1.0"), Decimal("0.000001"))
    assert entry.receipt == json.loads(json.dumps(model.receipt_.to_dict()))
    assert model.receipt_.delta <= 9e-7
    assert model.receipt_.epsilon <= 1


class Own(PrivateLinearRegression):
    def _release(self, *_):
        raise AssertionError("it may not be complete yet")


def test_the_fingerprint_of_a_released_model_is_kept(tmp_path):
    ledger = opened(tmp_path, "9", "1e-4")
    for number, kind in enumerate((PrivateLinearRegression, PrivateLinearRegression, Own), 1):
        kind(1.0, 1e-6, ledger=ledger, dataset="people").fit(*table())
        assert ledger.history()[-1].number == number
    DPKendall(1, 1.0, delta=1e-6, ledger=ledger, dataset="people").fit(*table())
    first, second, own, selection = (entry.fingerprint for entry in ledger.history())
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", text) for text in (first, second))
    assert first != second
    assert own is selection is None  # there are no files of these


def test_a_dry_run_raises_for_another_unit_as_a_fit_does(tmp_path):
    ledger = opened(tmp_path, "3", "1e-5")
    X, y = table()
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people")
    assert model.fit(X, y).check(X, y).ledger.admitted
    for act in (model.check, model.fit):
        with pytest.raises(LedgerError, match="protects one record, as its first entry decided"):
            act(X, y, groups=np.arange(len(y)))
    assert not model.set_params(epsilon=2.9).check(X, y).ledger.admitted


@pytest.mark.parametrize("method", ["BAS", "Tukey"])
def test_a_dry_run_names_the_method_and_delta_of_what_is_left(tmp_path, method):
    """What is left is for the default method, whichever is tried."""
    ledger = opened(tmp_path, "3", "1e-5")
    model = make_method(method, epsilon=1.0, delta=1e-6, calibration="strict")
    told = model.set_params(ledger=ledger, dataset="people").check(*table()).sentences()[-1]
    assert told.endswith("Left after that: one more fit by the default method, with up to ε = 2 at δ = 1e-6.")


def test_a_dry_run_refuses_a_target_of_text_as_a_fit_does():
    frame = pd.DataFrame({"a": np.arange(100.0), "y": ["1", "2"] * 50})
    for target in (frame["y"], frame["y"].astype(object), frame["y"].astype("category"), frame["y"].to_numpy()):
        for act in (PrivateLinearRegression().check, PrivateLinearRegression().fit):
            with pytest.raises(SchemaError, match="which is not numeric"):
                act(frame[["a"]], target)
    with pytest.raises(SchemaError, match="the target is text"):
        PrivateLinearRegression().check(frame, "y")


def test_fits_for_people_are_entered_as_such(tmp_path):
    ledger = opened(tmp_path, "2", "1e-5")
    X, y = table()
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people", rows_per_person=2)
    model.fit(X, y, groups=np.arange(len(y)) // 2)
    assert ledger.history()[0].unit == "person"
    mu = sum(s.mu_squared for s in model.receipt_.steps) * 4
    assert mu <= ledger.status()[0].mu_squared


def test_a_refused_fit_looks_at_names_and_types_alone(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "0.5", "1e-6")
    monkeypatch.setattr("privreg.estimators.base.open_table", lambda *_: pytest.fail("the data was looked at"))
    with pytest.raises(BudgetRefusedError):
        PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people").fit(*table())
    assert ledger.history() == []


def test_wrong_input_costs_nothing_but_a_fit_that_dies_has_spent(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "2", "1e-5")
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people")
    X, y = table()
    with pytest.raises(ValueError, match="rows"):
        model.fit(X, y[:-1])
    assert ledger.history() == []

    def die(*_, **__):
        raise MemoryError

    monkeypatch.setattr("privreg.estimators.private_linear.estimator.fit", die)
    with pytest.raises(MemoryError):
        model.fit(X, y)
    assert [e.state for e in ledger.history()] == ["failed"]
    assert ledger.status()[0].sum_epsilon == 1


def test_the_entry_is_on_disk_before_noise_is_drawn(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "2", "1e-5")
    seen = []

    def gaussian(self, values, scale):
        seen.append([e.state for e in ledger.history()])
        return values

    monkeypatch.setattr("privreg.privacy.noise.OpenDPNoise.gaussian", gaussian)
    PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people").fit(*table())
    assert seen
    assert all(states == ["begun"] for states in seen)
    assert [e.state for e in ledger.history()] == ["finished"]


@pytest.mark.parametrize("method", ["K-BAS", "L-Tukey", "BAS", "Tukey"])
def test_every_method_is_entered_before_its_noise(tmp_path, monkeypatch, method):
    ledger = opened(tmp_path, "20", "1e-5")
    seen = []

    def watched(draw):
        def drawing(self, *arguments):
            seen.append([e.state for e in ledger.history()])
            return draw(self, *arguments)

        return drawing

    for draw in ("pick", "laplace", "gaussian"):
        monkeypatch.setattr(f"privreg.privacy.noise.OpenDPNoise.{draw}", watched(getattr(OpenDPNoise, draw)))
    model = make_method(method, k=1, epsilon=9.0, delta=1e-6, calibration="strict")
    model.ledger, model.dataset = ledger, "people"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few records are not enough for Tukey
        model.fit(*table())
    assert seen
    assert all(states == ["begun"] for states in seen)
    assert [e.state for e in ledger.history()] == ["finished"]
    assert model.receipt_.budget == running_budget(Decimal(9), Decimal("1e-6"))


def test_people_named_in_another_way_are_another_unit(tmp_path):
    ledger = opened(tmp_path, "5", "1e-5")
    X, y = table()
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people")
    people = pd.Series(np.arange(len(y)) // 2, name="family")
    model.fit(X, y, groups=people)
    assert ledger.history()[0].unit == "person by family"
    with pytest.raises(
        LedgerError, match=r"protects one person by family, as its first entry decided.*one person by house"
    ):
        clone(model).fit(X, y, groups=people.rename("house"))
    clone(model).fit(X, y, groups=people)
    assert len(ledger.history()) == 2


def test_a_selection_of_very_many_has_no_plan_to_account(tmp_path):
    assert DPKendall(10**12)._mu_squared(Budget(1.0)) is None


def test_parameters_that_do_not_go_together(tmp_path):
    ledger = opened(tmp_path, "2", "1e-5")
    for wrong, match in [
        ({"ledger": ledger}, "ledger and dataset go together"),
        ({"dataset": "people"}, "ledger and dataset go together"),
        ({"ledger": ledger, "dataset": "people", "random_state": 0}, "random_state"),
        ({"ledger": ledger, "dataset": "people", "epsilon": "x"}, "epsilon must be a number"),
        ({"ledger": ledger, "dataset": "people", "delta": 0.0}, "delta must be"),
    ]:
        with pytest.raises(ValueError, match=match):
            PrivateLinearRegression(**wrong).fit(*table())
    assert ledger.history() == []


def test_estimators_with_a_ledger_can_be_cloned(tmp_path):
    ledger = opened(tmp_path, "2", "1e-5")
    model = clone(PrivateLinearRegression(0.5, 1e-6, ledger=ledger, dataset="people"))
    assert model.ledger == ledger
    model.fit(*table())
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("purpose", [b"bytes", ["a"], 3, "\ud800"])
def test_a_purpose_that_a_ledger_cannot_keep_is_refused_before_anything_is_spent(tmp_path, purpose):
    ledger = opened(tmp_path, "2", "1e-5")
    X, y = table()
    with pytest.raises(ValueError, match="purpose must be text"):
        PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people", purpose=purpose).fit(X, y)
    assert ledger.history() == []
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people", purpose="table 3\nof the report")
    assert model.fit(X, y).ledger_entry_ == 1
    assert ledger.history()[0].purpose == "table 3\nof the report"
    assert ledger.history()[0].what == "fit PrivateLinearRegression"
