"""The paper's seven methods by name, with its split of the budget, and the further columns of our tables."""

from math import log
from typing import Any

METHODS = ("NonDP", "BAS", "Tukey", "L-BAS", "L-Tukey", "K-BAS", "K-Tukey")
FLAGSHIP = "PrivateLinearRegression"
STRICT = ("Tukey-strict", "L-Tukey-strict", "K-Tukey-strict")  # protect one record, not one model
REFERENCE = ("BAS-reference", "L-BAS-reference", "K-BAS-reference")  # with the ridge of the published runs
ALL_METHODS = (*METHODS, *STRICT, FLAGSHIP, *REFERENCE)

_OF_PRIVATE = ("ledger", "dataset", "n_jobs", "random_state")  # options that only private methods have
_SELECTION = {"L": "sublasso", "K": "kendall"}
_REGRESSION = {"BAS": "adassp", "Tukey": "tukey"}


def make_method(
    name: str,
    k: int = 5,
    epsilon: float = log(3),
    delta: float = 1e-5,
    *,
    calibration: str = "paper",
    ridge: str = "adassp",
    **options: Any,
) -> Any:
    """An estimator for one of METHODS, at the paper's budget unless another is given.

    Tukey methods use the published calibration, whose guarantee is for one model: `calibration="strict"` protects one
    record. `ridge="reference"` repeats the ridge of the published BAS columns. Further options (categories, ledger,
    dataset, n_jobs, random_state) go to the estimator; NonDP has a use for the first only, and refuses a ledger. The
    other names of ALL_METHODS are short for these settings ("K-Tukey-strict", "BAS-reference"), and
    "PrivateLinearRegression" chooses its own k.
    """
    if name not in ALL_METHODS:
        raise ValueError(f"name must be one of {', '.join(ALL_METHODS)}; got {name!r}")
    # Here, because they take long to load, and a wrong name is refused before.
    from privreg.estimators.boosted_adassp import BoostedAdaSSP
    from privreg.estimators.non_dp import NonDP
    from privreg.estimators.private_linear.estimator import PrivateLinearRegression
    from privreg.estimators.select_then_regress import SelectThenRegress
    from privreg.estimators.tukey import TukeyRegression

    if name == "NonDP":
        if options.get("ledger") is not None or options.get("dataset") is not None:
            raise ValueError("NonDP is not private, so it cannot spend from a ledger")
        return NonDP(**{key: value for key, value in options.items() if key not in _OF_PRIVATE})
    if name == FLAGSHIP:
        return PrivateLinearRegression(epsilon, delta, **options)
    if name in STRICT:
        calibration = "strict"
    if name in REFERENCE:
        ridge = "reference"
    name = name.removesuffix("-strict").removesuffix("-reference")
    if name == "BAS":
        return BoostedAdaSSP(epsilon, delta, ridge=ridge, **options)
    if name == "Tukey":
        return TukeyRegression(epsilon, delta, calibration=calibration, **options)
    selection, regression = name.split("-")
    return SelectThenRegress(
        _SELECTION[selection],
        _REGRESSION[regression],
        k,
        epsilon,
        delta,
        calibration=calibration,
        ridge=ridge,
        **options,
    )


def with_published_ridge(name: str) -> str:
    """The same method as the published runs had it: those without a ridge stay as they are."""
    return f"{name}-reference" if f"{name}-reference" in REFERENCE else name


def selects(name: str) -> bool:
    """Whether a method chooses k features; the others do not depend on k."""
    return name.startswith(("L-", "K-"))
