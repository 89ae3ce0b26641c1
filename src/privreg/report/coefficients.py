"""The model: table of coefficients, chart, formula, and how to read them."""

from dataclasses import replace
from math import isfinite

from privreg._format import count_of, number, shortened, shown
from privreg.report import charts
from privreg.report.document import Code, Content, Grid, TableCell
from privreg.results.release import Cells, Coefficient, Release, coefficient_cells


def effect(c: Coefficient) -> Coefficient:
    """How much the prediction changes when the feature goes through its linear range, or a level from 0 to 1."""
    if c.linear_from is None or c.linear_to is None or c.level:
        return c
    width = c.linear_to - c.linear_from
    low, high = (None if end is None else end * width for end in (c.low, c.high))
    return replace(c, value=c.value * width, low=low, high=high)


def blocks(release: Release) -> list[Content]:
    """The section."""
    return _linear(release) if release.coefficients else _constant(release)


def formula(release: Release) -> str:
    """target ≈ intercept + coefficient · feature …, a line for each, with the cuts: the whole model."""
    lines = [f"{shown(release.target)} ≈ {_plain(release.intercept.value)}"]
    for c in release.coefficients:
        inner = _cut(c.feature, c.linear_from, c.linear_to)
        lines.append(f"  {_signed(c.value)} · {inner}")
        if c.outer_value is not None:
            outer = _cut(c.feature, c.outer_from, c.outer_to)
            lines.append(f"  {_signed(c.outer_value)} · ({outer} − {inner})")
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
    """All coefficients in the order chosen, the intercept last."""
    return _grid(coefficient_cells(release), "Coefficients", _note(release))


def _grid(cells: list[Cells], title: str, note: str) -> Grid:
    return Grid(list(cells[0]), [[TableCell(*cell) for cell in row.values()] for row in cells], title, note)


def _linear(release: Release) -> list[Content]:
    used, offered = len(release.coefficients), len(release.columns)
    columns = (
        f"{used} of {count_of(offered, 'column')}, listed in the order in which they were chosen"
        if used < offered
        else "all columns that were offered"
    )
    return [
        f"The model uses {columns}. All numbers are in the units of the data.",
        _example(release),
        table(release),
        *_chart(release),
        "The model as a formula:",
        Code(formula(release)),
        *_rule(release),
    ]


def _rule(release: Release) -> list[Content]:
    """How values are changed before the formula is applied, if they are."""
    if release.shrunk_to is not None:
        return ["Before the formula is applied, large rows are shrunk as a whole: “What to know” says how."]
    if not release.has_ranges:
        return []
    rule = (
        "cut(x, a, b) is x, but never less than a or more than b: a value beyond its range in the table (“linear "
        "between”) counts as if it were at the end of the range. A column with a second line goes on with that slope, "
        "up to the end of its second range."
    )
    if release.prediction_range is None:
        return [rule]
    low, high = map(number, release.prediction_range)
    return [f"{rule} Predictions of {shown(release.target)} always lie between {low} and {high}."]


def _constant(release: Release) -> list[Content]:
    return [
        f"The model is a constant: it predicts {number(release.intercept.value)} for every row.",
        Code(formula(release)),
        f"This does not mean that {shown(release.target)} is unrelated to the columns. At this budget, the noise would "
        "have drowned out what the records tell, and wrong coefficients would have been worse than none.",
        "What helps: more records, a larger ε, or fewer columns. The command privreg plan estimates beforehand, "
        "without reading data, how accurate PrivateLinearRegression will be. What this fit spent stays spent; another "
        "one spends more.",
        *(["Read the warnings under “What to know” before you use it."] if release.warnings else []),
    ]


def _example(release: Release) -> str:
    if release.shrunk_to is not None:
        return "A coefficient cannot be read on its own, because rows are shrunk before the formula is applied."
    single = [c for c in release.coefficients if not c.level] or release.coefficients
    first = max(single, key=lambda c: _size(effect(c).value))
    way = "higher" if first.value >= 0 else "lower"
    if first.level:
        return (
            f"How to read a level: for {shown(first.feature)} the prediction is {number(abs(first.value))} {way} than "
            "for the reference level of that column, all else being the same."
        )
    return (
        f"How to read a coefficient: if {shown(first.feature)} is 1 higher and all other columns are the same, the "
        f"prediction of {shown(release.target)} is {number(abs(first.value))} {way}. This is an association in these "
        "records, not a cause."
    )


def _size(value: float) -> float:
    return abs(value) if isfinite(value) else 0.0


def _chart(release: Release) -> list[Content]:
    effects = [effect(c) for c in release.coefficients]
    drawn = charts.largest(effects)
    if not drawn:
        return ["The coefficients are too large to be drawn: this model is of no use."]
    which = f"The {len(drawn)} largest of {len(effects)} are drawn. " if len(drawn) < len(effects) else ""
    if release.has_ranges:
        what, how = f"change of {shortened(release.target, 20)}", "from end to end of the range"
        text = (
            "Coefficients have different units (per year, per kilogram), so they cannot be compared. The bars can: "
            "they show how much the prediction changes when a feature goes from the lower to the upper end of its "
            "linear range, or a level of a category from 0 to 1. (A number that is only ever 0 or 1 does less: its "
            "effect is its coefficient.) "
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
        "Std. error: how far a coefficient is typically off, by chance in the records and by privacy noise together. "
        "The 95 % interval contains the true value in about 95 of 100 such fits, if a linear model is true."
        if release.has_errors
        else "This method does not tell how uncertain its coefficients are."
    )
    return f"The intercept is the formula's value where all features are 0, which may be far from any record. {errors}"
