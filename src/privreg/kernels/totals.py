"""Sums over records of exact integers: the same whatever parts the records come in, and whoever adds them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from privreg._types import Float64, Int32, Int64

T = TypeVar("T")


class Column(Protocol):
    """A column that may come in parts. A task is called on each, and its results are added up."""

    @property
    def size(self) -> int: ...
    def total(self, task: Callable[[Float64], T]) -> T: ...


Values = Float64 | Column


def total_of(values: Values, task: Callable[[Float64], Any]) -> Any:
    """What the task finds in all of the values."""
    return task(values) if isinstance(values, np.ndarray) else values.total(task)


@dataclass(frozen=True)
class Counts:
    """How often each code occurs, codes in order."""

    codes: Int32
    counts: Int64

    def __add__(self, other: "Counts") -> "Counts":
        codes, place = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(codes.size, np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return Counts(codes, counts)
