"""Spending happens as planned, before the draw, and the receipt follows from the steps alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from privreg.errors import BudgetError
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import BlackBox, Gaussian, Laplace, Pick
from privreg.privacy.noise import SeededNoise
from privreg.privacy.receipt import Receipt

COUNT, PICK, SUM = Laplace("count", 1, 4.0), Pick("pick", 5, 20.0, 10), Gaussian("sum", 9, 30.0, 2)


def account(plan=(COUNT, PICK), epsilon=0.5, delta=0.0):
    return PlannedAccount(list(plan), Budget(epsilon, delta), SeededNoise(np.random.default_rng(0)))


def test_steps_are_carried_out_in_order():
    a = account()
    assert a.receipt().steps == ()
    a.laplace(COUNT, 100)
    assert a.receipt().steps == (COUNT,)
    a.pick(PICK, np.arange(4))
    assert a.receipt().steps == (COUNT, PICK)
    assert a.receipt().epsilon == 0.5


def test_anything_else_is_refused():
    with pytest.raises(RuntimeError, match="not the next one"):
        account().pick(PICK, np.arange(4))
    with pytest.raises(RuntimeError, match="not the next one"):
        account().laplace(replace(COUNT, scale=3.0), 100)
    a = account((COUNT,))
    a.laplace(COUNT, 100)
    with pytest.raises(RuntimeError, match="not the next one"):
        a.laplace(COUNT, 100)
    with pytest.raises(ValueError, match="2 coordinates"):
        account((SUM,), 1.0, 1e-6).gaussian(SUM, np.zeros(3, np.int64))


def test_a_plan_must_fit_before_anything_is_drawn():
    with pytest.raises(BudgetError):
        account(epsilon=0.4999999)


def test_a_draw_that_dies_has_spent():
    class Dies(SeededNoise):
        def laplace(self, value, scale):
            raise KeyboardInterrupt

    a = PlannedAccount([COUNT], Budget(1.0), Dies(np.random.default_rng(0)))
    with pytest.raises(KeyboardInterrupt):
        a.laplace(COUNT, 100)
    assert a.receipt().epsilon == 0.25


def test_receipt_is_recomputed_from_its_steps():
    receipt = Receipt((COUNT, PICK, SUM), Budget(2.0, 1e-6), private=True)
    assert receipt.delta == 1e-6
    assert 0.5 < receipt.epsilon < 2.0
    cheaper = replace(receipt, own=(COUNT, PICK))
    assert (cheaper.epsilon, cheaper.delta) == (0.5, 0.0)


def test_receipt_as_json():
    receipt = Receipt((COUNT, BlackBox("box", 0.1, 1e-8)), Budget(1.0, 1e-6), private=False)
    record = json.loads(json.dumps(receipt.to_dict()))
    assert record["unit"] == "one record"
    assert record["private"] is False
    assert record["requested"] == {"epsilon": 1.0, "delta": 1e-6}
    assert record["steps"][0] == {
        "name": "count",
        "purpose": "other",
        "column": None,
        "mechanism": "laplace",
        "parameters": {"sensitivity": 1, "scale": 4.0, "grid": 1},
        "cost": {"epsilon": 0.25, "rho": 0.03125},
    }
    assert record["epsilon"] == receipt.epsilon


def test_receipt_as_text():
    text = str(Receipt((COUNT, PICK), Budget(1.0), private=True))
    assert text.splitlines()[0].split() == ["step", "mechanism", "noise", "cost"]
    assert "pick   exponential  scale 2" in text
    assert "total:  ε = 0.5, δ = 0 for adding or removing one record" in text
    assert "NOT PRIVATE" not in text
    assert "NOT PRIVATE" in str(Receipt((), Budget(1.0), private=False))
    assert "nothing was released" in str(Receipt((), Budget(1.0), private=True))
