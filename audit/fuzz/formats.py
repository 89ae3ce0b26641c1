"""Files of other programs: a record of any bits among tame ones, or a file with damage."""

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat

from audit.fuzz.columns import TYPED_USES, TYPES, columns_with
from audit.fuzz.draw import Draw, damaged
from audit.fuzz.outcome import Finding, Outcome, folder, input_file, outcome
from audit.fuzz.record import CANARY, RECORDS, TOWNS, Use, read_file, same_but_one
from privreg.data import files

_UNTYPED = (
    Use("y", ("x", "town", "flag"), "id", (("town", TOWNS),)),
    Use("y", ("x", "flag"), "town"),
    Use("town", ("x", "id")),
)
_NUMBER, _TEXT = 4711.0, "q" * 16  # whose bytes are replaced by others


def _tame(i: int) -> dict[str, Any]:
    return {"id": f"{CANARY}{i % 5}", "x": i + 0.25, "town": TOWNS[i % 3], "flag": i % 2 == 0, "y": -i - 0.75}


def _damage(draw: Draw, content: bytes, end: str, uses: tuple[Use, ...]) -> None:
    _read_damaged(draw, damaged(draw, content), end, uses)


def _read_damaged(draw: Draw, content: bytes, end: str, uses: tuple[Use, ...]) -> None:
    """A file with damage is read or refused, and no message shows a cell."""
    path, use = input_file(content, end), draw.pick(uses)
    columns = [*use.features, use.target]
    found = outcome(lambda: files.open_file(path, columns=columns))
    messages = [found.message, outcome(read_file, path, use).message]
    if found.value is not None:
        names = list(found.value.columns)
        if any(CANARY in name for name in names):  # what is left is a text file, and its first line the header
            return
        messages.append(outcome(lambda: list(found.value.batches(names, names[:1]))).message)
        messages += [outcome(found.value.levels, name).message for name in names]
    if any(CANARY in (message or "") for message in messages):
        raise Finding(f"a cell in the message: {messages}")


# ---- JSON lines


def _json_file(record: bytes | None = None, position: int = 0) -> bytes:
    lines = [json.dumps(_tame(i)).encode() for i in range(RECORDS)]
    return b"\n".join(lines if record is None else [*lines[:position], record, *lines[position:]])


@cache
def _tame_json(use: Use) -> Outcome:
    return outcome(read_file, input_file(_json_file(), ".jsonl"), use)


def fuzz_json(data: bytes) -> None:
    """A hostile line among others, or damage."""
    draw = Draw(data)
    if not draw.number(4):
        return _damage(draw, _json_file(), ".jsonl", _UNTYPED)
    use, position = draw.pick(_UNTYPED), draw.number(RECORDS + 1)
    line = b"\n".join(draw.rest().split(b"\n")[:5])  # up to five of them flip no majority
    after = outcome(read_file, input_file(_json_file(line, position), ".jsonl"), use)
    return same_but_one(_tame_json(use), after, position, line.count(b"\n") + 1)


# ---- Excel

_ODD_CELLS = (
    *(None, True, 0, -1.5, 1e300, 2**70, date(2020, 1, 2), datetime(9999, 12, 31, 23), timedelta(9), "#N/A", "=1/0"),
    *("x" * 30_000, "_xD800_", "'", "NA", " ", "1,5"),
)


def _workbook(rows: list[list[Any]]) -> bytes:
    book, out = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("Data")
    for row in [list(_tame(0)), *rows]:
        sheet.append(row)
    book.save(out)
    return out.getvalue()


@cache
def _tame_workbook() -> bytes:
    return _workbook([list(_tame(i).values()) for i in range(RECORDS)])


@cache
def _tame_excel(use: Use) -> Outcome:
    return outcome(read_file, input_file(_tame_workbook(), ".xlsx"), use)


def fuzz_excel(data: bytes) -> None:
    """A row of any cells, as many as it likes, or damage: of the archive, or of a part of it."""
    draw = Draw(data)
    what = draw.number(4)
    if what < 2:
        content = damaged(draw, _tame_workbook()) if what else _damaged_part(draw)
        return _read_damaged(draw, content, ".xlsx", _UNTYPED)
    use, position = draw.pick(_UNTYPED), draw.number(RECORDS + 1)
    cells = [draw.pick((*_ODD_CELLS, _letters(draw.take(9)))) for _ in range(draw.number(9))]
    rows = [list(_tame(i).values()) for i in range(RECORDS)]
    content = _workbook([*rows[:position], cells, *rows[position:]])
    return same_but_one(_tame_excel(use), outcome(read_file, input_file(content, ".xlsx"), use), position)


def _damaged_part(draw: Draw) -> bytes:
    """A workbook whose archive is whole, but not what is in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_tame_workbook())) as whole, zipfile.ZipFile(out, "w") as archive:
        names = sorted(whole.namelist())
        chosen = draw.pick(names)
        for name in names:
            part = whole.read(name)
            archive.writestr(name, damaged(draw, part) if name == chosen else part)
    return out.getvalue()


def _letters(raw: bytes) -> str:
    return re.sub(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]", "", raw.decode("utf-8", "ignore"))


# ---- Arrow


def _stored(table: pa.Table, stream: bool) -> bytes:
    out = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return out.getvalue()


def fuzz_arrow(data: bytes) -> None:
    """A value of any bits in a column of any type, or damage."""
    draw = Draw(data)
    harm, kind, use, position = draw.number(2), draw.pick(TYPES), draw.pick(TYPED_USES), draw.number(RECORDS + 1)
    stream = bool(draw.number(2))
    found = []
    for column in columns_with(kind, None if harm else draw.rest(), position):
        zeros = pa.array(np.zeros(len(column)))
        try:
            content = _stored(pa.table({"c": column, "x": zeros, "y": zeros}), stream)
        except (pa.ArrowException, ValueError):  # no such file can be made
            return
        if harm:
            break
        found.append(outcome(read_file, input_file(content, ".arrow"), use))
    if harm:
        _damage(draw, content, ".arrow", TYPED_USES)
    else:
        same_but_one(found[0], found[1], position)


# ---- Stata, SPSS and SAS

_LABELS = {"c": {1: "one", 2: f"{CANARY}two", 3: "three"}}
_LABELLED_USES = (
    Use("y", ("x", "c", "d", "id")),
    Use("y", ("c",), "id"),
    Use("x", ("id",), "c"),
    Use("y", ("c", "d"), None, (("c", ("one", "three")),)),
)
_WRITERS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    ".dta": lambda frame, path: pyreadstat.write_dta(frame, path, variable_value_labels=_LABELS),
    ".sav": lambda frame, path: pyreadstat.write_sav(
        frame, path, variable_value_labels=_LABELS, missing_ranges={"c": [9]}
    ),
    ".zsav": lambda frame, path: pyreadstat.write_sav(frame, path, variable_value_labels=_LABELS, compress=True),
    ".xpt": lambda frame, path: pyreadstat.write_xport(frame, path, file_format_version=8),
    ".por": lambda frame, path: pyreadstat.write_por(frame.rename(columns=str.upper), path),
}
_MARKS = {".dta": struct.pack("<d", _NUMBER), ".sav": struct.pack("<d", _NUMBER), ".xpt": b"\x44\x12\x67" + bytes(5)}
# What ends the description of the variables in a file of SPSS. Before it nothing is damaged: pyreadstat 1.3.7 crashes
# at about one in 400 damaged descriptions. It has never been seen to crash at records, nor at other formats.
_DESCRIBED = (999).to_bytes(4, "little") + bytes(4)


@cache
def _labelled_file(end: str, position: int | None) -> bytes:
    """Tame records, and perhaps one whose bytes are known."""
    rows = [
        {"id": f"{CANARY}{i % 5}", "x": i + 0.25, "c": i % 4 + 1.0, "d": date(2020, 1, 1 + i % 9), "y": -i - 0.75}
        for i in range(RECORDS)
    ]
    if position is not None:
        rows.insert(position, {"id": _TEXT, "x": _NUMBER, "c": _NUMBER, "d": date(2021, 1, 1), "y": _NUMBER})
    rows[0 if position else -1]["id"] = f"{CANARY}0".ljust(len(_TEXT), "a")  # the column is as wide with it as without
    path = str(folder() / f"made{end}")
    _WRITERS[end](pd.DataFrame(rows), path)
    return Path(path).read_bytes()


def fuzz_labelled(data: bytes) -> None:
    """A record of any bits, or damage."""
    draw = Draw(data)
    if not draw.number(2):
        end = draw.pick(tuple(_WRITERS))
        described, mark, rest = _labelled_file(end, None).partition(_DESCRIBED)
        if not mark:
            return _damage(draw, described, end, _LABELLED_USES)
        return _read_damaged(draw, described + mark + damaged(draw, rest), end, _LABELLED_USES)
    end, use, position = draw.pick(tuple(_MARKS)), draw.pick(_LABELLED_USES), draw.number(RECORDS + 1)
    tame = _labelled_file(end, position)
    parts = tame.split(_MARKS[end])
    content = parts[0] + b"".join(draw.take(8) + part for part in parts[1:])
    content = content.replace(_TEXT.encode(), draw.take(len(_TEXT)))
    before = outcome(read_file, input_file(tame, end), use)
    after = outcome(read_file, input_file(content, end), use)
    return _same_but_that(before, after, position)


def _same_but_that(before: Outcome, after: Outcome, position: int) -> None:
    """The record is there in both: it is taken out of one."""
    if before.value is not None:
        rest = np.delete(before.value.rows, position, axis=0)
        people = None if before.value.people is None else np.delete(before.value.people, position)
        before = Outcome(type(before.value)(before.value.schema, rest, people))
    same_but_one(before, after, position)
