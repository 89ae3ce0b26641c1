"""Declared levels of categories: from what was typed, or from a JSON file, to values that a column can have."""

import csv
import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from privreg.data.text_header import read_number
from privreg.errors import SchemaError


def read_levels(options: Sequence[str], file: Path | None, columns: Collection[str] = ()) -> dict[str, list[Any]]:
    """Levels as declared by options COL=a,b,c and by a JSON file {"col": ["a", "b"]}."""
    levels: dict[str, list[Any]] = {}
    for option in options:
        name = max((c for c in columns if option.startswith(f"{c}=")), key=len, default=option.partition("=")[0])
        given = option.removeprefix(name)
        if not name.strip() or not given.startswith("="):
            raise SchemaError(f"--category {option}: write it as COLUMN=level,level,…")
        _add(levels, name.strip(), split_list("--category", given[1:]), "--category")
    if file is not None:
        for name, entry in _json_object(file):
            _add(levels, name, _json_levels(name, entry, file), f"--categories {file}")
    return levels


def split_list(option: str, value: str) -> list[str]:
    """A list with commas. Quotes keep a comma in a name: a,"b,c"."""
    try:
        fields = next(csv.reader([value], skipinitialspace=True, strict=True))
    except csv.Error:
        raise SchemaError(f"{option} {value}: a quote is not closed, or not at the end of a name") from None
    return [field.strip() for field in fields or [""]]


def typed_levels(name: str, kind: str, levels: Sequence[Any]) -> list[Any]:
    """Levels of a column whose type is known: what was typed is text, also where it stands for a number."""
    if kind not in _READERS or not _all_text(levels):
        return list(levels)
    meant = _read(kind, levels)
    if None in meant:
        raise _no_level(name, kind, levels[meant.index(None)])
    return _all_different(name, kind, meant, levels)


def text_levels(name: str, kind: str, levels: Sequence[Any], blank: bool) -> list[Any]:
    """Levels of a column of a text file, whose kind the first rows show, if they show any.

    What the levels are is decided by themselves: numbers if they are written as numbers are, so that 1 is also 1.0, and
    codes such as 007 stay text. The kind only tells whether none of them can occur.
    """
    if not _all_text(levels):
        return list(levels)
    if kind in _READERS and not blank and not any(value is not None for value in _read(kind, levels)):
        raise _no_level(name, kind, levels[0])
    for reader in _READERS:
        meant = _read(reader, levels)
        if all(str(value).casefold() == level.casefold() for value, level in zip(meant, levels, strict=True)):
            return _all_different(name, reader, meant, levels)
    return list(levels)


def _all_different(name: str, kind: str, meant: list[Any], levels: Sequence[str]) -> list[Any]:
    for i, value in enumerate(meant):
        if value in meant[:i]:
            raise SchemaError(f"--category: column {name!r} has the level {levels[i]!r} twice, as the same {kind}")
    return meant


def _all_text(levels: Sequence[Any]) -> bool:
    return all(isinstance(level, str) for level in levels)


def _read(kind: str, levels: Sequence[str]) -> list[Any]:
    """What the levels are in this kind; None for those that are not of it."""
    return [_READERS[kind](level) for level in levels]


def _number(level: str) -> int | float | None:
    value = read_number(level)
    return int(level) if value is not None and level.lstrip("+-").isdigit() else value


_READERS: dict[str, Callable[[str], Any]] = {
    "number": _number,
    "boolean": lambda level: {"true": True, "false": False}.get(level.casefold()),
}


def _no_level(name: str, kind: str, level: str) -> SchemaError:
    example = {"number": "1,2", "boolean": "true,false"}[kind]
    return SchemaError(
        f"--category: column {name!r} holds {kind}s, and {level!r} is none; write levels such as "
        f"--category {shlex.quote(name)}={example}, or leave its levels out"
    )


def _add(levels: dict[str, list[Any]], name: str, given: list[Any], option: str) -> None:
    if name in levels:
        raise SchemaError(f"{option}: the levels of column {name!r} are declared twice")
    times = Counter(given)
    for level in given:
        if isinstance(level, str) and not level.strip():
            raise SchemaError(f"{option}: column {name!r} has an empty level; a missing value needs no level")
        if times[level] > 1:
            raise SchemaError(f"{option}: column {name!r} has the level {level!r} twice")
    levels[name] = given


def _json_object(file: Path) -> list[tuple[str, Any]]:
    """The entries of the object in the file, those of the same name too, which a dict would hide."""
    try:
        entries = json.loads(file.read_bytes(), object_pairs_hook=_Entries)
    except (ValueError, RecursionError):  # no JSON, or not UTF-8
        raise SchemaError(f"--categories {file}: the file is not JSON") from None
    if not isinstance(entries, _Entries):
        raise SchemaError(f'--categories {file}: the file must hold an object like {{"column": ["level", "level"]}}')
    return entries


class _Entries(list[tuple[str, Any]]):
    """The entries of a JSON object."""


def _json_levels(name: str, entry: Any, file: Path) -> list[Any]:
    if type(entry) is not list or not entry or not (_all_text(entry) or all(map(_is_number, entry))):
        raise SchemaError(f"--categories {file}: the levels of column {name!r} must be a list of text, or of numbers")
    return entry


def _is_number(level: Any) -> bool:
    try:
        return isinstance(level, int | float) and not isinstance(level, bool) and math.isfinite(level)
    except OverflowError:  # an integer beyond float64
        return False
