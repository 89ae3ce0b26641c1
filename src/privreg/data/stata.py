"""Files of Stata (.dta), of all versions that pyreadstat knows. See labelled.py for how they are read."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import pyreadstat

from privreg.data.files import STATA, first_bytes
from privreg.data.labelled import Clock, LabelledFile

_EPOCH = date(1960, 1, 1)
_UNICODE = 118  # the first version in UTF-8
_CLOCKS = {"d": Clock(_EPOCH, 1, "date"), "c": Clock(_EPOCH, 86_400_000)}


class StataFile(LabelledFile):
    """A file of Stata. The extended missing values .a to .z are missing, as . is."""

    name = STATA.name

    def _reader(self) -> Callable[..., Any]:
        return pyreadstat.read_dta

    def _encodings(self) -> Sequence[str]:
        start = first_bytes(self.path)
        told = re.search(rb"<release>([0-9]{1,4})<", start)
        return ["utf-8" if told and int(told[1]) >= _UNICODE else "cp1252"]

    def _clock(self, shown: str) -> Clock | None:
        """Weeks, months, quarters and years (%tw, %tm, %tq, %ty) stay the numbers that they are."""
        found = re.match("%-?(?:t([dcC])|(d))", shown)
        return None if found is None else _CLOCKS[(found[1] or found[2]).lower()]
