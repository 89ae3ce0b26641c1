"""How a format is recognised where the first bytes of a file are not enough. Loads nothing, and reads no record."""

import re
import zipfile
from pathlib import Path

_TOLD = (".csv", ".tsv", ".tab", ".txt", ".json")  # ends of names of files that are not taken for others


def is_arrow(path: Path, start: bytes) -> bool:
    """A stream has no mark of its own but four bytes that may be anything: its name must tell, too."""
    return start.startswith(b"ARROW1") or path.suffix.lower() in (".arrow", ".arrows", ".ipc", ".feather")


def is_workbook(path: Path, start: bytes) -> bool:
    """Whether an archive holds the parts of a workbook. Old ones are archives of another kind."""
    if not start.startswith(b"PK"):
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # damaged: then the name tells
        return path.suffix.lower() in (".xlsx", ".xlsm", ".xlsb", ".ods")
    return bool({"xl/workbook.xml", "xl/workbook.bin", "content.xml"} & names)


def is_spss(_: Path, start: bytes) -> bool:
    """A portable file says what it is in its first line. In text the next one may be a record."""
    return start.startswith((b"$FL2", b"$FL3")) or b"SPSS PORT FILE" in re.split(rb"[\r\n]", start)[0]


def is_json_lines(path: Path, start: bytes) -> bool:
    """By the name, or where that does not tell, by how an object begins: with or without blanks, or an empty one.

    What the first record holds must not matter. So .json is taken for it unless it is a list, or one object that goes
    on in the next line.
    """
    end = path.suffix.lower()
    if end in (".jsonl", ".ndjson"):
        return True
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if end == ".json":
        return re.match(rb"\[|\{[ \t]*[\r\n]", bare) is None
    return end not in _TOLD and re.match(rb'\{[ \t]*["}]', bare) is not None
