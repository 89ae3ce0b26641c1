"""What a fit is doing, in words for people who wait.

An estimator tells the name of each step when its noise is drawn, so what people wait for is what comes next. An engine
that reads from disk tells each pass over the data. Which steps and passes there are follows from released values alone,
so they may be shown. Nothing is counted here: how much of the data is done stays secret.
"""

import re
from collections.abc import Callable

COLUMNS, FITTING, CHOOSING = "finding out what the columns hold", "fitting", "choosing features"
PHASES = 3  # of least squares: `PrivateLinearRegression` has so many, unless columns are used together, in rounds
# How the name of a step begins, and what comes after it. None: the work that the command is for.
_AFTER: tuple[tuple[str, str | None], ...] = (
    (r"count all records|kinds of", COLUMNS),
    (r"common values|counts of levels|centre of|count the records", None),
    (r"balance of", CHOOSING),
    (r"\w+ of the target", "finding the range of the target"),
    (r"\w+ of (all )?column", "finding the ranges of the columns"),
    (r"choose feature", CHOOSING),
    (r"residual variance|explained variance|test stability", "finishing"),
)
_PASSES = {  # what engines tell
    "reading the file": "reading the file",
    "counting the rows": "reading the data",
    "reading the columns": "reading the data",
    "reading columns": "reading the data",
    "reading rows": "reading the data",
    "sorting rows into groups": "sorting records into groups",
    "counting pairs": "comparing columns with the target",
}


class StageNames:
    """Passes on the stages of one fit. `work` is what the command is for, such as "fitting"."""

    def __init__(self, show: Callable[[str], None], work: str = FITTING) -> None:
        self._show, self._work, self._now = show, work, ""

    def __call__(self, name: str) -> None:
        if name in _PASSES:
            reading = _PASSES[name]
            self._show(f"{self._now}, {reading}" if self._now else reading)
            return
        self._now = self._after(name)
        self._show(self._now)

    def _after(self, name: str) -> str:
        if phase := re.match(r"phase (\d+)", name):
            done = int(phase[1]) - ("lengths" in name)  # of a phase, the lengths come before the sums
            return f"{FITTING}: pass {done + 1} of {PHASES}" if done < PHASES else "measuring how well the model fits"
        if round_ := re.match(r"(?:boosting )?(round \d+)", name):
            return f"{FITTING}: {round_[1]}"
        for start, told in _AFTER:
            if re.match(start, name):
                return told or self._work
        return self._work
