"""What to expect from a budget, before anything is spent: simulation on made-up tables. Reads no data."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from privreg._format import count_of, epsilon_delta, number, text_table
from privreg._notebook import card, facts, note, table
from privreg._types import Float64
from privreg.data.schema import Schema
from privreg.data.tables import read_table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.base import is_whole
from privreg.estimators.budgets import check_budget
from privreg.estimators.private_linear.estimates import Z95
from privreg.estimators.private_linear.fitting import fit
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.schedule import make_schedule
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, adaptive_cost
from privreg.privacy.noise import SeededNoise

STRENGTHS = (0.1, 0.3, 0.6, 0.9)  # share of the target's variance that a linear model explains
TRIALS = 8
MOST_ROWS = 20_000  # of a made-up table: more rows at the same size n·μ change little
MOST_COLUMNS = 1_000  # of a made-up table, for the sake of memory: wider ones are somewhat harder
TEST_ROWS = 4_000
RICH = 10_000  # times the budget's μ²: privacy noise is nothing beside the error of sampling
MOST = 10**12


@dataclass(frozen=True)
class Outlook:
    """For one strength of signal: R² on new records of least squares and of the private model, and its intervals.

    `half_width` is half of a coefficient's 95 % interval, for a step of one standard deviation of its column, in
    standard deviations of the target; `wider` is how many times it is that of least squares. Both are medians over
    coefficients and trials, and None if there are no coefficients.
    """

    signal: float
    least_squares: float
    median: float
    low: float  # one fit in ten is worse
    high: float  # one in ten is better
    half_width: float | None = None
    wider: float | None = None

    @property
    def kept(self) -> float:
        """Part of least squares' R² that is left."""
        return max(self.median, 0.0) / self.least_squares if self.least_squares > 0 else 0.0


@dataclass(frozen=True)
class Plan:
    """What to expect from `PrivateLinearRegression` at this budget."""

    rows: int
    columns: int
    epsilon: float
    delta: float
    k: int
    outlooks: tuple[Outlook, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        record = {name: getattr(self, name) for name in ("rows", "columns", "epsilon", "delta", "k")}
        return record | {"outlooks": [asdict(o) | {"kept": o.kept} for o in self.outlooks]}

    def __str__(self) -> str:
        size = f"{self.rows:,} rows, {self.columns:,} columns, {epsilon_delta(self.epsilon, self.delta)}"
        used = f"about {self.k} columns would be used." if self.k else f"{self._constant}."
        return "\n".join([f"{size}: {used}", "", *text_table(self._cells(), left=0), "", *_READING])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """In IPython, where text is shown."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        used = f"about {self.k} of {self.columns:,}" if self.k else f"none: {self._constant}"
        told = [("Budget", epsilon_delta(self.epsilon, self.delta)), ("Columns used", used)]
        return card(
            f"What to expect from {count_of(self.rows, 'row')} and {count_of(self.columns, 'column')}",
            facts(told),
            table(head, rows, left=0, title="Outlooks"),
            note(" ".join(_READING)),
            badge=("soft", "Simulated"),
        )

    @property
    def _constant(self) -> str:
        """Why there are no columns."""
        far = any(o.median < _FAR_OFF for o in self.outlooks)
        return "too little data for more than a constant" + (
            ", and the constant itself would be far off" if far else ""
        )

    def _cells(self) -> list[tuple[str, ...]]:
        """A row for each strength of signal, the head first."""
        rows: list[tuple[str, ...]] = [_HEAD]
        for o in self.outlooks:
            exact, private, low, high = map(_short, (o.least_squares, o.median, o.low, o.high))
            # The few coefficients that trials have by luck, where a constant is to be expected, tell nothing.
            interval, wider = (_plus_minus(o.half_width), _times(o.wider)) if self.k else ("", "")
            rows.append(
                (f"{o.signal:.1f}", exact, private, f"{low} … {high}", f"{100 * o.kept:.0f} %", interval, wider)
            )
        return rows


_FAR_OFF = -1.0  # R² of a model that is of no use; how far below does not matter
_HEAD = ("signal", "R² not private", "R² private", "8 of 10 fits", "kept", "interval", "wider")
_READING = (
    "signal: the R² of the best linear model. 8 of 10 fits: where the private R² of these lies.",
    "kept: the private R² as a share of the R² without privacy. interval: a typical 95 % interval",
    "of a coefficient, for one standard deviation of its column, in standard deviations of the",
    "target. wider: than an interval without privacy.",
    "Simulated on made-up tables; no data was read and nothing was spent.",
)


def plan(
    rows: int,
    columns: int,
    epsilon: float,
    delta: float = 1e-6,
    *,
    trials: int = TRIALS,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """Simulate `PrivateLinearRegression` on made-up tables of this shape, before anything is spent. Reads no data.

    The same arguments give the same answer.

    Parameters
    ----------
    rows : int
        The number of records.
    columns : int
        The number of columns.
    epsilon : float
        The privacy budget ε.
    delta : float, default 1e-6
        The privacy budget δ.
    trials : int, default 8
        The number of simulated tables for each strength of signal.
    seed : int, default 0
        The seed of the simulation.
    progress : callable or None, default None
        Called with the part that is done, from 0 to 1.

    Returns
    -------
    Plan
        How many columns would be used (`k`) and, for each strength of signal (`outlooks`), the R² and the width of
        intervals to expect. Prints as a table.

    Examples
    --------
    >>> from privreg import plan
    >>> answer = plan(rows=5_000, columns=3, epsilon=1.0, trials=2)
    >>> answer.k
    3
    >>> [outlook.signal for outlook in answer.outlooks]
    [0.1, 0.3, 0.6, 0.9]
    """
    for name, value, least in (("rows", rows, 0), ("columns", columns, 1), ("trials", trials, 1)):
        if not is_whole(value, least) or value > MOST:
            raise ValueError(f"{name} must be a whole number between {least} and {MOST:g}, got {value!r}")
    rows, columns = int(rows), int(columns)
    budget = Budget(epsilon, delta)
    check_budget(budget)
    drawn = min(columns, MOST_COLUMNS)
    simulated = min(rows, max(MOST_ROWS, 20 * drawn))
    # Fewer rows at a larger budget: what counts is the number of rows times μ.
    more = adaptive_budget(budget) * Fraction(rows, max(simulated, 1)) ** 2
    larger = budget if simulated == rows else Budget(adaptive_cost(more, budget.delta), budget.delta)
    largest = None if simulated == rows else Budget(adaptive_cost(RICH * more, budget.delta), budget.delta)
    size = rows * sqrt(adaptive_budget(budget))
    outlooks = []
    for i, signal in enumerate(STRENGTHS):
        found = []
        for trial in range(trials):
            found.append(_trial(simulated, drawn, signal, larger, np.random.default_rng([seed, i, trial])))
            if progress:
                progress((i * trials + trial + 1) / (len(STRENGTHS) * trials))
        free = 1.0
        if largest is not None:
            free = _trial(simulated, drawn, signal, largest, np.random.default_rng([seed, i, 0])).wider
        outlooks.append(_outlook(signal, found, simulated / max(rows, 1), free))
    k = make_schedule(size, columns, None).columns
    return Plan(rows, columns, budget.epsilon, budget.delta, k, tuple(outlooks))


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


def _trial(rows: int, columns: int, signal: float, budget: Budget, generator: np.random.Generator) -> Trial:
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


def _short(r2: float) -> str:
    return f"{round(r2, 2) + 0.0:.2f}".replace("-", "−") if r2 >= _FAR_OFF else "< −1"


def _plus_minus(half: float | None) -> str:
    """To one digit after the point, or one that counts: more would change with the seed."""
    return "" if half is None else f"±{half:.1f}" if half >= 0.095 else f"±{number(half, 1)}"


def _times(wider: float | None) -> str:
    return "" if wider is None else f"{wider:.1f} ×" if wider < 9.95 else f"{number(wider, 2)} ×"


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
