"""Values from a JSON file: of the kind that is expected, or ValueError."""

from collections.abc import Callable
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # the command line reads declarations before it loads numpy
    from privreg._types import Float64

T = TypeVar("T")


def require(condition: bool, message: str) -> None:
    """Raise ValueError with the message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def fields(record: Any, names: str) -> None:
    """An object with exactly these keys, given in one text."""
    require(isinstance(record, dict) and record.keys() == set(names.split()), f"expected the fields {names}")


def number(value: Any, what: str) -> float:
    require(type(value) in (int, float) and _is_finite(value), f"{what} must be a finite number")
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer beyond float64
        return False


def whole(value: Any, what: str, least: int, most: int = 2**62) -> int:
    require(type(value) is int and least <= value <= most, f"{what} must be a whole number from {least} to {most}")
    return int(value)


def text(value: Any, what: str) -> str:
    require(isinstance(value, str), f"{what} must be text")
    return str(value)


def flag(value: Any, what: str) -> bool:
    require(isinstance(value, bool), f"{what} must be true or false")
    return bool(value)


def entries(value: Any, what: str, read: Callable[[Any, str], T]) -> list[T]:
    """A list, each entry read by `read(entry, what)`."""
    require(isinstance(value, list), f"{what} must be a list")
    return [read(entry, what) for entry in value]


def texts(value: Any, what: str) -> list[str]:
    return entries(value, what, text)


def numbers(value: Any, what: str, size: int, *, missing: bool = False) -> "Float64":
    """Finite numbers; null for NaN where values may be missing."""
    values = entries(value, what, lambda v, what: nan if missing and v is None else number(v, what))
    require(len(values) == size, f"{what} must be {size} numbers")
    import numpy as np

    return np.array(values, np.float64)
