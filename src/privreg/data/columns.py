"""Which columns of a file a request uses, and which levels its categories have.

Only names, kinds and declared levels are looked at. Levels come as they were typed, or from a JSON file, and become
values that a column can have.
"""

import csv
import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privreg.data.schema import checked_range
from privreg.data.text_header import like_a_record
from privreg.data.written_numbers import read_number
from privreg.errors import SchemaError

if TYPE_CHECKING:
    from privreg.data.base import DataFile

_NOT_SHOWN = "its columns are not listed, because some names look like values: is its first line a header?"
_LISTED = 8  # columns named in a message


@dataclass(frozen=True)
class ChosenColumns:
    """The columns of a fit, and the declared levels of its categories."""

    target: str | None
    features: list[str]
    person: str | None
    categories: dict[str, list[Any]]
    named: bool = False  # whether the features were asked for by name


def choose_columns(
    file: "DataFile",
    target: str | None,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    person: str | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
) -> ChosenColumns:
    """Settle target, features, person and levels. Without `features`, every column that has no other use is one."""
    categories = categories or {}
    chosen = choose_names(list(file.columns), file.path, target, features, drop, person, categories)
    if target is not None and file.typed and file.columns[target] not in ("number", "boolean"):
        held = "categories" if file.columns[target] == "category" else file.columns[target]
        raise SchemaError(f"--target: column {target!r} holds {held}, not numbers")
    if person is not None and "<" in file.columns[person]:  # list<…>, struct<…>, map<…>
        raise SchemaError(f"--person: column {person!r} holds {file.columns[person]}, not one identifier per row")
    levels = {
        name: typed_levels(name, file.columns[name], given) if file.typed else text_levels(name, given)
        for name, given in categories.items()
    }
    return ChosenColumns(target, chosen, person, levels, bool(features))


def choose_names(
    columns: Sequence[str],
    path: Path | str,
    target: str | None,
    features: Sequence[str],
    drop: Sequence[str],
    person: str | None,
    categories: Iterable[str],
) -> list[str]:
    """The features, by the names of the columns alone: a header is enough. `categories` are those with levels."""
    given = [("--target", target)] if target is not None else []
    given += [*(("--features", name) for name in features), *(("--drop", name) for name in drop)]
    given += [("--person", person)] if person is not None else []
    given += [("--category", name) for name in categories]
    for option, name in given:
        if name not in columns:
            raise unknown_column(option, name, columns, path)
    _check_uses(target, features, drop, person)
    chosen = list(features) or [name for name in columns if name not in (target, person, *drop)]
    if not chosen:
        raise SchemaError(f"no features are left: {path} has no columns besides the target and those left out")
    for name in categories:
        if name == target:
            raise SchemaError(
                f"--category: column {name!r} is the target, which must be numeric; only features can have levels"
            )
        if name not in chosen:
            raise SchemaError(f"--category: column {name!r} is not a feature; remove its levels")
    return chosen


def read_names(option: str, values: Iterable[str], columns: Collection[str]) -> list[str]:
    """The names in the values of an option. Each is a column's name, or a list with commas, quoted as in CSV."""
    names = []
    for value in values:
        if not value.strip():
            raise SchemaError(
                f"{option}: the list of columns is empty; name columns, separated by commas, or omit the option"
            )
        names += [value] if value in columns else split_list(option, value)
    return names


def unknown_column(option: str, name: str, columns: Iterable[str], path: Path | str) -> SchemaError:
    """The error for a name that no column has, with the nearest one that there is."""
    columns = list(columns)
    folded = {column.casefold(): column for column in reversed(columns)}  # of two alike the first
    near = get_close_matches(name.casefold(), folded, n=1)
    listed = ", ".join(map(repr, columns[:_LISTED])) + (", …" if len(columns) > _LISTED else "")
    advice = f"did you mean {folded[near[0]]!r}?" if near else f"it has {listed}"
    return SchemaError(f"{option}: no column {name!r} in {path}; {_NOT_SHOWN if like_a_record(columns) else advice}")


def _check_uses(target: str | None, features: Sequence[str], drop: Sequence[str], person: str | None) -> None:
    """No column has two uses."""
    if person == target and person is not None:
        raise SchemaError(f"--person: column {target!r} is the target; name the column that identifies people")
    for role, name in (("target", target), ("person", person)):
        if name in drop:
            raise SchemaError(f"--drop: column {name!r} is the {role}; it cannot be left out")
        if name in features:
            raise SchemaError(f"--features: column {name!r} is the {role}; it cannot be a feature too")
    for name in features:
        if name in drop:
            raise SchemaError(f"column {name!r} is in both --features and --drop; remove it from one of them")
        if features.count(name) > 1:
            raise SchemaError(f"--features: column {name!r} is listed twice")


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
        raise SchemaError(f"{option} {value}: a quote is not closed, or text follows it") from None
    return [field.strip() for field in fields or [""]]


def typed_levels(name: str, kind: str, levels: Sequence[Any]) -> list[Any]:
    """Levels of a column whose type is known: what was typed is text, also where it stands for a number."""
    if kind not in _READERS or not _all_text(levels):
        return list(levels)
    meant = _read(kind, levels)
    if None in meant:
        raise _no_level(name, kind, levels[meant.index(None)])
    return _all_different(name, kind, meant, levels)


def text_levels(name: str, levels: Sequence[Any]) -> list[Any]:
    """Levels of a column of a text file, whose kind is not known.

    What the levels are is decided by themselves: numbers if they are written as numbers are, so that 1 is also 1.0, and
    codes such as 007 stay text.
    """
    if not _all_text(levels):
        return list(levels)
    for reader in _READERS:
        meant = _read(reader, levels)
        if all(str(value).casefold() == level.casefold() for value, level in zip(meant, levels, strict=True)):
            return _all_different(name, reader, meant, levels)
    return list(levels)


def read_ranges(options: Sequence[str], columns: Collection[str], path: Path) -> dict[str, tuple[float, float]]:
    """Ranges as declared by options COL=LOW..HIGH."""
    ranges: dict[str, tuple[float, float]] = {}
    for option in options:
        name, sign, given = option.rpartition("=")
        ends = [read_number(end.strip()) for end in given.split("..")]
        if not sign or len(ends) != 2 or None in ends:
            raise SchemaError(f"--range {option}: write it as COLUMN=LOW..HIGH, for instance age=0..120")
        if name.strip() not in columns:
            raise unknown_column("--range", name.strip(), columns, path)
        if name.strip() in ranges:
            raise SchemaError(f"--range: the range of column {name.strip()!r} is declared twice")
        ranges[name.strip()] = checked_range(name.strip(), ends)
    return ranges


def _all_different(name: str, kind: str, meant: list[Any], levels: Sequence[str]) -> list[Any]:
    for i, value in enumerate(meant):
        if value in meant[:i]:
            raise SchemaError(
                f"--category: column {name!r} has the same {kind} twice, again as {levels[i]!r}; remove one"
            )
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
        f"--category: column {name!r} holds {kind}s, but {level!r} is not a {kind}; write levels such as "
        f"--category {shlex.quote(name)}={example}, or omit them"
    )


def _add(levels: dict[str, list[Any]], name: str, given: list[Any], option: str) -> None:
    if name in levels:
        raise SchemaError(f"{option}: the levels of column {name!r} are declared twice")
    times = Counter(given)
    for level in given:
        if isinstance(level, str) and not level.strip():
            raise SchemaError(f"{option}: column {name!r} has an empty level; missing values do not need a level")
        if times[level] > 1:
            raise SchemaError(f"{option}: column {name!r} has the level {level!r} twice; remove one")
    levels[name] = given


def _json_object(file: Path) -> tuple[tuple[str, Any], ...]:
    """The entries of the object in the file, those of the same name too, which a dict would hide."""
    try:
        entries: Any = json.loads(file.read_bytes(), object_pairs_hook=tuple)  # lists are arrays
    except (ValueError, RecursionError):  # no JSON, or not UTF-8
        raise SchemaError(f"--categories {file}: the file is not JSON") from None
    if not isinstance(entries, tuple):
        raise SchemaError(f'--categories {file}: the file must contain an object like {{"column": ["level", "level"]}}')
    return entries


def _json_levels(name: str, entry: Any, file: Path) -> list[Any]:
    if type(entry) is not list or not entry or not (_all_text(entry) or all(map(_is_number, entry))):
        raise SchemaError(
            f"--categories {file}: the levels of column {name!r} must be a list of text values or a list of numbers"
        )
    return entry


def _is_number(level: Any) -> bool:
    try:
        return isinstance(level, int | float) and not isinstance(level, bool) and math.isfinite(level)
    except OverflowError:  # an integer beyond float64
        return False
