"""What a fit tells beside its coefficients: how well it fits, joint tests, and what the columns look like."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class JointTest:
    """A Wald test that all coefficients of one term are 0."""

    term: str
    statistic: float | None  # χ²; None if the errors allow none
    df: int
    pvalue: float | None


@dataclass(frozen=True)
class Described:
    """One column, one level of a category, or the target. None where nothing was released."""

    name: str
    centre: float | None = None
    low: float | None = None  # ends of the range that values are clipped to
    high: float | None = None
    mean: float | None = None  # of the clipped values
    mean_error: float | None = None  # its standard error, by privacy noise and sampling
    std: float | None = None
    share: float | None = None  # of a level: the part of the records that have it


@dataclass(frozen=True)
class Correlations:
    """Of the clipped columns of the model. None where a column's spread drowned in noise."""

    names: list[str] = field(default_factory=list)
    values: list[list[float | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Statistics:
    """From released values only, so all of it is free. None where the model is a constant."""

    r2: float | None = None
    r2_error: float | None = None
    residual_error: float | None = None  # standard deviation of the residuals, in the units of the target
    residual_error_se: float | None = None
    shrunk: bool = False  # whether coefficients that predict differ visibly from those to read
    joint_tests: list[JointTest] = field(default_factory=list)
    description: list[Described] = field(default_factory=list)
    correlations: Correlations = field(default_factory=Correlations)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return asdict(self)
