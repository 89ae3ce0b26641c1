"""The model: table of coefficients, chart, formula, and how to read them."""

from dataclasses import replace
from math import isfinite, nan

from privreg._format import number, shortened, shown, supported
from privreg.report import charts
from privreg.report.document import Code, Content, Fold, Grid, Items, TableCell
from privreg.results.release import Coefficient, Release
from privreg.results.summary import estimand
from privreg.results.tables import (
    MOST_CORRELATED,
    Cells,
    coefficient_cells,
    coefficient_rows,
    correlation_cells,
    description_cells,
    joint_cells,
)

_EXTRA = ("std err", "z", "P>|z|")  # what a phone does without: intervals tell the same


def effect(c: Coefficient) -> Coefficient:
    """What a step of one standard deviation of the feature, or a level instead of its reference, is worth."""
    if c.step is None or c.value is None:
        return c
    low, high = (None if end is None else end * c.step for end in (c.low, c.high))
    return replace(c, value=c.value * c.step, low=low, high=high)


def blocks(release: Release) -> list[Content]:
    """The section."""
    return _linear(release) if release.coefficients else _constant(release)


def formula(release: Release) -> str:
    """target ≈ intercept + coefficient · feature …, a line for each, with the ranges: the whole model."""
    lines = [f"{shown(release.target)} ≈ {_plain(release.intercept.slope)}"]
    for c in release.coefficients:
        lines.append(f"  {_signed(c.slope)} · {_clipped(c.feature, c.linear_from, c.linear_to)}")
    return "\n".join(lines)


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {_plain(abs(value))}"


def _clipped(feature: str, low: float | None, high: float | None) -> str:
    """The feature, clipped to its range if there is one."""
    name = shown(feature)
    return name if low is None or high is None else f"clip({name}, {_plain(low)}, {_plain(high)})"


def _plain(value: float) -> str:
    """Without commas, which separate the ends of a range."""
    return number(value, 6).replace(",", "")


def table(release: Release) -> Grid:
    """All coefficients, the intercept last. A level says below its name what it is compared with."""
    grid = _grid(coefficient_cells(release), "Coefficients", _note(release))
    rows = [
        [replace(row[0], detail=(f"compared with {shown(c.reference)}",)), *row[1:]] if c.reference is not None else row
        for row, c in zip(grid.rows, coefficient_rows(release), strict=True)
    ]
    extra = tuple(i for i, name in enumerate(grid.head) if name in _EXTRA)
    return replace(grid, rows=rows, extra=extra)


def _grid(cells: list[Cells], title: str, note: str) -> Grid:
    return Grid(list(cells[0]), [[TableCell(*cell) for cell in row.values()] for row in cells], title, note)


def _linear(release: Release) -> list[Content]:
    return [
        *_chart(release),
        table(release),
        *_example(release),
        *_know(release),
        *_joint_tests(release),
        *_columns(release),
        Fold("The model as a formula", [*_formula(release)]),
    ]


def _formula(release: Release) -> list[Content]:
    return ["With the coefficients that predictions use:", Code(formula(release)), *_rule(release)]


def _know(release: Release) -> list[Content]:
    """What coefficients estimate, and the notes of the fit."""
    texts = [*estimand(release), *map(shown, release.notes)]
    return [Items(texts)] if texts else []


def _joint_tests(release: Release) -> list[Content]:
    if release.statistics is None or not release.statistics.joint_tests:
        return []
    note = "A Wald test for each term with several coefficients. A small p-value means that they are not all 0."
    return [Fold("Joint tests", [_grid(joint_cells(release.statistics), "", note)])]


def _columns(release: Release) -> list[Content]:
    """What the columns look like, and how those of the model are correlated."""
    if release.statistics is None:
        return []
    described, related = description_cells(release.statistics), correlation_cells(release.statistics)
    note = (
        "Noisy, from what the fit released anyway: means and deviations of the clipped values, shares of all records."
    )
    found: list[Content] = [Fold("What the columns look like", [_grid(described, "", note)])] if described else []
    if 1 < len(related) <= MOST_CORRELATED:
        found.append(Fold("Correlations", [_grid(related, "", "Of the columns of the model, clipped; noisy.")]))
    return found


def _rule(release: Release) -> list[Content]:
    """How values are changed before the formula is applied, if they are."""
    if release.shrunk_to is not None:
        return ["Before the formula is applied, large rows are shrunk as a whole, as the notes above say."]
    if not release.has_ranges:
        return []
    rule = (
        "clip(x, a, b) is x, but never less than a or more than b: a value outside its range counts as its nearest end."
    )
    if release.prediction_range is None:
        return [rule]
    low, high = map(number, release.prediction_range)
    return [f"{rule} Predictions of {shown(release.target)} always lie between {low} and {high}."]


def _constant(release: Release) -> list[Content]:
    return [
        f"The model is a constant: it predicts {number(release.intercept.slope)} for every row.",
        f"This does not mean that {shown(release.target)} is unrelated to the columns. At this budget, noise would "
        "have hidden what the records tell, and wrong coefficients would have been worse than none.",
        "The command privreg plan estimates beforehand, without reading data, how accurate PrivateLinearRegression "
        "will be. What this fit spent stays spent; another fit spends more.",
        *_know(release),
    ]


def _example(release: Release) -> list[Content]:
    """How to read one coefficient: that of a number with a large effect, if there is one. Then a prediction."""
    if release.shrunk_to is not None:
        return ["A coefficient cannot be read on its own, because rows are shrunk before the formula is applied."]
    known = [c for c in release.coefficients if c.value is not None]
    if not known:
        return []
    clear = [c for c in known if not _has_zero(c)] or known
    first = max([c for c in clear if not c.level] or clear, key=lambda c: _size(effect(c).value))
    return [f"{_reading(first, release)} {_prediction(release)}".rstrip()]


def _has_zero(c: Coefficient) -> bool:
    """Whether 0 is in the interval."""
    return c.low is not None and c.high is not None and c.low <= 0 <= c.high


def _reading(c: Coefficient, release: Release) -> str:
    assert c.value is not None
    target, size, way = shown(release.target), supported(abs(c.value), c.error), "higher" if c.value >= 0 else "lower"
    doubt = ", but the interval includes 0, so it may be no difference" if _has_zero(c) else ""
    if c.level:
        other = "the reference level" if c.reference is None else shown(c.reference)
        return (
            f"How to read it: for {shown(c.feature)}, {target} is about {size} {way} than for {other}, with all other "
            f"columns the same{doubt}."
        )
    return (
        f"How to read it: if {shown(c.feature)} is 1 higher and all other columns stay the same, {target} is about "
        f"{size} {way}{doubt}."
    )


def _prediction(release: Release) -> str:
    """For a typical record: numbers at their (noisy) means, levels at their references."""
    told = release.statistics
    if told is None or told.residual_error is None:
        return ""
    means = {row.name: row.mean for row in told.description}
    parts = [0.0 if c.level else _or_nan(means.get(c.feature)) * c.slope for c in release.coefficients]
    value = release.intercept.slope + sum(parts)
    if not isfinite(value):
        return ""
    if release.prediction_range is not None:
        value = min(max(value, release.prediction_range[0]), release.prediction_range[1])
    usual = "every column at its mean" + (
        " and categories at their reference" * any(c.level for c in release.coefficients)
    )
    error = told.residual_error
    return (
        f"For a record with {usual}, the model predicts {supported(value, error / 10)}; about 95 % of such records lie "
        f"within ±{number(2 * error, 2)} of their prediction, if errors are normal."
    )


def _or_nan(value: float | None) -> float:
    return nan if value is None else value


def _size(value: float | None) -> float:
    return abs(value) if value is not None and isfinite(value) else 0.0


def _chart(release: Release) -> list[Content]:
    """What the features do to the prediction. Without their standard deviations, coefficients do not compare."""
    effects = [effect(c) for c in release.coefficients if c.determined]
    if release.statistics is None or not effects:
        return []
    drawn = charts.largest(effects)
    if not drawn:
        return ["The coefficients are too large to be drawn: this model is of no use."]
    text = (
        f"How much {shown(release.target)} differs, all else being equal: for one standard deviation more of a number, "
        "or for a level compared with its reference."
    )
    lines = " Lines are 95 % intervals; a hollow dot means that 0 is inside." * any(e.low is not None for e in drawn)
    axis = f"change in {shortened(release.target, 24)}"
    told = f"{text}{lines}{_not_drawn(release, len(drawn), len(effects))}"
    return [told, charts.effects_picture(drawn, axis)]


def _not_drawn(release: Release, drawn: int, determined: int) -> str:
    """Which coefficients the chart leaves out."""
    hidden = len(release.coefficients) - determined
    told = f" The {drawn} largest of {determined} are drawn." if drawn < determined else ""
    if hidden:
        told += (
            " 1 that is not determined is not drawn."
            if hidden == 1
            else f" {hidden} that are not determined are not drawn."
        )
    return told


def _note(release: Release) -> str:
    if not release.has_errors:
        return (
            "This method does not tell how uncertain its coefficients are. Their units differ (per year, per "
            "kilogram), so a larger coefficient does not mean a more important column."
        )
    told = (
        "std err: how far a coefficient is typically off, by sampling and by privacy noise together. P>|z|: how likely "
        "so large a value would be if the coefficient were 0."
    )
    if release.together:
        return told
    return f"{told} The intercept is the prediction where every column is 0, which may be far from any record."
