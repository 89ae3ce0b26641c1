"""Which budgets a method can work with. Loads nothing: a wrong one is refused at once."""

from fractions import Fraction

from privreg._format import number
from privreg.privacy.accountant import Budget, check_delta, split_budget

READING = Fraction(1, 10)  # of a budget that goes by a plan, which needs the number of columns beforehand
SMALLEST_EPSILON = 1e-6  # of PrivateLinearRegression, for each record of a person


def reading_budget(budget: Budget) -> tuple[Budget, Budget]:
    """What reading a table may cost, and what is left for a plan."""
    return split_budget(budget, READING)


def check_budget(budget: Budget, rows: int = 1) -> None:
    """Raise ValueError, naming the parameter, for budgets that PrivateLinearRegression cannot work with."""
    check_delta(budget)
    if budget.epsilon < SMALLEST_EPSILON:
        raise ValueError(f"epsilon must be at least {number(SMALLEST_EPSILON)}, got {budget.epsilon!r}")
    if budget.epsilon < SMALLEST_EPSILON * rows:
        raise ValueError(
            f"rows_per_person={rows} needs an epsilon of at least {number(SMALLEST_EPSILON * rows)}, "
            f"got {budget.epsilon!r}"
        )


def check_tukey_budget(budget: Budget) -> None:
    """Raise ValueError for budgets that TukeyRegression cannot work with."""
    if budget.delta == 0:
        raise ValueError("delta must be positive: before it draws, the Tukey mechanism makes a test that can fail")
