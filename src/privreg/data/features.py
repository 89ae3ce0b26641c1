"""What a model computes with: a numeric column, one level of a category, as 0 and 1, or a product of these."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Feature:
    """One feature. Of a level it says of which category, so that nobody has to take its name apart.

    `name` is for people: two features may have the same one, since a level may be spelled in any way.
    """

    name: str
    source: int  # number of the input column
    code: int | None = None  # of a level: its number among the levels of the column
    category: str | None = None  # of a level: what the input column is called
    level: Any = None
    share: float | None = None  # of a level: the part of the records that have it, if that was released
    share_noise: float = 0.0  # its standard deviation
    centre: float | None = None  # of a number: what a missing one counts as, if that was released
    range: tuple[float, float] | None = None  # of a number: known from outside the data
    times: tuple[tuple[int, int | None], ...] = ()  # of a product: columns, and codes of levels, of the other factors
    part: float = 1.0  # of a product of a number with levels: the part of the records that have these, as a guess
    row: int = 0  # its place among all that is shown of a table, columns that are left out included

    @property
    def parts(self) -> tuple[tuple[int, int | None], ...]:
        """The columns that are multiplied, and the code of a level where a column is a category."""
        return (self.source, self.code), *self.times
