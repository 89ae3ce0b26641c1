"""The model: table of coefficients, chart, formula, and how to read them."""

from dataclasses import replace
from math import isfinite

from privreg._format import count_of, number, shortened, shown
from privreg.report import charts
from privreg.report.document import Code, Content, Grid, TableCell
from privreg.results.release import Coefficient, Release
from privreg.results.summary import estimand, fit_lines
from privreg.results.tables import (
    MOST_CORRELATED,
    Cells,
    coefficient_cells,
    correlation_cells,
    description_cells,
    joint_cells,
)


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
    """target ≈ intercept + coefficient · feature …, a line for each, with the cuts: the whole model."""
    lines = [f"{shown(release.target)} ≈ {_plain(release.intercept.slope)}"]
    for c in release.coefficients:
        lines.append(f"  {_signed(c.slope)} · {_cut(c.feature, c.linear_from, c.linear_to)}")
    return "\n".join(lines)


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {_plain(abs(value))}"


def _cut(feature: str, low: float | None, high: float | None) -> str:
    """The feature, cut off at the ends of a range if there is one."""
    name = shown(feature)
    return name if low is None or high is None else f"cut({name}, {_plain(low)}, {_plain(high)})"


def _plain(value: float) -> str:
    """Without commas, which separate the ends of a range."""
    return number(value, 6).replace(",", "")


def table(release: Release) -> Grid:
    """All coefficients, the intercept last."""
    return _grid(coefficient_cells(release), "Coefficients", _note(release))


def _grid(cells: list[Cells], title: str, note: str) -> Grid:
    return Grid(list(cells[0]), [[TableCell(*cell) for cell in row.values()] for row in cells], title, note)


def _linear(release: Release) -> list[Content]:
    used, offered = len(release.coefficients), len(release.columns)
    columns = f"{used} of {count_of(offered, 'column')}" if used < offered else "all columns that were offered"
    return [
        " ".join([f"The model uses {columns}. All numbers are in the units of the data.", *fit_lines(release)]),
        *([" ".join(told)] if (told := estimand(release)) else []),
        *_example(release),
        table(release),
        *_joint_tests(release),
        *_chart(release),
        *_columns(release),
        "The model as a formula, with the coefficients that predictions use:",
        Code(formula(release)),
        *_rule(release),
    ]


def _joint_tests(release: Release) -> list[Content]:
    if release.statistics is None or not release.statistics.joint_tests:
        return []
    note = "Whether all coefficients of a term may be 0 at once: a Wald test, whose p-value is small if they are not."
    return [_grid(joint_cells(release.statistics), "Joint tests", note)]


def _columns(release: Release) -> list[Content]:
    """What the columns look like, and how those of the model go together."""
    if release.statistics is None:
        return []
    described, related = description_cells(release.statistics), correlation_cells(release.statistics)
    note = "By what the fit has released anyway, with noise: of the values as clipped, and of levels of all records."
    found: list[Content] = [_grid(described, "The columns", note)]
    if 1 < len(related) <= MOST_CORRELATED:
        found.append(_grid(related, "Correlations", "Of the columns of the model, as clipped; with noise."))
    return found


def _rule(release: Release) -> list[Content]:
    """How values are changed before the formula is applied, if they are."""
    if release.shrunk_to is not None:
        return ["Before the formula is applied, large rows are shrunk as a whole: “What to know” says how."]
    if not release.has_ranges:
        return []
    rule = (
        "cut(x, a, b) is x, but never less than a or more than b: a value beyond its range "
        "counts as if it were at the end of the range."
    )
    if release.prediction_range is None:
        return [rule]
    low, high = map(number, release.prediction_range)
    return [f"{rule} Predictions of {shown(release.target)} always lie between {low} and {high}."]


def _constant(release: Release) -> list[Content]:
    return [
        f"The model is a constant: it predicts {number(release.intercept.slope)} for every row.",
        Code(formula(release)),
        f"This does not mean that {shown(release.target)} is unrelated to the columns. At this budget, the noise would "
        "have drowned out what the records tell, and wrong coefficients would have been worse than none.",
        "What helps: more records, a larger ε, or fewer columns. The command privreg plan estimates beforehand, "
        "without reading data, how accurate PrivateLinearRegression will be. What this fit spent stays spent; another "
        "one spends more.",
        *(["Read the warnings under “What to know” before you use it."] if release.warnings else []),
    ]


def _example(release: Release) -> list[Content]:
    """How to read one coefficient: that of a number with a large effect, if there is one."""
    if release.shrunk_to is not None:
        return ["A coefficient cannot be read on its own, because rows are shrunk before the formula is applied."]
    known = [c for c in release.coefficients if c.value is not None]
    if not known:
        return []
    first = max([c for c in known if not c.level] or known, key=lambda c: _size(effect(c).value))
    assert first.value is not None
    size, way = number(abs(first.value)), "higher" if first.value >= 0 else "lower"
    if first.level:
        return [
            f"How to read a level: for {shown(first.feature)} the prediction is {size} {way} than for the reference "
            "level of that column, all else being the same."
        ]
    return [
        f"How to read a coefficient: if {shown(first.feature)} is 1 higher and all other columns are the same, the "
        f"prediction of {shown(release.target)} is {size} {way}. This is an association in these records, not a cause."
    ]


def _size(value: float | None) -> float:
    return abs(value) if value is not None and isfinite(value) else 0.0


def _chart(release: Release) -> list[Content]:
    effects = [effect(c) for c in release.coefficients]
    drawn = charts.largest(effects)
    if not any(e.determined for e in effects):
        return []
    if not drawn:
        return ["The coefficients are too large to be drawn: this model is of no use."]
    which = f"The {len(drawn)} largest of {len(effects)} are drawn. " if len(drawn) < len(effects) else ""
    if release.statistics is not None:
        what, how = f"change of {shortened(release.target, 20)}", "for a standard deviation, or for a level"
        text = (
            "Coefficients have different units (per year, per kilogram), so they cannot be compared. The bars can: "
            "they show what one standard deviation of a column is worth, or a level instead of its reference. "
        )
    else:
        what, how = "coefficient", "in the units of the data"
        text = (
            "The chart shows the coefficients as they are. They have different units (per year, per kilogram), so a "
            "longer bar does not mean a more important column. "
        )
    lines = "Lines are 95 % intervals. " if any(e.low is not None for e in drawn) else ""
    return [f"{text}{which}{lines}".rstrip(), charts.effects_picture(drawn, what, how)]


def _note(release: Release) -> str:
    errors = (
        "std err: how far a coefficient is typically off, by chance in the records and by privacy noise together. z: "
        "the coefficient in standard errors. P>|z|: how likely so large a z would be if the coefficient were 0. The "
        "95 % interval contains the true value in about 95 of 100 such fits, if a linear model is true."
        if release.has_errors
        else "This method does not tell how uncertain its coefficients are."
    )
    return f"The intercept is the formula's value where all features are 0, which may be far from any record. {errors}"
