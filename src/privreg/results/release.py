"""What a fit released: the one source of summaries, reports and JSON. Nothing else may be shown."""

from dataclasses import asdict, dataclass, field
from typing import Any

from privreg._format import number
from privreg.data.schema import Schema
from privreg.privacy.origin import Origin
from privreg.privacy.receipt import Receipt
from privreg.results.statistics import Statistics

# Warnings that say what to do already, so that advice about the budget would mislead.
NO_NUMBERS = "Most records have no number in the target column: check the target, and the separator of the file."
NO_RECORDS = (
    "Almost no record has a value in every column: check the target and, for a text file, the separator, and that each "
    "record is on one line, even where cells are quoted."
)
# Warnings that a verdict must know.
MOSTLY_NOISE = "Most of what the fit found may be noise."
TOGETHER = (
    "The columns are alike, and far more than the data can support one by one, so the model uses weighted sums of all "
    "of them: it predicts, but no single coefficient is determined. For coefficients, limit the number of features (k)."
)
NO_CENTRE = "The centre of the target is unreliable at this budget: all predictions may be far off."

WARNING = "Warning: "  # before a note that is one


def range_note(ends: tuple[float, float]) -> str:
    """The note about the range of predictions, which the terminal shows only if asked for all notes."""
    return f"Predictions lie between {number(ends[0])} and {number(ends[1])}."


def public_note(rows: int) -> str:
    """The note about what public rows told."""
    return f"Centres, spreads and correlations of columns come from {rows:,} public rows, which nothing protects."


@dataclass(frozen=True)
class Coefficient:
    """One feature of a model, in the units of the data. None where the method does not tell."""

    feature: str
    value: float | None  # None if the budget does not determine it
    error: float | None = None  # standard error, of sampling and privacy noise together
    low: float | None = None  # ends of the 95 % interval
    high: float | None = None
    linear_from: float | None = None  # ends of the range in which the model is linear in this feature
    linear_to: float | None = None
    level: bool = field(default=False, kw_only=True)  # a level of a category, or of a boolean: 0 or 1
    z: float | None = field(default=None, kw_only=True)
    pvalue: float | None = field(default=None, kw_only=True)
    determined: bool = field(default=True, kw_only=True)
    predicts: float | None = field(default=None, kw_only=True)  # what predictions use, if that is not the value
    step: float | None = field(default=None, kw_only=True)  # of a number: about one standard deviation
    reference: str | None = field(default=None, kw_only=True)  # of a level: the one that it is compared with

    @property
    def slope(self) -> float:
        """What predictions use."""
        used = self.value if self.predicts is None else self.predicts
        assert used is not None
        return used


@dataclass(frozen=True)
class Saved:
    """What a model file holds beside the rest of a release: enough to predict again."""

    estimator: str
    target: str | None  # if it was told
    named: bool  # whether the columns have names of their own, unlike those of an array
    schema: Schema
    model: dict[str, Any]


@dataclass(frozen=True)
class Release:
    """A fitted model in words and numbers."""

    method: str
    target: str
    columns: list[str]  # all that were offered, one for each level of a category
    coefficients: list[Coefficient]  # of the features in the model; empty if it is a constant
    intercept: Coefficient
    prediction_range: tuple[float, float] | None
    records: float | None  # a private estimate, cautious: more likely too low than too high
    notes: list[str]
    warnings: list[str]
    receipt: Receipt
    chosen: list[str] | None = None  # the same features in the order chosen, if that is another
    statistics: Statistics | None = None  # None if the method tells none
    shrunk_to: float | None = None  # norm to which rows are shrunk before the formula is applied
    saved: Saved | None = None
    origin: Origin | None = None  # the release that levels and counts come from; None if all were declared
    typed: list[str] = field(default_factory=list)  # columns whose levels their types told: nothing protects these
    public_rows: int = 0  # that tell about the columns: nothing protects these

    @property
    def together(self) -> bool:
        """Whether the model uses weighted sums of all columns, so that no coefficient is determined."""
        return TOGETHER in self.warnings

    @property
    def earlier(self) -> Origin | None:
        """The release that levels and counts come from, if that is not this one."""
        return self.origin if self.origin is not None and self.origin.earlier else None

    @property
    def inputs(self) -> list[str]:
        """The columns of the table, as far as they are known: a category is one."""
        return self.columns if self.saved is None else self.saved.schema.inputs

    @property
    def formula(self) -> str | None:
        """As it was written, if there was one."""
        schema = None if self.saved is None else self.saved.schema
        return None if schema is None or schema.formula is None else schema.formula.text

    @property
    def where(self) -> str | None:
        """The condition that records had to meet, if there was one."""
        return None if self.saved is None else self.saved.schema.where or None

    @property
    def fills(self) -> bool:
        """Whether missing values are filled in; if not, records without a value are left out."""
        return self.saved is not None and self.saved.schema.fill

    @property
    def has_errors(self) -> bool:
        """Whether the method tells how uncertain its coefficients are."""
        return any(c.error is not None or not c.determined for c in [*self.coefficients, self.intercept])

    @property
    def has_ranges(self) -> bool:
        """Whether the method tells where its model is linear."""
        return any(c.linear_from is not None for c in self.coefficients)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        named = {name: getattr(self, name) for name in ("method", "target", "formula", "where", "columns")}
        return named | {
            "selected_features": [c.feature for c in self.coefficients] if self.chosen is None else self.chosen,
            "coefficients": [asdict(c) for c in self.coefficients],
            "intercept": asdict(self.intercept),
            "prediction_range": self.prediction_range,
            "records": self.records,
            "public_rows": self.public_rows,
            "statistics": None if self.statistics is None else self.statistics.to_dict(),
            "notes": self.notes,
            "warnings": self.warnings,
            "receipt": self.receipt.to_dict(),
        }


def release_of(model: Any, target: str | None = None, method: str | None = None) -> Release:
    """What a fitted private model, or one from a file, released.

    `target` and `method` are names to show. By default they are those that the file has, or "y" and the class.
    """
    if not hasattr(model, "_release"):
        raise TypeError(f"{type(model).__name__} is not a private model, so it has no release")
    release: Release = model._release(target, method)
    return release
