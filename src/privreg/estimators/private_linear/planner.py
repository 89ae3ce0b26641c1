"""What to expect from a budget, before anything is spent: by simulations on made-up tables. Reads no data."""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from math import sqrt
from textwrap import wrap
from typing import Any

from privreg._format import count_of, epsilon_delta, number, text_table
from privreg._notebook import card, facts, note, table
from privreg.estimators.base import is_whole
from privreg.estimators.budgets import check_budget
from privreg.estimators.private_linear.outlook_surface import surface
from privreg.estimators.private_linear.schedule import make_schedule
from privreg.privacy.accountant import Budget, adaptive_budget

STRENGTHS = (0.1, 0.3, 0.6, 0.9)  # share of the target's variance that a linear model explains
MOST = 10**12
HOPELESS = -9.0  # R² of least squares on fewer rows than columns


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
    trials: int | None = None  # of a simulation; None if interpolated between those that are shipped
    together: bool = False  # whether columns, if they are alike, would be used together

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        record = {name: getattr(self, name) for name in ("rows", "columns", "epsilon", "delta", "k")}
        return record | {"outlooks": [asdict(o) | {"kept": o.kept} for o in self.outlooks]}

    def __str__(self) -> str:
        return "\n".join(
            [self.headline, "", *text_table(self.cells, left=0), "", *_wrapped(self.legend(_HEAD)), *self.source]
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """In IPython, where text is shown."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        head, *rows = self.cells
        used = f"about {self.k} of {self.columns:,}" if self.k else f"none: {self._constant}"
        told = [("Budget", epsilon_delta(self.epsilon, self.delta)), ("Columns used", used)]
        return card(
            f"What to expect from {count_of(self.rows, 'row')} and {count_of(self.columns, 'column')}",
            facts(told),
            table(head, rows, left=0, title="Outlooks"),
            note(" ".join([self.legend(_HEAD), *self.source])),
            badge=("soft", "Simulated"),
        )

    @property
    def headline(self) -> str:
        """The size, and how many columns would be used."""
        size = f"{self.rows:,} rows, {self.columns:,} columns, {epsilon_delta(self.epsilon, self.delta)}"
        return f"{size}: " + (f"about {self.k} columns would be used." if self.k else f"{self._constant}.")

    @property
    def source(self) -> list[str]:
        """Where the numbers come from, and how far they may be off."""
        better = [
            "If the columns are alike, such as pixels or items of a questionnaire, all are used together:",
            "R² is usually better then, and no single coefficient is determined.",
        ]
        before = better if self.together else []
        if self.trials is not None:
            return [*before, "Simulated on made-up tables; no data was read and nothing was spent."]
        off = surface().errors
        return [
            *before,
            "Interpolated between simulations on made-up tables. In nine of ten cases a fresh simulation",
            f"gives an R² within {off['r2']:.2g} of this one, and an interval within a factor of {off['width']:.2g}.",
            "No data was read and nothing was spent.",
        ]

    @staticmethod
    def legend(columns: Collection[str]) -> str:
        """What these columns of the table mean."""
        return " ".join(meaning for name, meaning in _READING.items() if name in columns)

    @property
    def _constant(self) -> str:
        """Why there are no columns."""
        far = any(o.median < _FAR_OFF for o in self.outlooks)
        return "too little data for more than a constant" + (
            ", and the constant itself would be far off" if far else ""
        )

    @property
    def cells(self) -> list[tuple[str, ...]]:
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
_READING = {
    "signal": "signal: the R² of the best linear model.",
    "8 of 10 fits": "8 of 10 fits: where the private R² of these lies.",
    "kept": "kept: the private R² as a share of the R² without privacy.",
    "interval": "interval: a typical 95 % interval of a coefficient, for one standard deviation of its column, in "
    "standard deviations of the target.",
    "wider": "wider: than an interval without privacy.",
}


def plan(
    rows: int,
    columns: int,
    epsilon: float,
    delta: float = 1e-6,
    *,
    trials: int | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """Tell what `PrivateLinearRegression` is expected to reach on a table of this shape. Reads no data.

    The answer is interpolated between simulations that are shipped with privreg, or simulated anew. The same arguments
    give the same answer.

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
    trials : int or None, default None
        The number of tables to simulate for each strength of signal. None interpolates, which takes no time.
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
    >>> answer = plan(rows=5_000, columns=3, epsilon=1.0)
    >>> answer.k
    3
    >>> [outlook.signal for outlook in answer.outlooks]
    [0.1, 0.3, 0.6, 0.9]
    """
    counts = [("rows", rows, 0), ("columns", columns, 1)]
    for name, value, least in counts if trials is None else [*counts, ("trials", trials, 1)]:
        if not is_whole(value, least) or value > MOST:
            raise ValueError(f"{name} must be a whole number between {least} and {MOST:g}, got {value!r}")
    rows, columns = int(rows), int(columns)
    budget = Budget(epsilon, delta)
    check_budget(budget)
    size = rows * sqrt(adaptive_budget(budget))
    if trials is None:
        outlooks = [interpolated(size, rows, columns, signal) for signal in STRENGTHS]
    else:
        from privreg.estimators.private_linear.plan_trials import simulated

        outlooks = simulated(rows, columns, budget, trials, seed, progress)
    schedule = make_schedule(size, columns, None)
    together = any(schedule.common)
    return Plan(rows, columns, budget.epsilon, budget.delta, schedule.columns, tuple(outlooks), trials, together)


def interpolated(size: float, rows: int, columns: int, signal: float) -> Outlook:
    """What simulations of other sizes let expect. Privacy costs the same R² whatever the error of sampling is."""
    exact = least_squares(rows, columns, signal)
    if not make_schedule(size, columns, None).columns:
        median, low, high = surface().constant(size)
        return Outlook(signal, exact, median, low, high)
    reached = surface().at(size, columns, signal)
    half, wider = surface().interval(reached.width, rows, columns, signal)
    return Outlook(signal, exact, exact - reached.loss, exact - reached.most, exact - reached.least, half, wider)


def least_squares(rows: int, columns: int, signal: float) -> float:
    """R² on new rows to be expected of least squares, for normal columns."""
    if rows <= columns + 2:
        return HOPELESS
    return 1 - (1 - signal) * (rows + 1) * (rows - 2) / (rows * (rows - columns - 2))


def _wrapped(text: str) -> list[str]:
    return wrap(text, 92, break_on_hyphens=False)


def _short(r2: float) -> str:
    return f"{round(r2, 2) + 0.0:.2f}".replace("-", "−") if r2 >= _FAR_OFF else "< −1"


def _plus_minus(half: float | None) -> str:
    """To one digit after the point, or one that counts: more would change with the seed."""
    return "" if half is None else f"±{half:.1f}" if half >= 0.095 else f"±{number(half, 1)}"


def _times(wider: float | None) -> str:
    return "" if wider is None else f"{wider:.1f} ×" if wider < 9.95 else f"{number(wider, 2)} ×"
