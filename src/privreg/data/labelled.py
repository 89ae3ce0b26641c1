"""What files of Stata, SPSS and SAS have in common: types, value labels, missing codes, dates counted from an epoch.

Only the description of the variables, which stands before or after the records, decides how a column is read:

- Text is text, a format for dates makes a date, all else is a number. Codes that are declared missing are missing.
- Value labels make a category of a column, whose cells are the labels; a code without one is its number as text. Labels
  of missing codes do not count. If there is but one label, or two of codes that are no neighbours, such as the ends of
  a scale from 0 to 10, the column stays a number.

The library is told that all text is Latin-1, in which every byte is a character, so that no cell makes it stop. Each
text is then turned back into its bytes and read in the encoding of the file; one that is not of it is missing.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from privreg._types import Float64
from privreg.data.base import DataFile
from privreg.data.raw import text_of
from privreg.errors import SchemaError

_CELLS = 3 << 20  # that are Python objects at a time, at least
_PARTS = 8  # of a file, at most: to reach a row, the library goes through all before it
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_DAY = 86_400_000  # milliseconds


@dataclass(frozen=True)
class Clock:
    """How a format counts time."""

    origin: date
    per_day: int
    kind: str = "timestamp"  # or "date", without a time of day

    def days(self, values: Float64) -> Float64:
        return values / self.per_day + (self.origin - date(1970, 1, 1)).days


@dataclass(frozen=True)
class Variable:
    """What the file says of a column."""

    stored: str  # its name, as the library has it
    kind: str
    text: bool = False  # whether its cells are text
    labels: dict[Any, str] = field(default_factory=dict)  # of a category, by code, in the order of codes
    clock: Clock | None = None


class LabelledFile(DataFile):
    """A file whose variables have types, and perhaps labels of values. A subclass says how its format is read."""

    typed = True
    path: Path
    name: ClassVar[str]  # of the format
    _latin: dict[str, str] | None = None  # how the library is told so; None at first, when it is asked for the encoding

    def __init__(self, path: Path) -> None:
        self.path = path
        encodings = self._encodings()
        self._decode = _decoder(encodings)
        self._latin = {"encoding": "ISO-8859-1"} if encodings else {}
        found = self._library(metadataonly=True, **self._described())
        if None in found.column_names:
            raise SchemaError(f"{path} has a column without a name; name it or remove it")
        self._variables = {self._decode(name) or name: self._variable(name, found) for name in found.column_names}
        if len(self._variables) < len(found.column_names):
            raise SchemaError(f"{path} has two columns with the same name; rename one of them")
        if not self._variables:
            raise SchemaError(f"{path} has no columns")
        size = path.stat().st_size
        about = size // max(sum(found.variable_storage_width.values()), 1)  # if the file does not say it
        self._rows = min(found.number_rows or about, size)  # a damaged one may say anything
        super().__init__(path, {name: variable.kind for name, variable in self._variables.items()})

    # ---- what a format says

    def _reader(self) -> Callable[..., Any]:
        """The function of the library."""
        raise NotImplementedError

    def _encodings(self) -> Sequence[str]:
        """The encodings that a text may have, the first that fits; none if the library knows better."""
        raise NotImplementedError

    def _clock(self, shown: str) -> Clock | None:
        """How a column that is shown in this format counts time; None if it does not."""
        raise NotImplementedError

    def _described(self) -> dict[str, Any]:
        """Options with which the library also tells which codes are missing."""
        return {"user_missing": True}

    # ---- what is the same for all

    def as_numbers(self, columns: Collection[str]) -> Self:
        chosen = copy(self)
        chosen.columns = {
            name: "number" if name in columns and kind == "category" and not self._variables[name].text else kind
            for name, kind in self.columns.items()
        }
        return chosen

    def levels(self, column: str) -> list[Any] | None:
        """The labels, in the order of their codes."""
        return list(dict.fromkeys(self._variables[column].labels.values())) or None

    def _variable(self, name: str, found: Any) -> Variable:
        text, shown = found.readstat_variable_types[name] == "string", found.original_variable_types[name] or ""
        clock = None if text else self._clock(shown)
        if clock is not None:
            return Variable(name, clock.kind, clock=clock)
        given = found.variable_value_labels.get(name, {})
        labels = _of_values(given, text, found.missing_ranges.get(name, []))
        decoded = {code: (self._decode(label) or "").strip() for code, label in sorted(labels.items())}
        kept = {code: label for code, label in decoded.items() if label}
        if kept and (text or not _scale(list(kept))):
            return Variable(name, "category", text, kept)
        return Variable(name, "text" if text else "number", text)

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        return pa.table({name: self._column(name, [], name in identifiers) for name in columns})

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> Iterator[pa.Table]:
        wanted = [self._variables[name].stored for name in dict.fromkeys(columns)]
        rows = max(_CELLS // len(wanted), -(-self._rows // _PARTS))
        got, begin = rows, 0
        while got == rows:
            cells = self._library(usecols=wanted, row_offset=begin, row_limit=rows)
            got = len(cells[wanted[0]])
            if got:
                lists = {name: cells[self._variables[name].stored] for name in columns}
                yield pa.table({name: self._column(name, lists[name], name in identifiers) for name in columns})
            begin += rows

    def _column(self, name: str, cells: list[Any], identifier: bool) -> pa.Array:
        variable, kind = self._variables[name], self.columns[name]
        if variable.text:
            texts = cells if _plain(cells) else [None if cell is None else self._decode(cell) for cell in cells]
            return _text_labels(texts, variable.labels) if kind == "category" and not identifier else _texts(texts)
        values = np.array(cells, np.float64)  # NaN for None
        if variable.clock is not None:
            return _times(values, variable.clock)
        if kind == "category" and not identifier:  # of identifiers, two codes with one label are two
            return _labels(values, variable.labels)
        return pa.array(values, from_pandas=True)

    def _library(self, **options: Any) -> Any:
        """What the library reads: the description, or cells by column. What it says of a damaged file may quote it."""
        options |= {"output_format": "dict", "disable_datetime_conversion": True} | (self._latin or {})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about names
                cells, found = self._reader()(str(self.path), **options)
            return found if options.get("metadataonly") else cells
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the operating system
                raise
        raise SchemaError(f"{self.path} could not be read as {self.name}")


def _decoder(encodings: Sequence[str]) -> Callable[[str], str | None]:
    """From text that was read as Latin-1 to what it stands for; None if it is of none of the encodings."""

    def decode(text: str) -> str | None:
        if text.isascii():
            return text
        raw = text.encode("latin-1", "replace")
        for encoding in encodings:
            try:
                return raw.decode(encoding)
            except UnicodeDecodeError as error:
                if error.end == len(raw) and error.start > len(raw) - 4 and "end" in error.reason:
                    return raw[: error.start].decode(encoding)  # cut where the column was too narrow
        return None

    return decode if encodings else str


def _of_values(labels: dict[Any, str], text: bool, missing: Sequence[Any]) -> dict[Any, str]:
    """The labels of codes that are values: not of missing ones, which Stata and SAS call by letters."""

    def value(code: Any) -> bool:
        return isinstance(code, str) == text and not any(gap["lo"] <= code <= gap["hi"] for gap in missing)

    return {code.rstrip() if text else code: label for code, label in labels.items() if value(code)}


def _scale(codes: Sequence[float]) -> bool:
    """Whether the labels are no list of categories: there is one only, or they name two ends."""
    return len(codes) < 2 or (len(codes) == 2 and abs(codes[1] - codes[0]) != 1)


def _texts(cells: Sequence[str | None]) -> pa.Array:
    return pa.array(cells, pa.large_string())


def _plain(cells: list[Any]) -> bool:
    """Whether there is nothing to decode: fast, and nearly always so."""
    try:
        return "".join(cells).isascii()
    except TypeError:  # a missing one
        return False


def _text_labels(cells: Sequence[str | None], labels: dict[Any, str]) -> pa.Array:
    bare = (None if cell is None else cell.rstrip() for cell in cells)
    return _texts([None if cell is None else labels.get(cell, cell) for cell in bare]).dictionary_encode()


def _labels(values: Float64, labels: dict[Any, str]) -> pa.Array:
    """The label of each code, or the number itself."""
    codes = np.array(list(labels), np.float64)
    places = np.minimum(np.searchsorted(codes, values), codes.size - 1)
    others, rest = np.unique(values[(codes[places] != values) & np.isfinite(values)], return_inverse=True)
    places[(codes[places] != values) & np.isfinite(values)] = codes.size + rest
    words = [*labels.values(), *map(text_of, others.tolist())]
    missing = ~np.isfinite(values)
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=missing), _texts(words))


def _times(values: Float64, clock: Clock) -> pa.Array:
    """Dates, or points in time; missing before the year 1 and after 9999, which few programs can show."""
    with np.errstate(all="ignore"):
        days = clock.days(values)
        missing = ~((days >= _FIRST_DAY) & (days < _LAST_DAY + 1))
        days[missing] = 0.0
        if clock.kind == "date":
            return pa.array(np.floor(days).astype(np.int32), pa.int32(), mask=missing).view(pa.date32())
        since = (values - (date(1970, 1, 1) - clock.origin).days * float(clock.per_day)) * (_DAY / clock.per_day)
        since[missing] = 0.0
    return pa.array(np.rint(since).astype(np.int64), pa.int64(), mask=missing).view(pa.timestamp("ms"))
