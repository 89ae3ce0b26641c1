"""Boosted AdaSSP: noisy sums of products, then gradient boosting on clipped residuals."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from math import log, sqrt
from numbers import Real
from typing import cast

import numpy as np

from privreg._types import Float64, Int64
from privreg.data.tables import Table
from privreg.engines.base import Engine
from privreg.estimators.base import is_whole
from privreg.estimators.regressor import PrivateRegressor
from privreg.kernels.boosting import NORM, ResidualSums, RoundRows, gram, grid_for, shrink_factors
from privreg.privacy.account import Account, PlannedAccount
from privreg.privacy.accountant import Budget, calibrate, check_delta
from privreg.privacy.events import Event, Gaussian

FAILURE = 0.05  # ϱ of AdaSSP: the ridge is too small with at most this probability
LARGEST = 1e100  # of a coefficient: keeps predictions finite
# The smallest eigenvalue is released in units of EIGEN_UNIT. One record moves it by at most NORM²; EIGEN_ERROR covers
# what the floating-point eigenvalues of both data sets may be wrong by. docs/proofs/adassp.md
EIGEN_UNIT = 2**8
EIGEN_ERROR = 2**22
EIGEN_SENSITIVITY = -(-(NORM**2 + EIGEN_ERROR) // EIGEN_UNIT) + 1


@dataclass(eq=False, repr=False)
class BoostedAdaSSP(PrivateRegressor):
    """Linear regression from noisy sums: no data bounds, for wider tables than `TukeyRegression`.

    Each record, with a one appended for the intercept, is shrunk to norm `clip_x`. The matrix of products XᵀX and its
    smallest eigenvalue are released with Gaussian noise. Then every round adds (XᵀX + ridge)⁻¹ times the noisy sum of
    record × residual, with residuals clipped to ±`clip_y`. Predictions shrink rows as training did, so the model is
    (x·coef_ + intercept_)·min(1, clip_x/‖(x, 1)‖).

    Columns are not rescaled, since that would need data bounds. A column of large numbers drowns out the others, and a
    target far from 0 takes many rounds of ±clip_y to reach.

    Proof: docs/proofs/adassp.md, docs/proofs/gdp.md. Exact check: tests/estimators/test_boosted_adassp.py.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget ε, for adding or removing one record.
    delta : float, default 1e-6
        The privacy budget δ. Must be positive.
    rounds : int, default 100
        The number of boosting rounds.
    clip_x : float, default 1.0
        The norm to which records are shrunk.
    clip_y : float, default 1.0
        The largest residual.
    ridge : {"adassp", "reference"}, default "adassp"
        "adassp" adds √(d·ln(2d²/ϱ))·σ less a lower bound of the smallest eigenvalue. "reference" adds the noisy
        smallest eigenvalue itself and inverts the result as it is, as the published experiments did; equally private.
    categories : dict of str to list, "dtype" or None, default None
        Public levels of columns, by name; as in `PrivateLinearRegression`.
    missing : {"drop", "fill"}, default "drop"
        Whether records with a missing value are left out or filled in; as in `PrivateLinearRegression`.
    ranges : dict of str to (float, float) or None, default None
        Public ranges of columns, by name; values outside are clipped.
    schema : Schema or None, default None
        What an earlier fit or a `SchemaReader` found out about the columns; it costs nothing again.
    rows_per_person : int, default 1
        The most records of one person that are used, if `fit` is given `groups`.
    ledger : Ledger or None, default None
        The ledger whose budget the fit spends from.
    dataset : str or None, default None
        The name of the data set in the ledger.
    purpose : str or None, default None
        What the fit is for, in your own words; kept in the ledger.
    progress : callable or None, default None
        Called with the name of each stage, for instance `print`.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn; -1 uses every core. Results do not depend on it.
    random_state : int, numpy random generator or None, default None
        None for private noise. A seed makes the run repeatable and **not private**.

    Attributes
    ----------
    coef_ : ndarray
        The coefficients of the model on shrunk rows, in the units of the data.
    intercept_ : float
        The intercept.
    receipt_ : Receipt
        What was spent, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg import BoostedAdaSSP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20_000, 2))
    >>> y = X[:, 0] + rng.normal(scale=0.1, size=20_000)
    >>> model = BoostedAdaSSP(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> model.predict(X).shape
    (20000,)
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    rounds: int = 100
    clip_x: float = 1.0
    clip_y: float = 1.0
    ridge: str = "adassp"

    def _check_parameters(self, budget: Budget) -> None:
        check_delta(budget)
        if not is_whole(self.rounds):
            raise ValueError(f"rounds must be a whole number of at least 1, got {self.rounds!r}")
        for name in ("clip_x", "clip_y"):
            clip = getattr(self, name)
            if not isinstance(clip, Real) or isinstance(clip, bool) or not 1e-100 <= float(clip) <= 1e100:
                raise ValueError(f"{name} must be a positive number between 1e-100 and 1e100, got {clip!r}")
        if self.ridge not in ("adassp", "reference"):
            raise ValueError(f'ridge must be "adassp" or "reference", got {self.ridge!r}')

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        width, norm = columns + 1, NORM**2
        event = partial(Gaussian, purpose="coefficients")

        def plan(noise: float) -> list[Event]:
            """A third of the (squared) budget each for the products, the eigenvalue and all rounds together."""
            third = noise * sqrt(3)
            each = third * sqrt(self.rounds)
            eigen = EIGEN_SENSITIVITY
            return [
                event("products of features", norm**2, third * norm, width * (width + 1) // 2, norm),
                event("smallest eigenvalue", eigen**2, third * eigen, 1, norm // EIGEN_UNIT),
                *(event(f"boosting round {t + 1}", norm**2, each * norm, width, norm) for t in range(self.rounds)),
            ]

        return calibrate(plan, budget)

    def _learn(self, account: PlannedAccount, engine: Engine) -> None:
        products, eigenvalue, *rounds = cast(list[Gaussian], account.plan)
        clip_x, clip_y, width = float(self.clip_x), float(self.clip_y), len(engine) + 1
        rows = engine.rounded(RoundRows(clip_x), width)
        grid = grid_for(width)  # steps for one clip_x
        exact = rows.total(gram)
        noisy = _release_symmetric(account, products, exact) / grid**2
        lowest = account.gaussian(eigenvalue, _smallest_eigenvalue(exact))[0] * EIGEN_UNIT / grid**2
        inverse = self._invert(noisy, products.scale / grid**2, lowest, eigenvalue.scale * EIGEN_UNIT / grid**2)

        theta = np.zeros(width)  # for features in units of clip_x
        for event in rounds:
            sums = account.gaussian(event, rows.total(ResidualSums(theta / grid, clip_y)))
            theta += inverse @ (sums * (clip_y / NORM / grid))
            np.clip(theta, -LARGEST, LARGEST, out=theta)
        self.coef_ = theta[:-1] / clip_x
        self.intercept_ = float(theta[-1]) / clip_x

    def _invert(self, noisy: Float64, sigma: float, lowest: float, lowest_sigma: float) -> Float64:
        """(noisy + ridge)⁻¹, from released values only."""
        width = len(noisy)
        values, vectors = np.linalg.eigh(noisy)
        if self.ridge == "reference":
            values = values + lowest
            values = np.where(np.abs(values) > 1e-15 * np.abs(values).max(), values, np.inf)
        else:
            bound = max(lowest - lowest_sigma * sqrt(2 * log(1 / FAILURE)), 0.0)
            ridge = max(0.0, sqrt(width * log(2 * width**2 / FAILURE)) * sigma - bound)
            values = np.maximum(values + ridge, sigma)  # with probability 1 − ϱ this changes nothing
        return (vectors / values) @ vectors.T

    def _predict(self, table: Table) -> Float64:
        return linear_on_shrunk(table, self.coef_[self._used], self.intercept_, float(self.clip_x))

    def _shrunk_to(self) -> float:
        return float(self.clip_x)

    def _facts(self, features: int | None = None) -> list[str]:
        return [
            f"A linear model of {self._count(features)}, fitted to records shrunk to norm {self.clip_x:g}: "
            f"prediction = (x·coefficients + intercept)·min(1, {self.clip_x:g}/‖(x, 1)‖)."
        ]


def linear_on_shrunk(table: Table, coef: Float64, intercept: float, clip: float) -> Float64:
    """The model on rows that are shrunk to norm `clip`, as those it was fitted on."""
    result = np.empty(table.n_rows)
    size = max(2**18 // (len(table) + 1), 1)
    for first in range(0, table.n_rows, size):
        rows = table.rows(np.arange(first, min(first + size, table.n_rows)))
        factors = shrink_factors(rows, clip)
        shrunk = rows * factors[:, None]
        result[first : first + size] = shrunk @ coef + factors * intercept
    return result


def _release_symmetric(account: Account, event: Gaussian, matrix: Int64) -> Float64:
    """The matrix with independent noise on and above the diagonal, mirrored below."""
    upper = np.triu_indices(len(matrix))
    noisy = np.zeros(matrix.shape)
    noisy[upper] = account.gaussian(event, matrix[upper])
    return noisy + np.triu(noisy, 1).T


def _smallest_eigenvalue(matrix: Int64) -> Int64:
    """⌊λ_min/EIGEN_UNIT⌋, up to rounding that EIGEN_ERROR allows for."""
    return np.array([np.floor(np.linalg.eigvalsh(matrix.astype(np.float64))[0] / EIGEN_UNIT)], np.int64)
