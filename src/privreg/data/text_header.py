"""The header line of delimited text: names and separator, read without arrow, so that a wrong name is known at once."""

import csv
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from privreg.data.files import neither_format
from privreg.data.text_stream import TextStream
from privreg.data.written_numbers import is_number
from privreg.errors import SchemaError

BLANKS = " \t\n\r\v\f"

_SEPARATORS = ",;\t|"
_NO_SEPARATOR = "\x1f"  # of a file with one column; no program writes it into a cell
_LIMIT = 1 << 20
_LISTED = 8  # columns named in a sentence
_QUOTED = re.compile(r'(^|[,;\t|]) *"(?:[^"]|"")*"')
_OPEN_QUOTE = re.compile(r'(?:^|[,;\t|]) *"')
MISSING = ("", "na", "n/a", "nan", "null", "<na>", "#n/a")  # words for a missing value, in any case
_LINE_END = re.compile(rb"\r\n?|\n")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_DATE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}.*")


class Header(NamedTuple):
    """What the header line says."""

    names: list[str]  # one for each cell of a line; empty where a column has none
    separator: str

    @property
    def columns(self) -> list[str]:
        """The names of the columns that can be used. R and pandas write one without a name for the numbers of rows."""
        return [name for name in self.names if name]

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about it, in sentences."""
        unnamed = [str(place) for place, name in enumerate(self.names, 1) if not name]
        if len(unnamed) == 1:
            return (f"Column {unnamed[0]} has no name and is left out.",)
        listed = ", ".join(unnamed[:_LISTED]) + (", …" if len(unnamed) > _LISTED else "")
        return (f"Columns {listed} have no names and are left out.",) if unnamed else ()


def read_header(path: Path, encoding: str | None = None) -> Header:
    """The names and the separator of a file; SchemaError if it has no header that can be used."""
    with TextStream(path, encoding) as stream:
        line = header_line(stream, path)
    count = Counter(c for c in _outside_quotes(line) if c in _SEPARATORS)
    separator = max(_SEPARATORS, key=lambda c: count[c]) if count else _NO_SEPARATOR
    return Header(_names(line, separator, path), separator)


def header_names(path: Path, encoding: str | None = None) -> list[str]:
    return read_header(path, encoding).columns


def header_line(stream: TextStream, path: Path) -> str:
    """The first line that is not blank. The stream is then at the first record.

    A quoted name may not go on in the next line: that may be a record, and names are shown.
    """
    _skip_blank_lines(stream, path)
    line = stream.read(_LIMIT)
    if end := _LINE_END.search(line):
        stream.put_back(line[end.end() :])
        line = line[: end.end()]
    header = line.decode("latin-1")  # bytes as characters; what they stand for is found out below
    if len(header) >= _LIMIT or _OPEN_QUOTE.search(_outside_quotes(header)):
        raise SchemaError(
            f"the header line of {path} is too long, or has a quote that is not closed on that line; put all names on "
            "one line"
        )
    if _CONTROL.search(header):  # no text: a damaged file, whose bytes must not be shown
        raise neither_format(path)
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise _wrong_encoding(stream, path) from None


def _wrong_encoding(stream: TextStream, path: Path) -> SchemaError:
    if stream.encoding != "utf-8":
        return SchemaError(f"the header line of {path} is not {stream.encoding}; check the encoding")
    return SchemaError(
        f"the header line of {path} is not UTF-8; give its encoding, such as --encoding latin-1 "
        '(encoding="latin-1" in Python), or save the file as UTF-8'
    )


def like_a_record(names: Iterable[str]) -> bool:
    """Whether one of the names is rather a value: then they may be a record's, in a file without a header.

    Messages do not show such names.
    """
    words = (*MISSING, "true", "false")
    return any(is_number(n) or _DATE.fullmatch(n) or n.casefold() in words for n in names)


def _skip_blank_lines(stream: TextStream, path: Path) -> None:
    blanks = BLANKS.encode()
    while part := stream.read(_LIMIT):
        if bare := part.lstrip(blanks):
            before = part[: -len(bare)]
            stream.put_back(part[max(before.rfind(b"\n"), before.rfind(b"\r")) + 1 :])
            return
    raise SchemaError(f"{path} is empty")


def named_twice(names: list[str]) -> str | None:
    """What two columns are called, in words that show no name if the names may be a record's; None if all differ."""
    for name, times in Counter(names).items():
        if times > 1:
            return "with the same name" if like_a_record(names) else f"called {name!r}"
    return None


def _outside_quotes(header: str) -> str:
    return _QUOTED.sub(r"\1", header)


def _names(header: str, separator: str, path: Path) -> list[str]:
    try:
        fields = next(csv.reader([header], delimiter=separator, skipinitialspace=True))
    except csv.Error:  # a name of more than 131,072 characters
        raise SchemaError(f"the header line of {path} cannot be read") from None
    names = [name.strip() for name in fields]
    named = [name for name in names if name]
    if not named:
        raise SchemaError(f"the header line of {path} has no column names")
    if len(names) > 1 and all(is_number(name) for name in named):
        raise SchemaError(f"the first line of {path} holds numbers; add a line with the column names above it")
    if twice := named_twice(named):
        raise SchemaError(f"{path} has two columns {twice}; rename one of them, or add a header line")
    return names
