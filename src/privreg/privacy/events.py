"""The kinds of events that a privacy plan is made of, each with its exact cost, its purpose and its words.

Statistics are integers: whole multiples of 1/grid of the quantity they stand for. Sensitivities and scales are given
in those grid steps, sensitivities as integers and scales as floats taken at their exact binary value, so that every
cost is an exact rational number. Proofs: docs/proofs/accounting.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import ceil, expm1, inf, isfinite, log, log1p, nextafter, pi, sqrt
from typing import Any, ClassVar, Literal, TypedDict, Unpack

from privreg.privacy.gaussian import normal_above
from privreg.privacy.purposes import purpose_of_old_name

Currency = Literal["pure", "concentrated", "gaussian"]


def round_up(value: Fraction) -> float:
    """The smallest float that is not below `value`."""
    if value > Fraction(1.7e308):
        return inf
    if value < -Fraction(1.7e308):
        return -1.7e308
    result = float(value)
    return result if Fraction(result) >= value else nextafter(result, inf)


def round_down(value: Fraction) -> float:
    """The largest float that is not above `value`."""
    return -round_up(-value)


PI_OVER_8 = Fraction(nextafter(pi, inf)) / 8  # not below π/8
WORDS = 2**32  # a record is in a sample if one of so many words is below `kept`
LARGE = 700  # e^ε of a larger ε is no float


def pick_epsilon(mu_squared: float, left_after: float = 0.0) -> float:
    """The ε of a pick that costs no more than `mu_squared` of Gaussian DP, with so much left after it."""
    square = 0.0
    for _ in range(30 if left_after else 0):  # each round leaves less than a fifth of the error
        factor = (1 + square / (16 * left_after)) * (1 + square / 16)
        square = min(4 * mu_squared / factor, 2 * left_after, 1.0)
    return max(sqrt(mu_squared / round_up(PI_OVER_8)), sqrt(square)) * (1 - 1e-14)


def amplified(epsilon: Fraction, kept: int) -> Fraction:
    """Not below ln(1 + q(e^ε − 1)), q = kept/2³²: what ε becomes on a sample. Proof: docs/proofs/sampling.md."""
    q = Fraction(kept) / WORDS
    if q == 1 or epsilon > LARGE:
        return epsilon
    if epsilon < Fraction(1, 2**40):
        return q * epsilon * (1 + epsilon)  # nothing underflows; e^ε − 1 ≤ ε + ε² and ln(1 + x) ≤ x
    # The margin is far above the rounding of two functions and a product; ln(1 + x) does not magnify relative errors.
    return min(epsilon, Fraction(log1p(float(q) * expm1(round_up(epsilon))) * (1 + 1e-12)))


class About(TypedDict, total=False):
    """What whoever plans an event says of it."""

    purpose: str  # a key of `privreg.privacy.purposes.PURPOSES`
    column: int | None  # the one column that it is about


@dataclass(frozen=True)
class Event:
    """One noisy output: what it is for, what its noise is, and what it costs.

    A new kind is one subclass with a `mechanism` of its own: its fields are its parameters, and it says its cost in at
    least one currency. Nobody else keeps a list of kinds: receipts, files and pages ask the event.
    """

    KINDS: ClassVar[dict[str, type["Event"]]] = {}  # every subclass, by its mechanism
    mechanism: ClassVar[str]
    description: ClassVar[str]  # of the mechanism, in a sentence

    name: str
    purpose: str = field(default="other", kw_only=True)
    column: int | None = field(default=None, kw_only=True)

    def __init_subclass__(cls) -> None:
        if cls.KINDS.setdefault(cls.mechanism, cls) is not cls:
            raise TypeError(f"there is already a mechanism {cls.mechanism!r}")

    def __post_init__(self) -> None:
        for key, value in self.parameters.items():
            if not isfinite(value) or value <= 0:
                raise ValueError(f"{key} must be a positive finite number, got {value!r}")

    @property
    def parameters(self) -> dict[str, float]:
        return {k: v for k, v in vars(self).items() if k not in _ABOUT}

    @property
    def noise(self) -> float | None:
        """The scale of its noise in the units of the statistic, or None if it has no such scale."""
        numbers = self.parameters
        return numbers["scale"] / numbers.get("grid", 1) if "scale" in numbers else None

    # ---- what it costs

    @property
    def pure(self) -> Fraction | None:
        """ε of pure differential privacy, or None if the event has none."""
        return None

    @property
    def rho(self) -> Fraction | None:
        """ρ of zero-concentrated differential privacy, or None: at most ε²/2 of anything that is ε-DP."""
        return None if self.pure is None else self.pure**2 / 2

    @property
    def mu_squared(self) -> Fraction | None:
        """μ² of Gaussian differential privacy (up to `rounding_distance`), or None if the event has none."""
        return None

    @property
    def rounding_distance(self) -> Fraction:
        """Bound on the total variation distance to noise that has exactly this μ²."""
        return Fraction()

    @property
    def extra_delta(self) -> Fraction:
        """δ′, the probability with which the event may give its data away. It comes on top of its other costs."""
        return Fraction()

    @property
    def unspent(self) -> Fraction:
        """How much μ² must be left when the event has been paid: its cost holds only then."""
        return Fraction()

    def covers(self, rows: int) -> bool:  # noqa: ARG002
        """Whether its δ′ and its rounding distance hold for a unit of so many records, which others do for any."""
        return True

    @property
    def approximate(self) -> tuple[Fraction, Fraction] | None:
        """(ε, δ) of an event that has no other cost, or None."""
        return None

    def cost(self) -> dict[str, float]:
        """The event's own cost, rounded up, in each currency it has."""
        if self.approximate is not None:
            epsilon, delta = self.approximate
            return {"epsilon": round_up(epsilon), "delta": round_up(delta)}
        own = {"epsilon": self.pure, "rho": self.rho, "delta": self.extra_delta or None}
        return {k: round_up(v) for k, v in own.items() if v is not None}

    def to_dp_event(self, currency: Currency = "concentrated", rows: int = 1) -> Any:
        """An event of dp-accounting that leaks no less (up to `rounding_distance`), for `rows` records together.

        It has no room for `extra_delta`: whoever asks its accountants takes that off their δ.

        Noise that has a μ² and no ε is Gaussian noise there. Of others the currency decides: the worst of all ε-DP
        mechanisms, a Gaussian with the same μ, or any mechanism with the same ρ. An (ε, δ) has no such event.
        """
        from dp_accounting import dp_event

        if self.mu_squared is not None and (currency == "gaussian" or self.pure is None):
            return gaussian_dp_event(rows**2 * self.mu_squared)
        if self.pure is not None and currency == "pure":
            return dp_event.DiscreteLaplaceDpEvent(round_up(rows * self.pure), 1)
        if self.rho is not None:
            return dp_event.ZCDpEvent(round_up(rows**2 * self.rho))
        return dp_event.UnsupportedDpEvent()


_ABOUT = tuple(field.name for field in fields(Event))


@dataclass(frozen=True)
class Pick(Event):
    """Exponential mechanism by Gumbel noise of `scale` on integer scores.

    `range` bounds how far the changes of any two scores can lie apart when one record is added. The event is
    ε-bounded-range with ε = range/scale: ε-DP, ε²/8-zCDP, and μ-GDP with μ² = πε²/8.
    """

    mechanism = "exponential"
    description = "exponential mechanism (Gumbel noise on integer scores)"
    range: int
    scale: float
    grid: int = 1

    @property
    def pure(self) -> Fraction:
        return Fraction(self.range) / Fraction(self.scale)

    @property
    def rho(self) -> Fraction:
        return self.pure**2 / 8

    @property
    def mu_squared(self) -> Fraction:
        return self.pure**2 * PI_OVER_8


@dataclass(frozen=True)
class EarlyPick(Pick):
    """A pick after which at least `left_after` of the μ² is left, whether that is spent or not.

    Noise that is still to come blurs the pick. So it costs little more than ε²/4, its part of what many small picks
    cost together. Proof: docs/proofs/early.md. Exact check: tests/privacy/test_early_picks.py.
    """

    mechanism = "early exponential"
    description = "exponential mechanism (Gumbel noise on integer scores), with budget left for later steps"
    left_after: float = field(kw_only=True)

    @classmethod
    def of_range(
        cls, name: str, range: int, epsilon: float, left_after: float, grid: int, **about: Unpack[About]
    ) -> Pick:
        """The ε-bounded-range pick of scores that move by at most `range`; a plain one if nothing is left after it."""
        if left_after:
            return cls(name, range, range / epsilon, grid, left_after=left_after, **about)
        return Pick(name, range, range / epsilon, grid, **about)

    @property
    def mu_squared(self) -> Fraction:
        if not self._blurred:
            return super().mu_squared
        square, left = self.pure**2, Fraction(self.left_after)
        return square / 4 * (1 + square / (16 * left)) * (1 + square / 16)

    @property
    def unspent(self) -> Fraction:
        return Fraction(self.left_after if self._blurred else 0)

    @property
    def _blurred(self) -> bool:
        """Whether what is left is enough, and the pick small enough, to cost less than one alone."""
        square = self.pure**2
        return square <= 1 and square <= 2 * Fraction(self.left_after)


@dataclass(frozen=True)
class SampledPicks(Event):
    """So many picks in a row, each as in `Pick`, all on one sample that keeps each record with probability kept/2³².

    On the sample they are E-DP with E = picks·range/scale; on the table ε-DP with ε ≥ ln(1 + q(e^E − 1)). As any ε-DP
    mechanism they are ε²/2-zCDP and 2ε-bounded-range. Proof: docs/proofs/sampling.md. Exact check:
    tests/mechanisms/test_sampling.py.
    """

    mechanism = "sampled picks"
    description = "exponential mechanism on a secret Poisson sample of the records"
    range: int
    scale: float
    picks: int
    kept: int
    grid: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kept > WORDS:
            raise ValueError(f"kept must be at most 2**32, got {self.kept!r}")

    @property
    def pure(self) -> Fraction:
        return amplified(Fraction(self.picks) * Fraction(self.range) / Fraction(self.scale), self.kept)

    @property
    def mu_squared(self) -> Fraction:
        return (2 * self.pure) ** 2 * PI_OVER_8


@dataclass(frozen=True)
class Laplace(Event):
    """Discrete Laplace noise of `scale` on an integer that moves by at most `sensitivity`."""

    mechanism = "laplace"
    description = "discrete Laplace noise"
    sensitivity: int
    scale: float
    grid: int = 1

    @property
    def pure(self) -> Fraction:
        return Fraction(self.sensitivity) / Fraction(self.scale)


@dataclass(frozen=True)
class Gaussian(Event):
    """Discrete Gaussian noise of `scale` on `coordinates` integers whose squared ℓ2 change is bounded."""

    mechanism = "gaussian"
    description = "discrete Gaussian noise"
    sensitivity_squared: int
    scale: float
    coordinates: int
    grid: int = 1

    @classmethod
    def costing(
        cls, name: str, mu_squared: float, grid: int, coordinates: int = 1, **about: Unpack[About]
    ) -> "Gaussian":
        """The event that costs `mu_squared` for a statistic that moves by at most 1, in steps of 1/grid."""
        return cls(name, grid**2, grid / sqrt(mu_squared), coordinates, grid, **about)

    @property
    def rho(self) -> Fraction:
        return self.mu_squared / 2

    @property
    def mu_squared(self) -> Fraction:
        return Fraction(self.sensitivity_squared) / Fraction(self.scale) ** 2

    @property
    def rounding_distance(self) -> Fraction:
        """To a rounded continuous Gaussian: at most 1/(8σ²) a coordinate."""
        return self.coordinates / (8 * Fraction(self.scale) ** 2)


@dataclass(frozen=True)
class GaussianMoments(Event):
    """Discrete Gaussian noise on Σ u·uᵀ, mirrored, and Σ u·r, for integer rows u and integers r.

    With N² = `norm_squared` and a = `products`/PARTS, a record has |u|² ≤ N² and |u|²r² ≤ N⁴ − a·|u|⁴: a long row,
    which moves the products most, has less room for its residual. The gradient gets noise of `scale`, products on the
    diagonal `diagonal_scale` ≥ scale/√a, those above it `off_scale` ≥ diagonal_scale/√2. So no record costs more than
    N⁴/scale².
    Proof: docs/proofs/moments.md. Exact check: tests/mechanisms/test_moments.py.
    """

    mechanism = "gaussian moments"
    description = "discrete Gaussian noise on sums of products and a gradient, released together"
    norm_squared: int
    scale: float
    width: int
    products: int
    grid: int = 1

    PARTS: ClassVar[int] = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.products > self.PARTS:
            raise ValueError(f"products must be at most {self.PARTS}, got {self.products!r}")

    @property
    def diagonal_scale(self) -> float:
        return nextafter(self.scale * sqrt(self.PARTS / self.products) * (1 + 1e-15), inf)

    @property
    def off_scale(self) -> float:
        return nextafter(self.diagonal_scale / sqrt(2) * (1 + 1e-15), inf)

    @property
    def rho(self) -> Fraction:
        return self.mu_squared / 2

    @property
    def mu_squared(self) -> Fraction:
        """The cost is linear in |u|⁴, so the worst row has no length or the full one."""
        matrix = max(Fraction(self.diagonal_scale) ** -2, Fraction(self.off_scale) ** -2 / 2)
        gradient = Fraction(self.scale) ** -2
        rest = 1 - Fraction(self.products, self.PARTS)
        return Fraction(self.norm_squared) ** 2 * max(gradient, matrix + rest * gradient)

    @property
    def rounding_distance(self) -> Fraction:
        off = self.width * (self.width - 1) // 2
        parts = ((self.width, self.scale), (self.width, self.diagonal_scale), (off, self.off_scale))
        return sum((count / (8 * Fraction(scale) ** 2) for count, scale in parts), Fraction())


@dataclass(frozen=True)
class LevelCounts(Event):
    """Counts of the values that occur in `columns` columns, with discrete Gaussian noise, shown above a threshold.

    One record adds one, that is `grid` steps, to one count of each column. Only values with at least `least` records
    are candidates, and of those only the ones whose noisy count exceeds `threshold` are released. Which values are
    candidates is secret, so one that is there for a single unit of at most `rows` records may give it away: that has
    at most the probability `extra_delta`. How many values occur is never recorded.

    The vector may hold counts of declared levels too, which have no threshold. They cost the same and add no δ′, and
    `columns` counts their columns as well. Proof: docs/proofs/levels.md. Exact check: tests/privacy/test_levels.py.
    """

    mechanism = "gaussian threshold"
    description = "discrete Gaussian noise on the counts of values; only counts above a threshold are released"
    columns: int
    rows: int
    scale: float
    least: int
    threshold: int
    grid: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, value in self.parameters.items():
            if key != "scale" and not isinstance(value, int):
                raise ValueError(f"{key} must be a whole number, got {value!r}")

    @classmethod
    def costing(
        cls,
        name: str,
        mu_squared: float | Fraction,
        columns: int,
        rows: int,
        least: int,
        extra_delta: float | Fraction,
        grid: int,
        **about: Unpack[About],
    ) -> "LevelCounts":
        """The event that costs no more than `mu_squared` for one record, with the lowest threshold at this δ′."""
        scale = grid * sqrt(columns / mu_squared)
        while columns * grid**2 > Fraction(mu_squared) * Fraction(scale) ** 2:
            scale = nextafter(scale, inf)

        def at(threshold: int) -> "LevelCounts":
            return cls(name, columns, rows, scale, least, threshold, grid, **about)

        low = (least + rows - 1) * grid - 1  # no event has its threshold here: see `extra_delta`
        high = low + ceil(38 * Fraction(scale))
        if at(high).extra_delta > extra_delta:
            raise ValueError(f"no threshold is high enough for extra_delta={extra_delta!r}")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if at(middle).extra_delta <= extra_delta else (middle, high)
        return at(high)

    @property
    def rho(self) -> Fraction:
        return self.mu_squared / 2

    @property
    def mu_squared(self) -> Fraction:
        return self.columns * Fraction(self.grid) ** 2 / Fraction(self.scale) ** 2

    @property
    def rounding_distance(self) -> Fraction:
        """Of two neighbours only rows·columns counts differ, however many there are."""
        return self.rows * self.columns / (8 * Fraction(self.scale) ** 2)

    @property
    def extra_delta(self) -> Fraction:
        """rows·columns·P[noise > threshold − highest], rounded up.

        A value that is no candidate without the unit has at most `least` − 1 records, and with it `rows` more. Integer
        noise Z has P[Z > k] ≤ Φ(−k/σ) for k ≥ 0.
        """
        highest = (self.least + self.rows - 1) * self.grid
        if self.threshold < highest:
            return Fraction(1)
        distance = (self.threshold - highest) / Fraction(self.scale)
        return min(self.rows * self.columns * Fraction(normal_above(-round_down(distance))), Fraction(1))

    def covers(self, rows: int) -> bool:
        return rows <= self.rows


@dataclass(frozen=True)
class BlackBox(Event):
    """A mechanism known only to be (epsilon, delta)-DP."""

    mechanism = "black box"
    description = "a mechanism known only by its ε and δ"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (isfinite(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"epsilon must be a finite number ≥ 0, got {self.epsilon!r}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be in [0, 1), got {self.delta!r}")

    @property
    def approximate(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.epsilon), Fraction(self.delta)


@dataclass(frozen=True)
class ProposeTestRelease(Event):
    """A test with Laplace noise of `scale`, then, if it passes, a draw by depth with weights exp(rate·depth).

    The draw costs `steps`·rate (how far one unit of privacy can move depth up and down together) and `rounding`. Both
    the test's chance to pass wrongly and the draw's own δ are at most `delta`, and only one of them applies.
    Proof: docs/proofs/tukey.md.
    """

    mechanism = "propose-test-release"
    description = "propose-test-release, then the exponential mechanism on Tukey depth"
    scale: float
    rate: float
    steps: int
    rounding: float
    delta: float
    grid: int = 1

    @property
    def epsilon(self) -> Fraction:
        return 1 / Fraction(self.scale) + self.steps * Fraction(self.rate) + Fraction(self.rounding)

    @property
    def approximate(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, Fraction(self.delta)

    @property
    def threshold(self) -> int:
        """The noisy distance passes from here on: with distance −1 that has probability at most `delta`."""
        return max(ceil(Fraction(self.scale) * Fraction(-log(2 * self.delta) * (1 + 1e-12))), 0)


def add(costs: Iterable[Fraction | None]) -> Fraction | None:
    """The sum, or None if one of them is None."""
    total = Fraction()
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def gaussian_dp_event(mu_squared: Fraction) -> Any:
    """dp-accounting's event of a Gaussian with this μ², rounded up."""
    from dp_accounting import dp_event

    mu = nextafter(sqrt(round_up(mu_squared)), inf)
    return dp_event.GaussianDpEvent(nextafter(1 / mu, 0))


def adaptive_sum(events: Iterable[Event]) -> Fraction | None:
    """The least μ² that allows the events in their order, with what has to be left after them; None if one has none."""
    spent = least = Fraction()
    for event in events:
        if event.mu_squared is None:
            return None
        spent += event.mu_squared
        least = max(least, spent + event.unspent)
    return least


def gaussian_cost(event: Event) -> Fraction | None:
    """μ² of an event: its own, or that of any ε-DP mechanism, which is 2ε-bounded-range; None if it has neither."""
    if event.mu_squared is None and event.pure is not None:
        return (2 * event.pure) ** 2 * PI_OVER_8
    return event.mu_squared


def event_from_dict(record: dict[str, Any]) -> Event:
    """An event from its entry in `Receipt.to_dict`. Old entries have no purpose: their name says it."""
    said = (record["purpose"], record["column"]) if "purpose" in record else purpose_of_old_name(record["name"])
    about = dict(zip(("purpose", "column"), said, strict=True))
    return Event.KINDS[record["mechanism"]](record["name"], **record["parameters"], **about)
