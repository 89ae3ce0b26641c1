"""Delimited text: a hostile line among tame ones, or hostile bytes as a file."""

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from audit.fuzz.draw import Draw
from audit.fuzz.outcome import Finding, Outcome, input_file, outcome
from audit.fuzz.record import CANARY, RARE, RECORDS, TOWNS, Use, read_file, same_but_one
from privreg.data import files, text_file, text_header
from privreg.data.text_stream import TextStream

TEXT_USES = (
    Use("y", ("x", "town", "flag"), "id", (("town", TOWNS),)),
    Use("y", ("x", "flag"), "x2", (("x", (48611.25, 48612.25)),)),
    Use("y", ("x2",), "town"),
    Use("flag", ("x", "x2")),
    Use("y", ("town", "id", "x2")),  # text without levels
    Use("y"),
    Use("town"),  # text as the target
    Use("z"),
)

# fmt: off
NASTY_LINES = (
    b'"', b'""', b'"""', b'"o', b'1,2,3,4,5,"6', b'"1,2,3,4,5,6', b'1,"2",3,"4,5,6', b'1,2,3,north"x",5,6', b'"a"b,"',
    b"", b" ", b"\0", b"\0\0\0", b"1,\0,3,4,5,6", b"\xff", b"\xff,\xfe,\xc3,\xe2\x82,\xf0,1", b"1", b"," * 5, b"," * 99,
    b"1\r2", b"1,2,3\r4,5,6", b"\r", b"\r\r\r", b"1,2,3,4,5,6\r", b"\n", b"\r\n\r\n", b"\x0b,\x0c,\x1c,\x1d,\x1e,\x85",
    b"a,1e999,-1e999,north,true,1e400", b"a,1e-999,5e-324,south,TRUE,-0", b"a,nan,inf,NA,?,-", b"a,0x1,1_0,x,1,1d5",
    "a,١,٢,３,true,−1".encode(), "a,1\u2028,2\u00a0,3,4,5".encode(), b"\xef\xbb\xbfa,1,2,3,4,5", b"id,x,x2,town,flag,y",
    b"9" * 99_999 + b"x", b"a," + b"9" * 99_999 + b"x,1,2,3,4", b"a,1," + b"." * 99_999, b"a,b,c,d,e," + b"1e" * 999,
    b"x" * 1_000_000, b'"' + b"1," * 100_000, b'a,"' + b'"' * 90_001 + b",2,3,4,5", b"\x1f" * 9, b"\\", b"'", b"PAR1",
)
# fmt: on


def _units(content: bytes) -> bytes:
    """The bytes of UTF-8 as UTF-16; what is none of these in pairs, as it is."""
    try:
        return content.decode().encode("utf-16-le")
    except UnicodeDecodeError:
        return content + b"x" * (len(content) % 2)


# Of each form how lines are written, and what is done with the whole file.
FORMS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "plain": (bytes, bytes),
    "gzip": (bytes, gzip.compress),
    "bzip2": (bytes, bz2.compress),
    "xz": (bytes, lzma.compress),
    "utf-16": (_units, lambda content: b"\xff\xfe" + content),
    "both": (_units, lambda content: gzip.compress(b"\xff\xfe" + content)),
}


@dataclass(frozen=True)
class Dialect:
    """A way to write the tame file."""

    separator: str
    mark: str
    end: str
    form: str = "plain"

    def lines(self) -> list[bytes]:
        rows = [["id", "x", "x2", "town", "flag", "y"]]
        for i in range(RECORDS):
            town = TOWNS[i % 3] if i % 4 else f'"{TOWNS[i % 3]}"'
            rows.append([f"{CANARY}{i % 5}", f"{RARE}{i + 10}.25", f"{i}.5e-3", town, str(i % 2 == 0), f"-{i}.75"])
        return [self.separator.join(cell.replace(".", self.mark) for cell in row).encode() for row in rows]

    def file(self, record: bytes | None = None, position: int = 0) -> bytes:
        lines = self.lines()
        if record is not None:
            lines.insert(1 + position, record)
        ended = [b""] if position < RECORDS else []  # the last line may have no end
        written, packed = FORMS[self.form]
        return packed(written(self.end.encode()).join(map(written, [*lines, *ended])))

    def parts(self, record: bytes) -> int:
        """How many lines a record makes, at most."""
        lines = FORMS[self.form][0](record)
        if self.form in ("utf-16", "both"):
            return len(re.split("\r\n|\r|\n", lines.decode("utf-16-le", "surrogatepass")))
        return len(re.split(rb"\r\n|\r|\n", lines))


DIALECTS = tuple(Dialect(s, m, e) for s in ",;\t|" for m in ".," for e in ("\n", "\r\n", "\r") if (s, m) != (",", ","))
DIALECTS += tuple(Dialect(",", ".", "\n", form) for form in FORMS if form != "plain")


@cache
def tame_text(dialect: Dialect, use: Use) -> Outcome:
    """What is read without the hostile line."""
    return outcome(read_file, input_file(dialect.file()), use)


def text_record(record: bytes, position: int, dialect: Dialect, use: Use, block: int = 1 << 22) -> None:
    """A file with and without one line of any bytes. Bytes that end lines make several records of it."""
    before = tame_text(dialect, use)
    path = input_file(dialect.file(record, position))
    with patch.object(text_file, "_BLOCK", block):
        after = outcome(read_file, path, use)
    same_but_one(before, after, position, dialect.parts(record))


def nasty_lines_found(positions: Sequence[int] = (0, 12)) -> bool:
    """Whether one of the nasty lines changes anything but itself. In about a second; for readers with a bug put in."""
    tame_text.cache_clear()
    try:
        for line in NASTY_LINES:
            for position, use in zip(positions, cycle(TEXT_USES[:2]), strict=False):
                text_record(line, position, DIALECTS[0], use)
    except Exception:
        return True
    finally:
        tame_text.cache_clear()
    return False


def fuzz_text(data: bytes) -> None:
    """A hostile line among others, or the bytes as a file."""
    draw = Draw(data)
    if draw.number(3):
        dialect, use, position = draw.pick(DIALECTS), draw.pick(TEXT_USES), draw.number(RECORDS + 1)
        block = draw.pick((1 << 22, 16, 200))
        ended = re.split(rb"(\r\n|\r|\n)", draw.rest())
        text_record(b"".join(ended[:9]), position, dialect, use, block)  # up to five of them flip no majority
    else:
        pack = draw.pick(list(FORMS.values()))[1]
        _whole_text(pack(draw.rest()))


def _whole_text(content: bytes) -> None:
    path = input_file(content)
    header = outcome(_header, path).value or ""
    found = outcome(files.open_file, path)
    messages, names = [found.message], list[str]()
    if found.value is not None:
        names = list(found.value.columns)
        for use in (Use(names[-1], tuple(names[:-1])), Use(names[0]), Use(names[-1], tuple(names[:1]), names[-2:][0])):
            messages.append(outcome(read_file, path, use).message)
        whole = outcome(found.value.read, names)
        parts = outcome(lambda: list(found.value.batches(names)))
        if whole.message is None and parts.value and not pa.concat_tables(parts.value).equals(whole.value):
            raise Finding("batches are not what read gives")
    if not content.startswith((b"PAR1", *files._REFUSED)):
        _check_public(messages, header, content, names)


def _header(path: Path) -> str:
    with TextStream(path) as stream:
        return text_header.header_line(stream, path)


def _check_public(messages: Sequence[str | None], header: str, content: bytes, names: list[str]) -> None:
    """No number but of columns, and no cell with a digit in it, stands in a message."""
    text = content.decode("latin-1")
    cells = {cell for cell in re.split(r'[,;\t|"\r\n\x1f ]+', text) if len(cell) > 3 and re.search("[0-9]", cell)}
    columns = sum(map(header.count, ",;\t|\x1f")) + 1
    quoted = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
    named = "|".join([quoted, *map(re.escape, sorted(names, key=len, reverse=True))])
    for message in filter(None, messages):
        plain = re.sub("utf-(8|16)", "", message, flags=re.IGNORECASE)
        if any(int(number) > columns for number in re.findall("[0-9]+", re.sub(named, "", plain))):
            raise Finding(f"a number in the message: {message}")
        if any(cell in plain and cell not in header and cell not in repr(header) for cell in cells):
            raise Finding(f"a cell in the message: {message}")
