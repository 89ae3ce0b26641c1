"""Parts of the fit, one at a time."""

import numpy as np
import pytest

from privreg.data.features import Feature
from privreg.data.tables import Table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.fitting import find_shift, finds_centre
from privreg.estimators.private_linear.schedule import make_schedule
from privreg.estimators.private_linear.state import Setting
from privreg.mechanisms.spread import Spread
from told import account

N = 60


def setting_of(mu_squared):
    """Records whose target is 1, and a schedule for a constant."""
    table = Table([Feature("x", 0)], N, np.zeros((N, 1)), {})
    engine = MemoryEngine(table, np.ones(N), 1)
    return Setting(account(5.0), engine, mu_squared, N, N, 1.0, make_schedule(1.0, 1, None), 2**32, False)


@pytest.mark.parametrize(("mu_squared", "reliable"), [(0.02, False), (2.0, True)])
@pytest.mark.parametrize("sure", [True, False])
def test_a_guessed_clip_about_an_unreliable_median_moves_nothing(mu_squared, reliable, sure):
    """The noise is nothing, so that the sum stands out by far: all records lie beyond the clip."""
    setting = setting_of(mu_squared)
    spread = Spread(0.5, 0.5, sure, np.zeros(1), np.zeros(1), 1.0)
    assert finds_centre(setting) == reliable
    shift = find_shift(setting, 0.0, spread, 0.5, 0.32)
    assert (shift > 0) == (sure or reliable)
    assert [event.name for event in setting.account.receipt().events] == ["mean of the target"]
