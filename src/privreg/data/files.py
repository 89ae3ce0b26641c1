"""Tables in files: which format a file has, and which files a folder or a pattern stands for. Formats are in one list.

To add one, write a `DataFile` (base.py) for it into a file of its own and add a line to `FORMATS`. Nothing is loaded of
a format before a file of it is read.
"""

import glob
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from privreg.data.base import DataFile
from privreg.data.packing import Unpacked, packing_of
from privreg.errors import SchemaError


class Format(NamedTuple):
    """What is known of a format without loading it."""

    name: str  # as messages call it
    ends: tuple[str, ...]  # of names of its files, in lower case
    home: str  # "module:class" of its `DataFile`
    magic: bytes | tuple[bytes, ...] | None = None  # what its files begin with; None if only their names tell
    test: str | None = None  # "module:function" of a path and its start that must agree, too, if there is one
    header: str | None = None  # "module:function" that gives the names of the columns at once, if there is one
    folders: bool = False  # whether a folder, or a pattern, stands for files of this format
    in_place: bool = False  # whether estimators take the file itself, and read it part by part
    writes: bool = False  # whether predictions can be written so
    packed: bool = False  # whether a compressed file is read, too
    needs: str | None = None  # the module that reads it, if that comes with privreg[formats]
    sheets: bool = False  # whether a file has sheets, one of which can be named
    headerless: bool = False  # whether only the user can name the columns: those of one record are not public

    def recognises(self, path: Path, start: bytes | None) -> bool:
        """Whether a file that starts so is of this format. A folder or a pattern has no start."""
        if start is None:
            return self.folders
        found = has_end(path, self.ends) if self.magic is None else start.startswith(self.magic)
        return found and (self.test is None or resolve_name(self.test)(path, start))

    def load(self) -> Any:
        """Its `DataFile`."""
        return resolve_name(self.home)


PARQUET = Format(
    "Parquet",
    (".parquet", ".parq", ".pq"),
    "privreg.data.parquet:ParquetTable",
    magic=b"PAR1",
    folders=True,
    in_place=True,
    writes=True,
)
TEXT = Format(
    "CSV (UTF-8)",
    (".csv", ".tsv", ".tab", ".txt", ""),
    "privreg.data.text_file:TextFile",
    magic=b"",
    header="privreg.data.text_header:header_names",
    writes=True,
    packed=True,
)
ARROW = Format(
    "Arrow",
    (".feather", ".arrow", ".arrows", ".ipc"),
    "privreg.data.arrow_file:ArrowFile",
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),  # a file, or a stream
    test="privreg.data.marks:is_arrow",
)
EXCEL = Format(
    "Excel",
    (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
    "privreg.data.excel:ExcelFile",
    magic=(b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    test="privreg.data.marks:is_workbook",
    needs="python_calamine",
    sheets=True,
)
STATA = Format(
    "Stata",
    (".dta",),
    "privreg.data.stata:StataFile",
    magic=(b"<stata_dta>", *(bytes([version, order, 1]) for version in range(104, 116) for order in (1, 2))),
    needs="pyreadstat",
)
SPSS = Format(
    "SPSS",
    (".sav", ".zsav", ".por"),
    "privreg.data.spss:SpssFile",
    magic=b"",
    test="privreg.data.marks:is_spss",
    needs="pyreadstat",
)
SAS = Format(
    "SAS",
    (".sas7bdat", ".xpt"),
    "privreg.data.sas:SasFile",
    magic=(bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00", b"HEADER RECORD*******LIB"),
    needs="pyreadstat",
)
JSON_LINES = Format(
    "JSON lines",
    (".jsonl", ".ndjson"),
    "privreg.data.json_lines:JsonLines",
    magic=b"",
    test="privreg.data.marks:is_json_lines",
    headerless=True,
)
FORMATS = [
    PARQUET,
    ARROW,
    EXCEL,
    STATA,
    SPSS,
    SAS,
    JSON_LINES,
    TEXT,
]  # the first that recognises a file; text, which has no mark of its own, is the last

_LEFT_OUT = ("_", ".")  # what begins so is not data: _SUCCESS, _temporary, .part.parquet.crc

_REFUSED = {
    b"PK\x03\x04": "is a zip archive; unpack it first",
    b"FEA1": "is Feather version 1; {advice} first",
    b"PARE": "is encrypted Parquet; decrypt it first",
}
# Perhaps after blanks or a byte order mark. The first line is no header but may be a record, which must not be shown.
_MARKUP = {
    b'{"': "is JSON; {advice} first, or rename it to .jsonl if each line is an object",
    b"{\n": "is JSON; {advice} first, or as .jsonl with one object per line",
    b"{\r": "is JSON; {advice} first, or as .jsonl with one object per line",
    b"[{": "is JSON; {advice} first, or as .jsonl with one object per line",
    b"[[": "is JSON; {advice} first",
    b"<": "is XML or HTML; {advice} first",
}


def open_file(
    path: str | Path, encoding: str | None = None, sheet: str | None = None, columns: Sequence[str] = ()
) -> DataFile:
    r"""Open a file, or all files that a folder or a pattern like `*.parquet` stands for.

    Only the names and types of the columns are looked at. The result can be passed as `X` to every estimator but
    `NonDP`.

    Parameters
    ----------
    path : str or path
        The file, folder or pattern. Text files may be compressed.
    encoding : str or None, default None
        The encoding of a text file, such as "latin-1". None is UTF-8, or UTF-16 with a byte order mark.
    sheet : str or None, default None
        The sheet of a workbook to read. None is the first one.
    columns : list of str, default ()
        The columns of a format without a header, such as JSON lines.

    Returns
    -------
    file
        With the attribute `columns`: the kinds of the columns, by name.

    Raises
    ------
    SchemaError
        If the file cannot be used.
    OSError
        If the operating system refuses to open it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from privreg import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,pay\n34,2100\n51,2750\n")
    ...     list(open_file(path).columns)
    ['age', 'pay']
    """
    path = Path(path)
    known = _format_for(path, encoding)
    if known.needs is not None and find_spec(known.needs) is None:
        an = "an" if known in (EXCEL, SPSS) else "a"
        raise SchemaError(f"{path} is {an} {known.name} file; to read it, run pip install 'privreg[formats]'")
    if sheet is not None and not known.sheets:
        raise SchemaError(f"--sheet: {path} is {known.name}, which has no sheets; omit the option")
    options: dict[str, Any] = {"encoding": encoding} if encoding is not None else {}
    options |= ({"sheet": sheet} if known.sheets else {}) | ({"columns": columns} if known.headerless else {})
    file: DataFile = known.load()(path, **options)
    return file


def header_names(path: Path, encoding: str | None = None) -> list[str] | None:
    """The names of the columns, if the format can tell them at once; None if arrow must be loaded for its schema."""
    header = _format_for(path, encoding).header
    return None if header is None else resolve_name(header)(path, *_given(encoding))


def _given(encoding: str | None) -> tuple[str, ...]:
    return () if encoding is None else (encoding,)


def _format_for(path: Path, encoding: str | None) -> Format:
    found = format_of(path)
    if encoding is not None and found is not TEXT:
        raise SchemaError(f"{path} is {found.name}, which has its own encoding; omit the encoding")
    return found


def format_of(path: Path) -> Format:
    """The format of a file, a folder or a pattern. Refuses what is known to be of no use."""
    start = None if stands_for_many(path) else first_bytes(path)
    packing = None if start is None else packing_of(start)
    if packing is not None:
        start = _unpacked_start(path)
    found = next(known for known in FORMATS if known.recognises(path, start))
    if packing is not None and not found.packed:
        raise SchemaError(f"{path} is {found.name}, compressed with {packing}; unpack it first")
    if packing is not None and packing_of(start or b"") is not None:
        raise SchemaError(f"{path} is compressed twice; unpack it first")
    if found is TEXT and start is not None:
        check_start(path, start)
    return found


def format_to_write(path: Path) -> Format | None:
    """The format in which a file of this name is written; None if its name does not tell."""
    return next((known for known in FORMATS if known.writes and has_end(path, known.ends)), None)


def ends_to_write() -> str:
    """The ends of names that tell the format, in words."""
    return either([end for known in reversed(FORMATS) if known.writes for end in known.ends if end])


def first_bytes(path: Path) -> bytes:
    """The start of a file. Refuses what cannot be read twice."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SchemaError(f"{path} cannot be read twice; save the data in a file, or use - and pipe it in")
    with path.open("rb") as file:  # a directory gives IsADirectoryError here
        start = file.read(64)
    if not start:
        raise SchemaError(f"{path} is empty")
    return start


def _unpacked_start(path: Path) -> bytes:
    with closing(Unpacked(path)) as file:
        start = file.read(64)
    if not start:
        raise SchemaError(f"{path} is empty")
    return start


def check_start(path: Path, start: bytes) -> None:
    """Raise SchemaError, with what to do, for a file that starts like one of no use."""
    if (packing := packing_of(start)) is not None:
        raise SchemaError(f"{path} is compressed ({packing}); unpack it first")
    bare = start.lstrip(b"\xef\xbb\xbf\xff\xfe").replace(b"\0", b"").lstrip()  # also in UTF-16
    for found, refused in ((start, _REFUSED), (bare, _MARKUP)):
        for magic, message in refused.items():
            if found.startswith(magic):
                advice = f"save it as {either([known.name for known in reversed(FORMATS) if known.writes])}"
                raise SchemaError(f"{path} {message.format(advice=advice)}")


def neither_format(path: Path) -> SchemaError:
    """The error for a file that is not even text."""
    known = [one.name for one in FORMATS if one.writes and one is not TEXT]
    return SchemaError(f"{path} is neither {' nor '.join(known)} nor UTF-8 text, nor in any other known format")


def stands_for_many(path: Path) -> bool:
    """Whether this is a folder or a pattern."""
    return path.is_dir() or is_pattern(path)


def is_pattern(path: Path) -> bool:
    """Whether a name stands for others. A file with such a name is meant itself."""
    return bool(_wild(str(path))) and not path.exists()


def files_at(source: Path, ends: Sequence[str]) -> list[Path]:
    """The files in the natural order of their names: 2 before 10. Of a folder those whose names end so."""
    if source.is_dir():
        found, root = _below(source, ends), source
    elif is_pattern(source):
        found, root = _matches(source)
    else:
        return [source]
    if not found:
        nothing = f"is a folder with no files that end in {either(ends)}" if root is source else "matches no file"
        raise SchemaError(f"{source} {nothing}")
    for path in found:
        for folder in path.relative_to(root).parts[:-1]:
            if key := re.match("[^=]+(?==)", folder):  # no value is shown: it is that of records
                raise SchemaError(
                    f"{source} has folders called {key[0]}=…, but columns stored in folder names are not read; add "
                    f"{key[0]!r} to the files as a column, or pass a list of files to go without it"
                )
    return sorted(found, key=lambda path: _natural(str(path)))


def overlap(places: Iterable[Path], others: Iterable[Path]) -> bool:
    """Whether one of these files and folders is, holds or lies in one of the others, by whatever name or link."""
    one, other = [[Path(os.path.realpath(path)) for path in paths] for paths in (places, others)]
    ours, theirs = set(map(_identity, one)), set(map(_identity, other))
    return bool(ours & theirs or ours & _folders_of(other) or theirs & _folders_of(one))


def _folders_of(paths: list[Path]) -> set[tuple[int, int] | Path]:
    return set(map(_identity, {folder for path in paths for folder in path.parents}))


def _identity(path: Path) -> tuple[int, int] | Path:
    """The same for two names of one file, hard links included."""
    try:
        status = path.stat()
    except OSError:  # not there, or not for us: whoever opens it tells
        return path
    return status.st_dev, status.st_ino


def has_end(path: Path, ends: Sequence[str]) -> bool:
    """Whether a name ends so, in any case."""
    return path.suffix.lower() in ends


def either(words: Sequence[str]) -> str:
    """a, b or c."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _below(folder: Path, ends: Sequence[str]) -> list[Path]:
    found = []

    def fail(error: OSError) -> None:
        raise error

    for top, folders, names in os.walk(folder, onerror=fail, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(_LEFT_OUT)]
        found += [Path(top, name) for name in names if not name.startswith(_LEFT_OUT) and has_end(Path(name), ends)]
    return found


def _matches(pattern: Path) -> tuple[list[Path], Path]:
    """The files that match, and the folder above all wildcards."""
    fixed = next(i for i, part in enumerate(pattern.parts) if _wild(part))
    root, wild = Path(*pattern.parts[:fixed]), pattern.parts[fixed:]
    hidden = any(part.startswith(_LEFT_OUT) for part in wild)  # asked for
    found = []
    for path in map(Path, glob.glob(str(pattern), recursive=True)):
        if not hidden and any(part.startswith(_LEFT_OUT) for part in path.relative_to(root).parts):
            continue
        if not path.is_dir():
            found.append(path)
        elif "**" not in wild:
            raise SchemaError(f"{path}, which {pattern} matches, is a folder; write {pattern}/*.parquet for its files")
    return found, root


def _wild(name: str) -> bool:
    return re.search(r"[*?[]", name) is not None


def _natural(name: str) -> tuple[list[str | int], str]:
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))], name
