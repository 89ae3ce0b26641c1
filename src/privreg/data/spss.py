"""Files of SPSS (.sav, .zsav, .por). See labelled.py for how they are read."""

import codecs
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import pyreadstat

from privreg.data.files import SPSS, first_bytes
from privreg.data.labelled import Clock, LabelledFile
from privreg.errors import SchemaError

_EPOCH = date(1582, 10, 14)
_DATES = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR")
_TIMES = ("DATETIME", "YMDHMS")


class SpssFile(LabelledFile):
    """A file of SPSS. Values that are declared missing are missing."""

    name = SPSS.name

    def _reader(self) -> Callable[..., Any]:
        return pyreadstat.read_por if self._portable else pyreadstat.read_sav

    @property
    def _portable(self) -> bool:
        return not first_bytes(self.path).startswith((b"$FL2", b"$FL3"))

    def _encodings(self) -> Sequence[str]:
        if self._portable:  # has a table of its own for characters
            return []
        told = self._library(metadataonly=True).file_encoding
        try:
            return [codecs.lookup(told).name] if told else ["utf-8", "cp1252"]  # old files do not tell
        except LookupError:
            raise SchemaError(
                f"{self.path} has the encoding {told!r}, which is not supported; save it as UTF-8"
            ) from None

    def _described(self) -> dict[str, Any]:
        return {} if self._portable else super()._described()

    def _clock(self, shown: str) -> Clock | None:
        name = re.sub("[0-9.]*$", "", shown)
        if name in _DATES:
            return Clock(_EPOCH, 86_400, "date")
        return Clock(_EPOCH, 86_400) if name in _TIMES else None
