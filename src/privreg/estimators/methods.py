"""The methods by name: the paper's seven, with its split of the budget, and the further columns of our tables.

To add one, write its estimator and enter it below: the command line, the evaluation and the reports all ask here.
No estimator is loaded before it is made, so a wrong name is refused at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privreg.privacy.accountant import Budget

FLAGSHIP = "PrivateLinearRegression"
BASELINE = "NonDP"  # with which the private ones are compared
SELECTORS = {"kendall": "DPKendall", "sublasso": "SubLasso"}  # public classes that only choose features

_OF_PRIVATE = ("ledger", "dataset", "purpose", "n_jobs", "random_state")  # options that only private methods have
_SUMS = "It fits a linear model to noisy sums over all records, in several rounds."
_MIDDLE = "It fits many small models and draws one that lies in the middle of them."
_VOTES = "It first lets small groups of records vote for columns (SubLasso)."
_ORDER = (
    "It first chooses columns by Kendall correlation: how often two records have the same order in a column and in the "
    "target."
)


@dataclass(frozen=True)
class Method:
    """All that the package knows about a method. Plain data, so that it can be sent to other processes.

    `estimator` and `budget_check` name what to load, as "module:name". The estimator is given epsilon and delta, those
    of k, calibration and ridge that `takes` lists, and the settings.
    """

    name: str
    estimator: str
    about: str  # what it does, in plain words
    takes: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    budget_check: str = "privreg.privacy.accountant:check_delta"  # raises ValueError, before data is read
    private: bool = True
    variant_of: str = ""  # the method that this one is with other settings; the evaluation alone has such names
    headline: bool = False  # run by default, and named in the first sentence of the evaluation
    label: str = ""  # its name, with a line break if it is too long for a chart
    colour: str = "series6"  # in charts: a name of _theme

    @property
    def selects(self) -> bool:
        """Whether it chooses k features; the others do not depend on k."""
        return "k" in self.takes

    def check_budget(self, budget: "Budget") -> None:
        """Raise ValueError for a budget that it cannot work with."""
        resolve_name(self.budget_check)(budget)


_ADASSP: dict[str, Any] = {
    "estimator": "privreg.estimators.boosted_adassp:BoostedAdaSSP",
    "takes": ("ridge",),
    "colour": "series2",
}
_TUKEY: dict[str, Any] = {
    "estimator": "privreg.estimators.tukey:TukeyRegression",
    "takes": ("calibration",),
    "budget_check": "privreg.estimators.budgets:check_tukey_budget",
    "colour": "series3",
}
_BOTH: dict[str, Any] = {
    "estimator": "privreg.estimators.select_then_regress:SelectThenRegress",
    "takes": ("k", "calibration", "ridge"),
}


def _of(selection: str, regression: str) -> dict[str, str]:
    return {"selection": selection, "regression": regression}


_PAPER = (
    Method(BASELINE, "privreg.estimators.non_dp:NonDP", "It fits by least squares, without privacy.", private=False),
    Method("BAS", about=_SUMS, **_ADASSP),
    Method("Tukey", about=_MIDDLE, **_TUKEY),
    Method("L-BAS", about=f"{_VOTES} {_SUMS}", settings=_of("sublasso", "adassp"), **_ADASSP | _BOTH),
    Method("L-Tukey", about=f"{_VOTES} {_MIDDLE}", settings=_of("sublasso", "tukey"), **_TUKEY | _BOTH),
    Method("K-BAS", about=f"{_ORDER} {_SUMS}", settings=_of("kendall", "adassp"), **_ADASSP | _BOTH),
    Method("K-Tukey", about=f"{_ORDER} {_MIDDLE}", settings=_of("kendall", "tukey"), headline=True, **_TUKEY | _BOTH),
)
METHODS = tuple(method.name for method in _PAPER)


def _variants(regression: str, suffix: str, setting: dict[str, str], **changes: Any) -> list[Method]:
    """The paper's methods that end in this regression, with one setting fixed."""
    return [
        replace(m, name=f"{m.name}-{suffix}", variant_of=m.name, settings={**m.settings, **setting}, **changes)
        for m in _PAPER
        if m.name.endswith(regression)
    ]


_STRICT = _variants("Tukey", "strict", {"calibration": "strict"}, colour="series4")  # protect one record, not one model
_PUBLISHED = _variants("BAS", "reference", {"ridge": "reference"})  # with the ridge of the published runs
REFERENCE = tuple(method.name for method in _PUBLISHED)

_OURS = Method(
    FLAGSHIP,
    "privreg.estimators.private_linear.estimator:PrivateLinearRegression",
    "It finds the scale of every column privately, chooses columns if there are too many for the budget, and fits a "
    "linear model to noisy sums over all records.",
    budget_check="privreg.estimators.budgets:check_budget",
    headline=True,
    label="PrivateLinear\nRegression",
    colour="series1",
)
REGISTRY = {method.name: method for method in (*_PAPER, *_STRICT, _OURS, *_PUBLISHED)}  # in the order of the tables


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
    """Make an estimator for one of the paper's methods (`METHODS`), at the paper's budget unless another is given.

    Other names stand for these methods with fixed settings, such as "K-Tukey-strict" and "BAS-reference", and
    "PrivateLinearRegression" chooses its own k.

    Parameters
    ----------
    name : str
        The name of the method.
    k : int, default 5
        The number of features to choose, for methods that choose.
    epsilon : float, default log(3)
        The privacy budget ε.
    delta : float, default 1e-5
        The privacy budget δ.
    calibration : {"paper", "strict"}, default "paper"
        For Tukey methods. The published calibration protects one model; "strict" protects one record.
    ridge : {"adassp", "reference"}, default "adassp"
        For BAS methods. "reference" repeats the ridge of the published BAS columns.
    **options : dict
        Further parameters of the estimator, such as categories, ledger, dataset, n_jobs and random_state. NonDP uses
        only categories, and refuses a ledger.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import numpy as np
    >>> from privreg.paper import METHODS, make_method
    >>> METHODS
    ('NonDP', 'BAS', 'Tukey', 'L-BAS', 'L-Tukey', 'K-BAS', 'K-Tukey')
    >>> X = np.random.default_rng(0).normal(size=(20_000, 8))
    >>> model = make_method("K-Tukey", k=2, epsilon=1.0, delta=1e-6, calibration="strict").fit(X, X[:, 3])
    >>> model.receipt_.unit
    'one record'
    """
    if name not in REGISTRY:
        raise ValueError(f"name must be one of {', '.join(REGISTRY)}; got {name!r}")
    method = REGISTRY[name]
    if not method.private:
        if options.get("ledger") is not None or options.get("dataset") is not None:
            raise ValueError(f"{name} is not private, so it cannot spend from a ledger")
        usable = {key: value for key, value in options.items() if key not in _OF_PRIVATE}
        return resolve_name(method.estimator)(**usable)
    given = {"k": k, "calibration": calibration, "ridge": ridge}
    taken: dict[str, Any] = {key: given[key] for key in method.takes} | dict(method.settings)
    return resolve_name(method.estimator)(epsilon=epsilon, delta=delta, **taken, **options)


def private_methods() -> list[str]:
    """The names that `privreg fit --method` has besides "auto"."""
    return [m.name for m in REGISTRY.values() if m.private and not m.variant_of and m.name != FLAGSHIP]


def what_it_does(name: str) -> str:
    """What a method does, in plain words; also by the class of its estimator, if that does one thing only."""
    classes = {m.estimator.split(":")[1]: m for m in REGISTRY.values() if not m.settings}
    method = REGISTRY.get(name) or classes.get(name)
    return method.about if method else ""


def with_published_ridge(name: str) -> str:
    """The same method as the published runs had it: those without a ridge stay as they are."""
    return f"{name}-reference" if f"{name}-reference" in REFERENCE else name
