"""The files that a path, a folder or a pattern like ``*.parquet`` stands for."""

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from privreg.errors import SchemaError

_LEFT_OUT = ("_", ".")  # what begins so is not data: _SUCCESS, _temporary, .part.parquet.crc


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
        nothing = f"is a folder without files that end in {either(ends)}" if root is source else "matches no file"
        raise SchemaError(f"{source} {nothing}")
    for path in found:
        for folder in path.relative_to(root).parts[:-1]:
            if key := re.match("[^=]+(?==)", folder):  # no value is shown: it is that of records
                raise SchemaError(
                    f"{source} has folders called {key[0]}=…, but columns kept in folder names are not read; write "
                    f"{key[0]!r} into the files as a column, or give a list of files to go without it"
                )
    return sorted(found, key=lambda path: _natural(str(path)))


def has_end(path: Path, ends: Sequence[str]) -> bool:
    """Whether a name ends so, in any case."""
    return path.suffix.lower() in ends


def either(words: Sequence[str]) -> str:
    """a, b or c."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _below(folder: Path, ends: Sequence[str]) -> list[Path]:
    found = []
    for top, folders, names in os.walk(folder, onerror=_fail, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(_LEFT_OUT)]
        found += [Path(top, name) for name in names if not name.startswith(_LEFT_OUT) and has_end(Path(name), ends)]
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
