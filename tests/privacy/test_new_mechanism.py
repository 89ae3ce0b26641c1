"""A new kind of event and a new purpose are two entries: everything that shows events then knows them."""

import json
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO

import numpy as np
import pytest
from dp_accounting import dp_event
from rich.console import Console

from privreg import Ledger
from privreg.cli import show
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget, cost
from privreg.privacy.events import Event, Gaussian, Laplace
from privreg.privacy.ledger.ledger import entered
from privreg.privacy.ledger.request import Request, amount
from privreg.privacy.noise import SeededNoise
from privreg.privacy.purposes import PURPOSES, Purpose
from privreg.privacy.receipt import ADAPTIVE, Receipt
from privreg.report.model import Context, report_page
from privreg.results.release import Coefficient, Release

BUDGET = Budget(1.0)


@pytest.fixture
def toy(monkeypatch):
    """An event that knows itself, registered for one test."""
    monkeypatch.setattr(Event, "KINDS", dict(Event.KINDS))
    monkeypatch.setitem(PURPOSES, "weather", Purpose("Weather", "whether it rained"))

    @dataclass(frozen=True)
    class Toy(Event):
        mechanism = "toy"
        description = "a noise that was made up for a test"
        weight: int
        scale: float

        @property
        def pure(self):
            return self.weight / Fraction(self.scale)

    return Toy("rain in column 1", 1, 4.0, purpose="weather", column=1)


@pytest.fixture
def receipt(toy):
    account = PlannedAccount([toy], BUDGET, SeededNoise(np.random.default_rng(1)))
    account.laplace(toy, 7)
    return account.receipt()


@pytest.fixture
def release(receipt):
    intercept = Coefficient("(intercept)", 1.0)
    return Release("a method", "y", ["sun", "rain gauge"], [], intercept, None, None, [], [], receipt)


def test_the_accountant_adds_it(toy):
    assert cost([toy], 0.0) == 0.25
    assert cost([toy, Laplace("l", 1, 4.0), toy], 0.0) == 0.75
    assert toy.rho == Fraction(1, 32)
    # Beside a Gaussian it is added to the Gaussian's own cost, as any ε-DP event is.
    gaussian = Gaussian.costing("g", 0.04, 2**28)
    assert cost([toy, gaussian], 1e-6) == pytest.approx(0.25 + cost([gaussian], 1e-6))


def test_the_receipt_shows_it_and_comes_back(toy, receipt):
    assert receipt.steps == (toy,)
    assert receipt.epsilon == 0.25
    assert "rain in column 1  toy        scale 4  ε = 0.25, ρ = 0.03125" in str(receipt)
    record = json.loads(json.dumps(receipt.to_dict()))
    assert record["steps"] == [
        {
            "name": "rain in column 1",
            "purpose": "weather",
            "column": 1,
            "mechanism": "toy",
            "parameters": {"weight": 1, "scale": 4.0},
            "cost": {"epsilon": 0.25, "rho": 0.03125},
        }
    ]
    assert Receipt.from_dict(record) == receipt


def test_dp_accounting_gets_it(receipt):
    assert receipt.to_dp_event() == dp_event.ComposedDpEvent([dp_event.DiscreteLaplaceDpEvent(0.25, 1)])


def test_a_ledger_keeps_it(receipt, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", "3", "0")
    with entered(ledger, "d", Request(amount("1", "epsilon"), amount("0", "delta"), "toy")) as entry:
        entry.receipt = receipt
    assert Receipt.from_dict(ledger.history("d")[0].receipt) == receipt


def test_the_page_shows_it(release):
    page = report_page(release, Context())
    for text in ("Weather", "whether it rained", "rain in rain gauge", "a noise that was made up for a test"):
        assert text in page


def test_the_terminal_shows_it(receipt):
    out = Console(width=120, record=True, file=StringIO())
    show.show_receipt(out, receipt)
    assert "Weather: whether it rained" in out.export_text()


def test_a_purpose_that_nobody_registered_shows_as_other(receipt, monkeypatch):
    monkeypatch.delitem(PURPOSES, "weather")
    out = Console(width=120, record=True, file=StringIO())
    show.show_receipt(out, receipt)
    assert "Other: further steps" in out.export_text()


def test_the_test_leaves_no_trace():
    assert "toy" not in Event.KINDS
    assert "weather" not in PURPOSES


def test_a_mechanism_is_registered_once(monkeypatch):
    monkeypatch.setattr(Event, "KINDS", dict(Event.KINDS))
    with pytest.raises(TypeError, match="laplace"):
        type("Again", (Event,), {"mechanism": "laplace"})


def test_an_event_without_a_cost_has_no_total(monkeypatch):
    monkeypatch.setattr(Event, "KINDS", dict(Event.KINDS))
    free = type("Free", (Event,), {"mechanism": "free"})("for nothing")
    assert cost([free], 0.5) == cost([free, Laplace("l", 1, 1.0)], 0.5) == float("inf")
    assert Receipt((free,), BUDGET, True, composition=ADAPTIVE).epsilon == float("inf")
    assert isinstance(free.to_dp_event(), dp_event.UnsupportedDpEvent)
