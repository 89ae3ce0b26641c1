"""Text in other encodings: as UTF-8, and what is not valid is missing, alone."""

import codecs
import encodings
import pkgutil
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg import SchemaError
from privreg.data import text_file, text_stream
from privreg.data.files import header_names, open_file
from privreg.data.text_file import TextFile
from privreg.data.text_stream import TextStream, checked_encoding
from text_tables import BLANKS, message, slow_fixture, write


def read(path, encoding=None):
    file = open_file(path, encoding)
    return file.read(list(file.columns)).to_pydict()


ROWS = "größe,ort\n1,Köln\n2,Zürich\n"
MEANT = {"größe": ["1", "2"], "ort": ["Köln", "Zürich"]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("utf-8", None), ("utf-8-sig", None), ("utf-8", "utf8"), ("utf-8-sig", "UTF-8"), ("utf-16", None),
        ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "UTF-16BE"), ("latin-1", "latin-1"),
        ("latin-1", "ISO-8859-1"), ("cp1252", "windows-1252"), ("mac-roman", "mac-roman"), ("cp850", "cp850"),
        ("utf-8-sig", "latin-1"), ("utf-16", "latin-1"),  # a byte order mark knows better
    ],
)  # fmt: skip
def test_encodings(tmp_path, written, said, end):
    path = write(tmp_path / "x.csv", ROWS.replace("\n", end).encode(written))
    assert read(path, said) == MEANT
    assert header_names(path, said) == list(MEANT)
    assert TextFile(str(path), said).read(["ort"]).to_pydict() == {"ort": MEANT["ort"]}


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_utf_16_of_both_byte_orders(tmp_path, mark, monkeypatch):
    order = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    text = "a,b\n" + "".join(f"{i},\U0001f600ਊ{i}\n" for i in range(200))  # U+0A0A has the bytes of two line feeds
    path = write(tmp_path / "x.csv", mark + text.encode(order))
    meant = {"a": [str(i) for i in range(200)], "b": [f"\U0001f600ਊ{i}" for i in range(200)]}
    for piece, block in ((1 << 20, 1 << 20), (1, 7), (2, 1), (3, 50), (5, 1000)):
        monkeypatch.setattr(text_stream, "_PIECE", piece)
        monkeypatch.setattr(text_file, "_BLOCK", block)
        assert read(path) == meant


def test_what_is_not_valid_is_missing_alone(tmp_path):
    path = write(tmp_path / "x.csv", b"a,b\n1,\x81\n\x8d,2\nx\x9dy,\xe9\n\xc3,\xc3\xa9\n")
    assert read(path, "cp1252") == {"a": ["1", None, None, "Ã"], "b": [None, "2", "é", "Ã©"]}
    assert read(path, "ascii") == {"a": ["1", None, None, None], "b": [None, "2", None, None]}
    units = ["a,b\n", "1,\ud800\n", "\udc00,2\n", "x\ud800y,\U0001f600\n", "\udc00\ud800,3\n", "4,5\n"]
    path = write(tmp_path / "y.csv", "\ufeff".encode("utf-16-le") + "".join(units).encode("utf-16-le", "surrogatepass"))
    assert read(path) == {"a": ["1", None, None, None, "4"], "b": [None, "2", "\U0001f600", "3", "5"]}


@pytest.mark.parametrize("tail", [b"x", b"\x00\xd8", b"\x00\xd8x"])
def test_half_a_character_at_the_end(tmp_path, tail):
    path = write(tmp_path / "x.csv", "a,b\n1,2\n3,4".encode("utf-16") + tail)
    assert read(path) == {"a": ["1", "3"], "b": ["2", None]}


def test_an_empty_table(tmp_path):
    assert read(write(tmp_path / "x.csv", "a,b\n".encode("utf-16"))) == {"a": [], "b": []}
    assert message(open_file, write(tmp_path / "y.csv", codecs.BOM_UTF16_LE)).endswith("is empty")
    assert message(open_file, write(tmp_path / "z.csv", codecs.BOM_UTF8)).endswith("is empty")


# Of every record: bytes of a single-byte encoding, or units of UTF-16.
byte_lines = st.binary(max_size=20).filter(lambda line: not set(line) & set(b"\r\n"))
units = st.lists(st.integers(0, 0xFFFF) | st.sampled_from([0xD800, 0xDC00, 0x22, 0x2C, 0x0A0A, 0x0A00]), max_size=10)


@given(line=byte_lines, encoding=st.sampled_from(["latin-1", "cp1252", "iso8859-7", "ascii", "koi8-r"]))
@slow_fixture
def test_one_record_of_any_bytes_changes_no_other(tmp_path, line, encoding):
    rows = [b"%d,t\xe4\xc4%d" % (i, i) for i in range(40)]
    check_others(tmp_path, b"a,b\n", rows, line, b"\n", line.decode(encoding, "surrogateescape"), encoding)


@given(units=units.filter(lambda found: 10 not in found and 13 not in found), order=st.sampled_from(["le", "be"]))
@slow_fixture
def test_one_record_of_any_units_changes_no_other(tmp_path, units, order):
    encoding = f"utf-16-{order}"
    line = b"".join(unit.to_bytes(2, "little" if order == "le" else "big") for unit in units)
    rows = [f"{i},tä{i}".encode(encoding) for i in range(40)]
    start, end = "\ufeffa,b\n".encode(encoding), "\n".encode(encoding)
    check_others(tmp_path, start, rows, line, end, line.decode(encoding, "surrogatepass"), None)


def check_others(tmp_path, start, rows, line, end, text, encoding):
    before = read(write(tmp_path / "a.csv", start + end.join(rows)), encoding)
    after = read(write(tmp_path / "b.csv", start + end.join([*rows[:20], line, *rows[20:]]) + end), encoding)
    extra = int(bool(text.strip(BLANKS)) or text.count(",") == 1)
    for name, values in before.items():
        assert after[name][:20] + after[name][20 + extra :] == values


# ---------------------------------------------------------------- which encodings


NOT_ALLOWED = [
    *("utf-7", "utf-32", "cp037", "cp500", "shift_jis", "gb18030", "big5", "euc-kr", "iso2022_jp", "hz", "idna"),
    *("punycode", "unicode_escape", "base64", "rot13", "zip", "undefined", "no such", "", "a\0b", "é"),
]


@pytest.mark.parametrize("name", NOT_ALLOWED)
def test_other_encodings_are_refused(tmp_path, name):
    path = write(tmp_path / "x.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match="use utf-8, utf-16, latin-1, cp1252 or another single-byte"):
        open_file(path, name)


def test_every_byte_of_a_usable_encoding_stands_alone():
    usable = []
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            usable.append(checked_encoding(module.name))
        except ValueError:
            continue
    assert {"ascii", "iso8859-1", "cp1252", "cp437", "koi8-r", "mac-roman", "utf-8", "utf-16"} < set(usable)
    for name in usable:
        if not name.startswith("utf"):
            for byte in range(256):
                for beside in (b"1", b"\x80", b"\xff", b"~", b"\x1b"):
                    both = (bytes([byte]) + beside).decode(name, "surrogateescape")
                    assert len(both) == 2
                    assert (byte == 10) == (both[0] == "\n")


def test_only_text_has_an_encoding(tmp_path):
    path = write(tmp_path / "x.parquet", b"PAR1")
    assert message(open_file, path, "latin-1") == (f"{path} is Parquet, which has its own encoding; omit the encoding")


def test_utf_16_without_a_mark(tmp_path):
    path = write(tmp_path / "x.csv", ROWS.encode("utf-16-le"))
    assert "has no byte order mark; if it is UTF-16, give the encoding as utf-16-le or utf-16-be" in message(
        open_file, path, "utf-16"
    )
    assert "neither Parquet nor UTF-8 text" in message(open_file, path)


def test_a_header_in_another_encoding_than_the_one_named(tmp_path):
    path = write(tmp_path / "x.csv", b"a,gr\x81\n1,2\n")
    said = f"the header line of {path} is not"
    assert message(open_file, path).startswith(f"{said} UTF-8; give its encoding, such as --encoding latin-1")
    assert message(open_file, path, "cp1252") == f"{said} cp1252; check the encoding"
    units = write(tmp_path / "y.csv", "a,\ud800\n".encode("utf-16-le", "surrogatepass"))
    assert "is not utf-16-le; check the encoding" in message(open_file, units, "utf-16-le")


def test_hostile_text_takes_no_longer(tmp_path):
    """A lone surrogate is an error of the decoder; a million of them must not take minutes."""
    path = write(tmp_path / "x.csv", "\ufeffa,b\n".encode("utf-16-le") + b"\x00\xd8" * 2_000_000)
    begin = time.perf_counter()
    assert read(path) == {"a": [None], "b": [None]}
    assert time.perf_counter() - begin < 20


def test_streams_are_closed_if_they_cannot_be_read(tmp_path):
    path = write(tmp_path / "x.csv", b"ab")
    with pytest.raises(SchemaError):
        TextStream(path, "utf-16")
