"""Files of SAS (.sas7bdat, .xpt). See labelled.py for how they are read. Labels, which are in other files, are not."""

import codecs
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import pyreadstat

from privreg.data.files import SAS, first_bytes
from privreg.data.labelled import Clock, LabelledFile

_EPOCH = date(1960, 1, 1)
_DATE = re.compile(
    "(E8601|B8601|IS8601)DA|(YYMMDD|MMDDYY|DDMMYY)[BCDNPS]?|DATE|DAY|JULIAN|MONYY|(WEEK|WORD)DAT[EX]|NLDATE|YYMON|YYQ"
)
_TIME = re.compile("(E8601|B8601|IS8601)D[TN]|DATETIME|DATEAMPM|MDYAMPM|NLDATM|DTDATE")


class SasFile(LabelledFile):
    """A file of SAS. The special missing values .A to .Z and ._ are missing, as . is."""

    name = SAS.name

    def _reader(self) -> Callable[..., Any]:
        return pyreadstat.read_xport if self._transport else pyreadstat.read_sas7bdat

    @property
    def _transport(self) -> bool:
        return first_bytes(self.path).startswith(b"HEADER")

    def _encodings(self) -> Sequence[str]:
        """A transport file does not tell; a text in it is UTF-8 if it can be."""
        with suppress(LookupError):
            told = None if self._transport else self._library(metadataonly=True).file_encoding
            return [codecs.lookup(told).name] if told else ["utf-8", "cp1252"]
        return ["utf-8", "cp1252"]

    def _described(self) -> dict[str, Any]:
        return {}

    def _clock(self, shown: str) -> Clock | None:
        name = re.sub("[0-9.]*$", "", shown.upper())
        if _DATE.fullmatch(name):
            return Clock(_EPOCH, 1, "date")
        return Clock(_EPOCH, 86_400) if _TIME.fullmatch(name) else None
