"""`Receipt.to_dp_event`: the accountants of dp-accounting, which know nothing of ours, find the same totals."""

from fractions import Fraction
from functools import cache
from math import exp, sqrt

import numpy as np
import pytest
from dp_accounting import UnsupportedEventError, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from privreg import BoostedAdaSSP, DPKendall, PrivateLinearRegression, SubLasso, TukeyRegression
from privreg.privacy.accountant import ADAPTIVE_ROUNDING, Budget, cost
from privreg.privacy.events import EarlyPick, Gaussian, GaussianMoments, Laplace, Pick
from privreg.privacy.receipt import ADAPTIVE, Receipt

pytestmark = pytest.mark.filterwarnings("ignore::privreg.NotPrivateWarning")

ORDERS = [1 + 1.01**i / 100 for i in range(1200)]
SEED = 3


def by_rdp(tree, delta):
    return float(RdpAccountant(ORDERS).compose(tree).get_epsilon(delta))


def by_pld(tree, delta):
    return float(PLDAccountant().compose(tree).get_epsilon(delta))


@cache
def table(n=2000, columns=5):
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, columns))
    return X, X[:, 0] - X[:, 1] + rng.normal(size=n)


def adaptive(epsilon=1.0, rows=1, **options):
    X, y = table()
    groups = None if rows == 1 else np.arange(len(y)) // rows
    model = PrivateLinearRegression(epsilon, 1e-6, rows_per_person=rows, random_state=SEED, **options)
    return model.fit(X, y, groups=groups).receipt_


RECEIPTS = {
    "all columns": adaptive,
    "chosen columns": lambda: adaptive(3.0, k=2),
    "on a sample": lambda: adaptive(5.0, k=2, max_rows_for_selection=300),
    "two rows each": lambda: adaptive(2.0, rows=2),
    "boosted": lambda: BoostedAdaSSP(1.0, 1e-6, random_state=SEED).fit(*table()).receipt_,
}


@pytest.mark.parametrize("name", RECEIPTS)
def test_gaussian_totals_are_those_of_both_accountants(name):
    """PLD is exact up to its grid: within 1e-4 of ours, above and below. RDP is looser: by 15 % at most."""
    receipt = RECEIPTS[name]()
    tree = receipt.to_dp_event()
    assert {type(event) for event in tree.events} == {dp_event.GaussianDpEvent}
    assert receipt.epsilon == pytest.approx(by_pld(tree, receipt.delta), rel=1e-4)
    assert receipt.epsilon <= by_rdp(tree, receipt.delta) <= 1.15 * receipt.epsilon
    # One Gaussian of the receipt's own μ stands for all.
    assert by_pld(dp_event.GaussianDpEvent(1 / receipt.mu), receipt.delta) == pytest.approx(receipt.epsilon, rel=1e-4)


@pytest.mark.parametrize("rows", [1, 3])
def test_what_early_picks_need_to_be_left_is_in_the_tree(rows):
    """A fit that ends after a pick: the pick alone is worse than a Gaussian of its μ²."""
    pick = EarlyPick("p", 2**20, 2**20 / 0.5, left_after=0.125)
    receipt = Receipt((pick,), Budget(5.0, 1e-3), True, rows=rows, composition=ADAPTIVE)
    tree = receipt.to_dp_event()
    assert len(tree.events) == 2
    assert by_pld(tree, 1e-3) == pytest.approx(receipt.epsilon, rel=1e-4)
    later = Receipt((pick, Gaussian.costing("g", 0.126, 2**28)), receipt.budget, True, rows=rows, composition=ADAPTIVE)
    assert len(later.to_dp_event().events) == 2  # nothing is missing
    # The true δ of such a pick, which the tree covers: outcomes with log-ratios t and t − ε.
    t, at = 0.25, 0.02
    q = np.expm1(0.5 - t) / np.expm1(0.5)
    true = sum(p * max(-np.expm1(at - loss), 0.0) for p, loss in ((q * exp(t), t), ((1 - q) * exp(t - 0.5), t - 0.5)))
    found = PLDAccountant().compose(tree).get_delta(at)
    alone = PLDAccountant().compose(pick.to_dp_event("gaussian")).get_delta(at)
    assert alone < true < found


def test_people_with_two_rows_pay_twice_the_mu():
    one = Receipt(
        (Gaussian.costing("g", 0.01, 2**28), Pick("p", 1, 40.0)), Budget(1.0, 1e-6), True, composition=ADAPTIVE
    )
    two = Receipt(one.events, one.budget, True, rows=2, composition=ADAPTIVE)
    assert two.mu == pytest.approx(2 * one.mu, rel=1e-14)
    assert two.rho == pytest.approx(4 * one.rho, rel=1e-14)
    halves = [event.noise_multiplier / 2 for event in one.to_dp_event().events]
    assert [event.noise_multiplier for event in two.to_dp_event().events] == pytest.approx(halves, rel=1e-14)


def test_kendall_without_delta_is_the_worst_mechanism_of_its_epsilon():
    """δ = 0: PLD finds the sum of all ε, up to its grid of 1e-4 for each event."""
    receipt = DPKendall(3, 1.0, random_state=SEED).fit(*table()).receipt_
    assert receipt.epsilon == 1.0
    assert receipt.delta == 0.0
    found = by_pld(receipt.to_dp_event(), 0.0)
    assert receipt.epsilon - 1e-9 <= found <= receipt.epsilon + 3e-4


def test_kendall_with_delta_is_zero_concentrated():
    rng = np.random.default_rng(SEED)
    receipt = DPKendall(30, 1.0, 1e-6, random_state=SEED).fit(rng.normal(size=(200, 40)), rng.normal(size=200)).receipt_
    tree = receipt.to_dp_event()
    assert receipt.delta == 1e-6
    assert by_rdp(tree, receipt.delta) == pytest.approx(receipt.epsilon, rel=1e-4)
    assert by_rdp(dp_event.ZCDpEvent(receipt.rho), receipt.delta) == pytest.approx(receipt.epsilon, rel=1e-4)
    with pytest.raises(UnsupportedEventError):
        by_pld(tree, receipt.delta)


@pytest.mark.parametrize(("k", "delta"), [(3, 0.0), (30, 1e-6)])
def test_sub_lasso(k, delta):
    """Ours is smaller where the count is added as it is, and only the picks are concentrated."""
    rng = np.random.default_rng(SEED)
    X, y = rng.normal(size=(300, 40)), rng.normal(size=300)
    receipt = SubLasso(k, 0.5, delta, random_state=SEED).fit(X, y).receipt_
    tree = receipt.to_dp_event()
    if not delta:
        assert receipt.epsilon - 1e-9 <= by_pld(tree, 0.0) <= receipt.epsilon + (k + 1) * 1e-4
        return
    count, *picks = tree.events
    added = float(receipt.events[0].pure) + by_rdp(dp_event.ComposedDpEvent(picks), delta)
    assert added == pytest.approx(receipt.epsilon, rel=1e-4)
    assert receipt.epsilon <= by_rdp(tree, delta)
    assert count.rho == pytest.approx(float(receipt.events[0].pure) ** 2 / 2)


def test_tukey_has_an_event_that_no_accountant_knows():
    """(ε, δ) is added to what the others cost; the accountants refuse the tree instead of forgetting it."""
    X, y = table(6000, 2)
    receipt = TukeyRegression(1.0, 1e-6, random_state=SEED).fit(X, y).receipt_
    tree = receipt.to_dp_event()
    count, draw = tree.events
    assert isinstance(draw, dp_event.UnsupportedDpEvent)
    for found in (by_rdp, by_pld):
        with pytest.raises(UnsupportedEventError):
            found(tree, receipt.delta)
    epsilon, delta = receipt.events[1].approximate
    assert float(delta) == receipt.delta  # nothing is left for the count, so it is pure
    pure = by_pld(receipt.events[0].to_dp_event("pure"), 0.0)
    assert float(epsilon) + pure == pytest.approx(receipt.epsilon, abs=1e-4)
    assert count.rho == pytest.approx(pure**2 / 2, rel=1e-2)
    assert receipt.mu is None
    assert receipt.rho is None


gaussians = st.builds(
    lambda mu, products, width: (
        GaussianMoments("m", 2**28, 2**28 / mu, width, products, 2**28)
        if products
        else Gaussian.costing("g", mu**2, 2**28, coordinates=width)
    ),
    st.floats(0.05, 0.3),
    st.integers(0, 1024),
    st.integers(1, 30),
)


@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(st.lists(gaussians, min_size=1, max_size=4), st.floats(-7, -3), st.integers(1, 2))
def test_random_gaussians(events, exponent, rows):
    """Our ε is theirs, whatever the list, at the δ that discrete noise leaves: within 1e-3 of PLD, and below RDP."""
    delta = 10.0**exponent
    receipt = Receipt(tuple(events), Budget(1.0, delta), True, rows=rows, composition=ADAPTIVE)
    tree = receipt.to_dp_event()
    mu = rows * sqrt(sum(float(event.mu_squared) for event in events))
    assert receipt.mu == pytest.approx(mu, rel=1e-12)
    assert receipt.mu**2 / 2 == pytest.approx(receipt.rho, rel=1e-12)
    left = delta - (1 + exp(receipt.epsilon)) * mu**2 * float(ADAPTIVE_ROUNDING)
    assert by_pld(tree, delta) - 1e-3 <= receipt.epsilon <= by_pld(tree, left) + 1e-3
    assert receipt.epsilon <= by_rdp(tree, left) * (1 + 1e-6)
    planned = dp_event.ComposedDpEvent([event.to_dp_event() for event in events])
    assert by_pld(planned, delta) - 1e-3 <= cost(events, delta) <= by_rdp(planned, delta) * (1 + 1e-6)


def test_nothing_costs_nothing():
    empty = Receipt((), Budget(1.0, 1e-6), True, composition=ADAPTIVE)
    assert (empty.mu, empty.rho, empty.to_dp_event().events) == (0.0, 0.0, [])


def test_currencies_of_one_event():
    laplace = Laplace("l", 1, 4.0)
    assert laplace.to_dp_event() == dp_event.ZCDpEvent(1 / 32)
    assert laplace.to_dp_event("gaussian") == dp_event.ZCDpEvent(1 / 32)  # it has no μ
    assert laplace.to_dp_event("pure", rows=2) == dp_event.DiscreteLaplaceDpEvent(0.5, 1)


def test_rho_of_events_chosen_on_the_way_is_what_is_proven_of_them():
    """Picks have less ρ than μ²/2, but how many there are may depend on outputs: only Σμ² is bounded beforehand."""
    picks = tuple(Pick("p", 1, 10.0) for _ in range(5))
    chosen, planned = (
        Receipt(picks, Budget(1.0, 1e-6), True, rows=2, composition=ADAPTIVE),
        Receipt(picks, Budget(1.0, 1e-6), True),
    )
    assert chosen.rho == pytest.approx(4 * 5 * np.pi / 8 / 100 / 2, rel=1e-12)
    assert chosen.rho >= chosen.mu**2 / 2 * (1 - 1e-12)
    assert planned.rho == pytest.approx(5 / 800, rel=1e-12)


@given(st.floats(1e-3, 1e3), st.integers(1, 3))
def test_their_gaussian_has_no_less_mu(scale, rows):
    event = Gaussian("g", 1, scale, 1)
    theirs = Fraction(event.to_dp_event(rows=rows).noise_multiplier)
    assert 1 / theirs**2 >= rows**2 * event.mu_squared
