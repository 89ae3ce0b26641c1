"""Tables in files, Parquet or delimited text, as arrow tables that `privreg.data.tables` can read.

What a file shows of itself is its *schema*: of Parquet the types, of text the header line and the kinds of the columns,
decided by the first 100 rows. Only the schema may cause an error. After that every cell is read by a fixed rule that
looks at this cell alone, and what cannot be used becomes a missing value, without a message.
"""

import glob
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privreg.errors import SchemaError

if TYPE_CHECKING:  # arrow takes long to load, and wrong names of files and columns are known before
    import pyarrow as pa

_REFUSED = {
    b"\x1f\x8b": "is compressed (gzip): unpack it first",
    b"BZh": "is compressed (bzip2): unpack it first",
    b"PK\x03\x04": "is a zip archive or an Excel workbook: unpack it, or save it as CSV (UTF-8), first",
    b"\x28\xb5\x2f\xfd": "is compressed (zstd): unpack it first",
    b"\xfd7zXZ": "is compressed (xz): unpack it first",
    b"PARE": "is encrypted Parquet: decrypt it first",
    b"\xff\xfe": "is UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text: save it as UTF-8",
}
# Perhaps after blanks or a byte order mark. The first line is no header but may be a record, which must not be shown.
_MARKUP = {
    b'{"': "is JSON: save it as CSV (UTF-8) or Parquet first",
    b"[{": "is JSON: save it as CSV (UTF-8) or Parquet first",
    b"[[": "is JSON: save it as CSV (UTF-8) or Parquet first",
    b"<": "is XML or HTML: save it as CSV (UTF-8) or Parquet first",
}
PARQUET_ENDS = (".parquet", ".parq", ".pq")  # in any case
_LEFT_OUT = ("_", ".")  # what begins so is not data: _SUCCESS, _temporary, .part.parquet.crc

Levels = Mapping[str, Sequence[Any]]


class DataFile:
    """A file with a table: its columns and their kinds, and its records in arrow tables.

    A column with declared levels (`categories`) comes in the kind of the levels: text, float64 or boolean. Columns
    named in `identifiers` are for telling people apart: nothing of them is rounded.
    """

    typed = False  # whether the file itself says what kind its columns are
    in_place = False  # whether estimators take the file itself, and read it part by part
    blank: frozenset[str] = frozenset()  # columns that show nothing of their kind

    def __init__(self, path: Path | str, columns: dict[str, str]) -> None:
        self.path = path  # as messages show it
        self.columns = columns  # "number", "boolean", "text", "category", or another type in words

    def read(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str] = ()) -> "pa.Table":
        """All records, of these columns only."""
        import pyarrow as pa

        self._check(columns, categories, identifiers)
        tables = self._tables(columns, categories, identifiers)
        return pa.concat_tables([self._no_rows(columns, categories, identifiers), *tables])

    def batches(
        self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str] = ()
    ) -> "Iterator[pa.Table]":
        """The same rows part by part, in bounded memory."""
        self._check(columns, categories, identifiers)
        return self._tables(columns, categories, identifiers)

    def levels(self, column: str) -> list[Any]:
        """The levels that the file itself declares for a column of kind "category"."""
        raise SchemaError(
            f"{self.path} declares no levels for column {column!r}; declare its levels with --category {column}=a,b,c"
        )

    def _check(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> None:
        del identifiers  # any column can be one
        for name in columns:
            if name not in self.columns:
                raise SchemaError(f"{self.path} has no column {name!r}")
            if name in categories:
                check_levels(name, self.columns[name] if self.typed else "text", categories[name])

    def _no_rows(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> "pa.Table":
        raise NotImplementedError

    def _tables(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> "Iterator[pa.Table]":
        raise NotImplementedError


def open_file(path: str | Path) -> DataFile:
    """Read the schema of a file, or of the Parquet files that a folder or a pattern like ``*.parquet`` stands for.

    What the operating system refuses is an OSError, an unusable file a SchemaError.
    """
    path = Path(path)
    if is_parquet(path):
        from privreg.data.parquet import ParquetTable

        return ParquetTable(path)
    from privreg.data.text_file import TextFile

    return TextFile(path)


def header_names(path: Path) -> list[str] | None:
    """The names of the columns of a text file, at once; None for Parquet, whose schema takes arrow to read."""
    from privreg.data.text_header import read_header

    return None if is_parquet(path) else read_header(path).names


def is_parquet(path: Path) -> bool:
    """Whether a path stands for Parquet files: a folder, a pattern, or a file that begins like one."""
    return path.is_dir() or is_pattern(path) or first_bytes(path).startswith(b"PAR1")


def first_bytes(path: Path) -> bytes:
    """The start of a file. Refuses what cannot be read twice, and what is known to be of no use."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SchemaError(f"{path} is not a file that can be read twice; save the data in a file first")
    with path.open("rb") as file:  # a directory gives IsADirectoryError here
        start = file.read(64)
    if not start:
        raise SchemaError(f"{path} is empty")
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    for found, refused in ((start, _REFUSED), (bare, _MARKUP)):
        for magic, message in refused.items():
            if found.startswith(magic):
                raise SchemaError(f"{path} {message}")
    return start


def is_parquet_name(path: Path) -> bool:
    """Whether a file's name says that it is Parquet."""
    return path.suffix.lower() in PARQUET_ENDS


def is_pattern(path: Path) -> bool:
    """Whether a name stands for others. A file with such a name is meant itself."""
    return bool(_wild(str(path))) and not path.exists()


def parquet_files(source: Path) -> list[Path]:
    """The files that a path, a folder or a pattern stands for, in the natural order of their names: 2 before 10."""
    if source.is_dir():
        found, root = _below(source), source
    elif is_pattern(source):
        found, root = _matches(source)
    else:
        return [source]
    if not found:
        ends = "is a folder without files that end in .parquet, .parq or .pq" if root is source else "matches no file"
        raise SchemaError(f"{source} {ends}")
    for path in found:
        for folder in path.relative_to(root).parts[:-1]:
            if key := re.match("[^=]+(?==)", folder):  # no value is shown: it is that of records
                raise SchemaError(
                    f"{source} has folders called {key[0]}=…, but columns kept in folder names are not read; write "
                    f"{key[0]!r} into the files as a column, or give a list of files to go without it"
                )
    return sorted(found, key=lambda path: _natural(str(path)))


def _below(folder: Path) -> list[Path]:
    found = []
    for top, folders, names in os.walk(folder, onerror=_fail, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(_LEFT_OUT)]
        found += [Path(top, name) for name in names if not name.startswith(_LEFT_OUT) and is_parquet_name(Path(name))]
    return found


def _fail(error: OSError) -> None:
    raise error


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


def check_levels(column: str, kind: str, levels: Sequence[Any]) -> None:
    """Raise SchemaError if values of a column of this kind cannot be among the levels."""
    if levels_type(column, levels) == "text" and kind in ("number", "boolean"):
        raise SchemaError(
            f"column {column!r} holds {kind}s, so the text {levels[0]!r} cannot be one of its levels; declare {kind}s"
        )


def levels_type(column: str, levels: Sequence[Any]) -> str:
    """The kind that declared levels have in common."""
    import numpy as np

    if levels and all(isinstance(level, str) for level in levels):
        return "text"
    if levels and all(isinstance(level, bool | np.bool_) for level in levels):
        return "boolean"
    if levels and all(isinstance(level, int | float | np.number) and not isinstance(level, bool) for level in levels):
        return "number"
    raise SchemaError(f"the levels of column {column!r} must be all text or all numbers, at least one")
