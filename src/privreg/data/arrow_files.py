"""What files in arrow's types have in common: their fields, the levels in these, and errors that quote nothing."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from privreg.data.arrow_types import stored_type
from privreg.errors import SchemaError


def guarded(what: str, path: Path | str, function: Callable[[], Any]) -> Any:
    """What arrow says of a damaged file may quote it."""
    try:
        return function()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the operating system
            raise
    raise SchemaError(f"{path} could not be read as {what}")


def each(what: str, path: Path | str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for all that an iterator gives."""
    while (batch := guarded(what, path, lambda: next(batches, None))) is not None:
        yield batch


def fields_of(what: str, path: Path | str, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types by name. Text has one type, however it is stored; the index of a pandas frame is not a column."""
    for name, times in Counter(guarded(what, path, lambda: schema.names)).items():
        if times > 1:
            raise SchemaError(f"{path} has two columns called {name!r}; rename one of them")
    kept = [f for f in guarded(what, path, lambda: list(schema)) if not re.fullmatch(r"__index_level_\d+__", f.name)]
    fields = guarded(what, path, lambda: {f.name: stored_type(f.type) for f in kept})  # not all types are known
    if not fields:
        raise SchemaError(f"{path} has no columns")
    return fields


def enum_levels(column: pa.Field) -> list[str] | None:
    """The levels of polars' Enum, from what it has written down beside the type: "1;a3;b c" is a and b c."""
    rest, levels = (column.metadata or {}).get(b"_PL_ENUM_VALUES2", b""), []
    while rest:
        size, sign, rest = rest.partition(b";")
        if not sign or not size.isdigit() or int(size) > len(rest):
            return None
        levels.append(rest[: int(size)].decode(errors="replace"))
        rest = rest[int(size) :]
    return levels or None


def made_of_values(column: pa.Field) -> bool:
    """Whether polars has written down that the levels are those that occur: its Categorical."""
    return any(key.startswith(b"_PL_CATEGORICAL") for key in column.metadata or {})
