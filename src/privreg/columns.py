"""Which columns of a file a request uses, and their declared levels. Only names, kinds and levels are looked at."""

import csv
import io
import json
import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privreg.errors import SchemaError
from privreg.text_header import number_pattern

if TYPE_CHECKING:
    from privreg.files import DataFile

_LISTED = 8  # columns named in a message


@dataclass(frozen=True)
class Columns:
    """The columns of a fit, and the declared levels of its categories."""

    target: str
    features: list[str]
    person: str | None
    categories: dict[str, list[Any]]


def choose_columns(
    file: "DataFile",
    target: str,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    person: str | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
) -> Columns:
    """Settle target, features, person and levels. Without `features`, every column that has no other use is one."""
    categories = categories or {}
    chosen = choose_names(list(file.columns), file.path, target, features, drop, person, categories)
    _check_target(file, target)
    if person is not None and "<" in file.columns[person]:  # list<…>, struct<…>, map<…>
        raise SchemaError(f"--person: column {person!r} holds {file.columns[person]}, not one identifier a row")
    named = bool(features)
    _check_text([name for name in chosen if file.columns[name] == "text" and name not in categories], named)
    levels = {name: _levels(file, name, categories.get(name), named) for name in chosen}
    declared = {name: given for name, given in levels.items() if given is not None}
    return Columns(target, chosen, person, declared)


def choose_names(
    columns: Sequence[str],
    path: Path | str,
    target: str,
    features: Sequence[str],
    drop: Sequence[str],
    person: str | None,
    categories: Iterable[str],
) -> list[str]:
    """The features, by the names of the columns alone: a header is enough. `categories` are those with levels."""
    _check_names(columns, path, target, features, drop, person, categories)
    _check_uses(target, features, drop, person)
    chosen = list(features) or [name for name in columns if name not in (target, person, *drop)]
    if not chosen:
        raise SchemaError(f"no features are left: {path} has no column besides the target and those left out")
    for name in categories:
        if name == target:
            raise SchemaError(
                f"--category: column {name!r} is the target, which must be numbers; levels are for features"
            )
        if name not in chosen:
            raise SchemaError(f"--category: column {name!r} is not one of the features; leave its levels out")
    return chosen


def read_names(option: str, values: Iterable[str], columns: Collection[str]) -> list[str]:
    """The names in the values of an option. Each is a column's name, or a list with commas, quoted as in CSV."""
    names = []
    for value in values:
        if not value.strip():
            raise SchemaError(f"{option}: the list of columns is empty; leave it out, or name columns with commas")
        names += [value] if value in columns else _split(option, value)
    return names


def read_levels(options: Sequence[str], file: Path | None, columns: Collection[str] = ()) -> dict[str, list[Any]]:
    """Levels as declared by options COL=a,b,c and by a JSON file {"col": ["a", "b"]}."""
    levels: dict[str, list[Any]] = {}
    for option in options:
        name = max((c for c in columns if option.startswith(f"{c}=")), key=len, default=option.partition("=")[0])
        given = option.removeprefix(name)
        if not name.strip() or not given.startswith("="):
            raise SchemaError(f"--category {option}: write it as COLUMN=level,level,…")
        _add(levels, name.strip(), _split("--category", given[1:]), "--category")
    if file is not None:
        for name, entry in _json_object(file):
            _add(levels, name, _json_levels(name, entry, file), f"--categories {file}")
    return levels


def _split(option: str, value: str) -> list[str]:
    """A list with commas. Quotes keep a comma in a name: a,"b,c"."""
    try:
        fields = next(csv.reader([value], skipinitialspace=True, strict=True))
    except csv.Error:
        raise SchemaError(f"{option} {value}: a quote is not closed, or not at the end of a name") from None
    return [field.strip() for field in fields or [""]]


def _joined(names: Sequence[str]) -> str:
    """The same list again, as it can be typed."""
    line = io.StringIO()
    csv.writer(line).writerow(names)
    return shlex.quote(line.getvalue().removesuffix("\r\n"))


def _check_names(
    columns: Sequence[str],
    path: Path | str,
    target: str,
    features: Sequence[str],
    drop: Sequence[str],
    person: str | None,
    categories: Iterable[str],
) -> None:
    given = [("--target", target), *(("--features", name) for name in features), *(("--drop", name) for name in drop)]
    given += [("--person", person)] if person is not None else []
    given += [("--category", name) for name in categories]
    for option, name in given:
        if name not in columns:
            raise unknown_column(option, name, columns, path)


def unknown_column(option: str, name: str, columns: Iterable[str], path: Path | str) -> SchemaError:
    """The error for a name that no column has, with the nearest one that there is."""
    return SchemaError(f"{option}: no column {name!r} in {path}; {_advice(name, list(columns))}")


def _advice(name: str, columns: list[str]) -> str:
    folded = {column.casefold(): column for column in reversed(columns)}  # of two alike the first
    near = get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    more = ", …" if len(columns) > _LISTED else ""
    return f"it has {', '.join(map(repr, columns[:_LISTED]))}{more}"


def _check_uses(target: str, features: Sequence[str], drop: Sequence[str], person: str | None) -> None:
    """No column has two uses."""
    if person == target:
        raise SchemaError(f"--person: column {target!r} is the target")
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


def _check_target(file: "DataFile", target: str) -> None:
    kind = file.columns[target]
    if kind not in ("number", "boolean"):
        held = "categories" if kind == "category" else kind
        raise SchemaError(f"--target: column {target!r} holds {held}, not numbers")


def _check_text(undeclared: list[str], named: bool) -> None:
    """Text columns without levels are named together."""
    if len(undeclared) == 1:
        (name,) = undeclared
        raise SchemaError(
            f"column {name!r} holds text: declare its levels with --category {shlex.quote(name)}=a,b,c, or "
            f"{_leave_out('it', undeclared, named)}"
        )
    if undeclared:
        raise SchemaError(
            f"columns {', '.join(map(repr, undeclared))} hold text: declare levels with "
            f"--category {shlex.quote(undeclared[0])}=a,b,c, or {_leave_out('them', undeclared, named)} "
            "(identifiers and dates are best left out)"
        )


def _leave_out(it: str, names: list[str], named: bool) -> str:
    return f"leave {it} out of --features" if named else f"leave {it} out with --drop {_joined(names)}"


def _levels(file: "DataFile", name: str, declared: Sequence[Any] | None, named: bool) -> list[Any] | None:
    """The levels of a feature; None if it needs none."""
    kind = file.columns[name]
    if kind not in ("number", "boolean", "text", "category"):
        raise SchemaError(f"column {name!r} holds {kind}: convert it to numbers, or {_leave_out('it', [name], named)}")
    if declared is not None:
        return _meant(name, kind, declared, file.typed)
    return file.levels(name) if kind == "category" else None


def _meant(name: str, kind: str, levels: Sequence[Any], typed: bool) -> list[Any]:
    """Levels as a column of this kind has them: what is typed is text, also where it stands for a number.

    A text file may have other cells than its first rows show, so there it is enough that one level can occur.
    """
    if kind not in ("number", "boolean") or not all(isinstance(level, str) for level in levels):
        return list(levels)
    meant = [_number(level) if kind == "number" else _BOOLEANS.get(level.casefold()) for level in levels]
    wrong = [level for level, value in zip(levels, meant, strict=True) if value is None]
    if wrong and (typed or len(wrong) == len(levels)):
        example = "1,2" if kind == "number" else "true,false"
        raise SchemaError(
            f"--category: column {name!r} holds {kind}s, and {wrong[0]!r} is none; write levels such as "
            f"--category {shlex.quote(name)}={example}, or leave its levels out"
        )
    if wrong:
        return list(levels)
    for i, value in enumerate(meant):
        if value in meant[:i]:
            raise SchemaError(f"--category: column {name!r} has the level {levels[i]!r} twice, as the same {kind}")
    return meant


_BOOLEANS = {"true": True, "false": False}


def _number(level: str) -> int | float | None:
    if not number_pattern(".").fullmatch(level):
        return None
    value = float(level)
    if not math.isfinite(value):
        return None
    return int(level) if level.lstrip("+-").isdigit() else value


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
    wanted = f"--categories {file}: the levels of column {name!r} must be a list of text, or of numbers"
    if type(entry) is not list or not entry:
        raise SchemaError(wanted)
    texts = all(isinstance(level, str) for level in entry)
    if not texts and not all(_is_number(level) for level in entry):
        raise SchemaError(wanted)
    return entry


def _is_number(level: Any) -> bool:
    try:
        return isinstance(level, int | float) and not isinstance(level, bool) and math.isfinite(level)
    except OverflowError:  # an integer beyond float64
        return False
