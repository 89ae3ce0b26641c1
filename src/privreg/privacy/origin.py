"""Where a schema comes from: what its release cost, and whom that protects."""

from dataclasses import asdict, dataclass
from typing import Any

from privreg._format import epsilon_delta
from privreg._json import fields, flag, number, require, text, whole
from privreg.privacy.promise import bounds
from privreg.privacy.receipt import ONE_PERSON, Receipt

_FOUND = "Levels and counts come from an earlier release"


@dataclass(frozen=True)
class Origin:
    """The release that found out what a schema says. A fit that is given the schema does not pay for it again, but its
    results show it, so they must say what it cost.
    """

    epsilon: float | None  # None if it is not known
    delta: float | None
    unit: str  # what it protects, in words; empty if that is not known
    rows: int  # records that the unit may have
    private: bool  # False if the noise came from a seed
    earlier: bool = False  # whether the schema was given to the fit that shows it, which paid for its own events only

    @classmethod
    def of(cls, receipt: Receipt) -> "Origin":
        """Of a fit, or of a reading, with this receipt: its budget is what holds."""
        return cls(*bounds(receipt), receipt.unit, receipt.rows, receipt.private)

    def protects_people(self, rows: int) -> bool:
        """Whether it is known to protect people of whom so many rows are used."""
        return self.unit.startswith(ONE_PERSON) and self.rows >= rows

    @property
    def sentence(self) -> str:
        """What to know about a fit that was given the schema."""
        if not self.private:
            return f"{_FOUND} whose noise came from a seed (random_state), so they are not protected."
        if self.epsilon is None or self.delta is None:
            return f"{_FOUND} of which is not known what it cost or whom it protects; that cost comes on top."
        return f"{_FOUND} ({epsilon_delta(self.epsilon, self.delta)}, {self.unit}), whose cost comes on top."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Any) -> "Origin":
        """From what `to_dict` gave; ValueError for nonsense."""
        fields(record, "epsilon delta unit rows private earlier")
        epsilon, delta = record["epsilon"], record["delta"]
        require(
            (epsilon is None) == (delta is None), "epsilon and delta of the origin must be known or unknown together"
        )
        if epsilon is not None:
            epsilon, delta = number(epsilon, "epsilon of the origin"), number(delta, "delta of the origin")
            require(epsilon >= 0 and 0 <= delta < 1, "epsilon and delta of the origin must not be negative, δ below 1")
        return cls(
            epsilon,
            delta,
            text(record["unit"], "unit of the origin"),
            whole(record["rows"], "rows of the origin", 1),
            flag(record["private"], "private of the origin"),
            flag(record["earlier"], "earlier of the origin"),
        )


UNKNOWN = Origin(None, None, "", 1, private=True, earlier=True)  # of files that do not say it
