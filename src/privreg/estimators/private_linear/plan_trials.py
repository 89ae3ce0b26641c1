"""Plans by simulation: private fits, and least squares, on made-up tables. What is shipped is made of them, too."""

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np

from privreg._types import Float64
from privreg.data.schema import Schema
from privreg.data.tables import read_table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.estimates import Z95
from privreg.estimators.private_linear.fitting import fit
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.planner import STRENGTHS, Outlook
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, adaptive_cost
from privreg.privacy.noise import SeededNoise

MOST_ROWS = 20_000  # of a made-up table: more rows at the same size n·μ change little
MOST_COLUMNS = 1_000  # of a made-up table, for the sake of memory: wider ones are somewhat harder
TEST_ROWS = 4_000
RICH = 10_000  # times the budget's μ²: privacy noise is nothing beside the error of sampling


def simulated(
    rows: int, columns: int, budget: Budget, trials: int, seed: int, progress: Callable[[float], None] | None
) -> list[Outlook]:
    """For each strength of signal, what so many fits on made-up tables of this shape reach."""
    drawn = min(columns, MOST_COLUMNS)
    simulated = min(rows, max(MOST_ROWS, 20 * drawn))
    # Fewer rows at a larger budget: what counts is the number of rows times μ.
    more = adaptive_budget(budget) * Fraction(rows, max(simulated, 1)) ** 2
    larger = budget if simulated == rows else Budget(adaptive_cost(more, budget.delta), budget.delta)
    largest = None if simulated == rows else Budget(adaptive_cost(RICH * more, budget.delta), budget.delta)
    outlooks = []
    for i, signal in enumerate(STRENGTHS):
        found = []
        for trial in range(trials):
            found.append(one_trial(simulated, drawn, signal, larger, np.random.default_rng([seed, i, trial])))
            if progress:
                progress((i * trials + trial + 1) / (len(STRENGTHS) * trials))
        free = 1.0
        if largest is not None:
            free = one_trial(simulated, drawn, signal, largest, np.random.default_rng([seed, i, 0])).wider
        outlooks.append(_outlook(signal, found, simulated / max(rows, 1), free))
    return outlooks


class Trial(NamedTuple):
    """R² on new records of one private fit, and of least squares; half-widths of the intervals of both."""

    private: float
    exact: float
    widths: Float64
    exact_widths: Float64

    @property
    def wider(self) -> float:
        return float(np.median(self.widths / self.exact_widths)) if self.widths.size else 1.0


def _outlook(signal: float, trials: list[Trial], part: float, free: float) -> Outlook:
    """What trials have in common that were made on this part of the rows, at the same size n·μ.

    All rows have the same privacy noise, which goes with the size, but less error of sampling. As that counts what an
    interval would be without privacy: `free` times as wide as that of least squares, because of its margins.
    """
    low, median, high = np.quantile([trial.private for trial in trials], [0.1, 0.5, 0.9]).tolist()
    exact = float(np.median([trial.exact for trial in trials]))
    widths = np.concatenate([trial.widths for trial in trials])
    exact_widths = np.concatenate([trial.exact_widths for trial in trials])
    if not widths.size:
        return Outlook(signal, exact, median, low, high)
    sampling = np.minimum(widths, free * exact_widths)
    scaled = np.sqrt(np.maximum(widths**2 - sampling**2, 0.0) + part * sampling**2)
    wider = float(np.median(scaled / exact_widths)) / sqrt(part)
    return Outlook(signal, exact, median, low, high, float(np.median(scaled)), wider)


def one_trial(rows: int, columns: int, signal: float, budget: Budget, generator: np.random.Generator) -> Trial:
    """One private fit, and least squares, on one made-up table."""
    X, y = made_up(rows + TEST_ROWS, columns, signal, generator)
    schema = Schema.numbers(columns)
    records = MemoryEngine(read_table(X[:rows], schema), y[:rows], 1)
    model = fit(AdaptiveAccount(budget, SeededNoise(generator)), records, None).model
    fresh, truth = X[rows:], y[rows:]
    design = np.column_stack([np.ones(len(X)), X])
    exact = np.linalg.lstsq(design[:rows], y[:rows])[0] if rows else np.zeros(columns + 1)
    predicted = model.predict(read_table(fresh, schema))
    least_squares = _r2(truth, np.asarray(design[rows:] @ exact, np.float64))
    return Trial(_r2(truth, predicted), least_squares, *_half_widths(model, X[:rows], y[:rows]))


def _half_widths(model: WinsorisedModel, X: Float64, y: Float64) -> tuple[Float64, Float64]:
    """Of the 95 % interval of each coefficient of the model, and of least squares with the same columns.

    For steps of one standard deviation of the column, in standard deviations of the target.
    """
    if model.estimates is None:
        return np.empty(0), np.empty(0)
    terms = [model.terms[place - 1] for place in model.estimates.places[1:]]
    values = X[:, [term.column for term in terms]]
    spreads = values.std(axis=0)
    units = np.array([model.target.unit / term.scale.unit for term in terms])
    errors = model.estimates.errors[1:] * units * spreads / y.std()
    design = (values - values.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    residuals = y - y.mean() - design @ np.linalg.lstsq(design, y - y.mean())[0]
    variance = float(residuals @ residuals) / max(len(y) - len(terms) - 1, 1) / y.var()
    exact = np.sqrt(variance * np.diag(np.linalg.pinv(design.T @ design)))
    known = (spreads > 0) & (exact > 0)  # a 0/1 column of a small table may be a constant
    return Z95 * errors[known], Z95 * exact[known]


def _r2(truth: Float64, predicted: Float64) -> float:
    return float(1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


def made_up(rows: int, columns: int, signal: float, generator: np.random.Generator) -> tuple[Float64, Float64]:
    """A table such as people have: correlated columns, of which some are skewed and some are 0/1, on various scales.

    The target is linear in the columns, with coefficients of very different size, plus noise: least squares on endless
    data would explain `signal` of its variance.
    """
    factors = max(columns // 4, 1)
    loadings = generator.normal(size=(factors, columns)) * (generator.random((factors, columns)) < 2 / factors)
    normal = generator.normal(size=(rows, factors)) @ loadings + generator.normal(size=(rows, columns))
    normal /= np.sqrt((loadings**2).sum(axis=0) + 1)
    kind = generator.integers(4, size=columns)  # half are normal, a quarter skewed, a quarter 0/1
    X = np.where(kind == 2, np.exp(normal), np.where(kind == 3, normal > 0.5, normal))
    effects = generator.normal(size=columns) * generator.permutation(0.8 ** np.arange(columns))
    part = (X / np.where(kind == 2, 2.16, np.where(kind == 3, 0.46, 1.0))) @ effects  # their standard deviations
    part /= max(part.std(), 1e-12)
    y = sqrt(signal) * part + sqrt(1 - signal) * generator.normal(size=rows)
    scales = 10.0 ** generator.uniform(-2, 3, size=columns)
    return X * scales + scales * generator.normal(size=columns), 50 + 10 * y
