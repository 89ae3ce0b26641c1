"""Clocks inside a fit: how long threads spend in one function."""

import time
from collections.abc import Iterator
from threading import Lock
from typing import Any


class Clock:
    """Seconds in all threads together, and calls."""

    def __init__(self) -> None:
        self.seconds, self.calls, self._lock = 0.0, 0, Lock()

    def _add(self, start: float, calls: int) -> None:
        with self._lock:
            self.seconds += time.perf_counter() - start
            self.calls += calls

    @classmethod
    def of_function(cls, owner: Any, name: str) -> "Clock":
        """Times a function from now on."""
        clock, function = cls(), getattr(owner, name)

        def timed(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                clock._add(start, 1)

        setattr(owner, name, timed)
        return clock

    @classmethod
    def of_iterator(cls, owner: Any, name: str) -> "Clock":
        """Times what an iterator takes to give its items."""
        clock, function = cls(), getattr(owner, name)

        def timed(*given: Any, **named: Any) -> Iterator[Any]:
            items = function(*given, **named)
            while True:
                start = time.perf_counter()
                try:
                    item = next(items)
                except StopIteration:
                    return
                finally:
                    clock._add(start, 1)
                yield item

        setattr(owner, name, timed)
        return clock
