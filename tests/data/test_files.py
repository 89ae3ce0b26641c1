"""Tables in files: which files are tables, and what other programs write comes back."""

import bz2
import csv
import gzip
import lzma
import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privreg.data.cells import as_numbers, as_texts, as_truths
from privreg.data.files import TEXT, format_of, open_file
from privreg.data.schema import Schema, declared_columns
from privreg.data.tables import read_table, read_target
from public_tables import public_table
from text_tables import LEVELS, message, odd_numbers, read, rows_of, write

# ---------------------------------------------------------------- kinds of files


def test_the_operating_systems_errors_pass(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        open_file(tmp_path / "no.csv")
    assert missing.value.filename is not None
    if os.geteuid():
        secret = write(tmp_path / "secret.csv", "a\n1\n")
        secret.chmod(0)
        with pytest.raises(PermissionError):
            open_file(secret)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n \n\n", "is empty"),
        (b"\x1f\x8b\x08\x00abc", "is damaged: it cannot be unpacked"),
        (b"BZh91AY", "is damaged: it cannot be unpacked"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b" \n\n", mtime=0), "is empty"),
        (gzip.compress(b"PAR1 4711", mtime=0), "is Parquet, compressed with gzip; unpack it first"),
        (bz2.compress(b"PK\x03\x04 4711"), "is a zip archive; unpack it first"),
        (lzma.compress(gzip.compress(b"a,b\n4711,2\n", mtime=0)), "is compressed twice; unpack it first"),
        (gzip.compress(b'{"wage": 4711}', mtime=0), "is JSON; save it as CSV"),
        ('[{"wage": 4711}]'.encode("utf-16"), "is JSON; save it as CSV"),
        (b'{"wage": 4711, "age": 3}\n{"wage": 2, "age": 3}\n', "is JSON; save it as CSV"),
        (b'[{"wage": 4711}]', "is JSON; save it as CSV"),
        (b'\xef\xbb\xbf \n[["wage", 4711]]', "is JSON; save it as CSV"),
        (b"<?xml version='1.0'?><wage>4711</wage>", "is XML or HTML; save it as CSV"),
        (b">\x04\x10 4711,b\n1,2\n", "neither Parquet nor UTF-8 text"),
        (b"PK\x03\x04abc", "is a zip archive; unpack it first"),
        ("a,b\n1,2\n".encode("utf-16-be"), "neither Parquet nor UTF-8 text"),
        ("größe,b\n1,2\n".encode("latin-1"), "not UTF-8; give its encoding, such as --encoding latin-1"),
        (b"PAR1 4711 broken", "could not be read as Parquet"),
        (b",,\n1,2,3\n", "has no column names"),
        (b",4711,5\n1,2,3\n", "holds numbers"),
        (b"a, b ,b\n1,2,3\n", "two columns called 'b'"),
        (b'a,"b\n4711,5\n', "a quote that is not closed"),
        (b'a,"b\n4711,"5"\n', "a quote that is not closed"),  # that would put the record into a name
    ],
)
def test_unusable_files_are_refused_in_one_line_without_a_value(tmp_path, content, words):
    path = write(tmp_path / "pay.csv", content)
    said = message(open_file, path)
    assert words in said
    assert str(path) in said
    assert "4711" not in said


def test_words_in_a_record_do_not_change_the_format(tmp_path):
    for text in ("SPSS PORT FILE", "ARROW1", "PAR1", "$FL2", '{"a": 1}', "<a>", "BZh"):
        for header in ("a,b\n", "\n\na,b\r", "a,b\r\n"):
            assert format_of(write(tmp_path / "t", f"{header}{text},1\n")) is TEXT, text


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "save the data in a file, or use -" in message(open_file, tmp_path / "pipe")


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "\n\na,b\r\n", "\ufeffa,b\n\n\n"])
def test_a_header_alone_is_a_table_without_records(tmp_path, content):
    file = open_file(write(tmp_path / "x.csv", content))
    assert file.columns == {"a": "text", "b": "text"}
    table = file.read(["b", "a"])
    assert table.schema == pa.schema([("b", pa.string()), ("a", pa.string())])
    assert table.num_rows == 0
    assert list(file.batches(["a"])) == []
    assert read_table(table, Schema(declared_columns(["a", "b"], {"a": ["x", "y"]}))).names == ["a=y", "b"]


odd_numbers += [
    ".5",
    ".",
    "-.5E+07",
    "١",
    "1\0",
    "\x001",
    "1\u00a0",
    '"',
    '""',
    "1 2",
    "0.1",
    "12345678901234567890",
]


odd_numbers += ["1" * 400, "0." + "0" * 400 + "1", "1e" + "9" * 60, "0." + "0" * 63 + "1e99", "9" * 64, "9" * 65]


MEMORY = r"""
import re, sys
import pyarrow as pa
from privreg.data import files, text_file
text_file._BLOCK = 1 << 18
file = files.open_file(sys.argv[1])
rows = 0
for table in file.batches(["x0", "x1", "town"]):
    rows += table.num_rows
resident = re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace("\t", " "))  # not that of the parent
print(rows, pa.default_memory_pool().max_memory() >> 20, int(resident[1]) >> 10)
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    rng = np.random.default_rng(0)
    part = pd.DataFrame(rng.normal(size=(100_000, 4)), columns=[f"x{i}" for i in range(4)])
    part["town"] = "north"

    def used(copies: int) -> tuple[int, int]:
        path = tmp_path / f"{copies}.{kind}"
        if kind == "csv":
            header, _, lines = part.to_csv(index=False).partition("\n")
            path.write_text(f"{header}\n{lines * copies}")
        else:  # one row group
            pd.concat([part] * copies).to_parquet(path, index=False, row_group_size=10**8, use_dictionary=False)
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True, timeout=120
        )
        rows, pool, resident = map(int, out.stdout.split())
        assert rows == copies * 100_000
        assert path.stat().st_size > copies << 21
        return pool, resident

    small, large = used(4), used(16)
    assert large[0] < small[0] + 24
    assert large[1] < small[1] + 64


# ---------------------------------------------------------------- round trips

frame = pd.DataFrame(
    {
        "x": np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250),
        "n": np.arange(500) - 250,
        "flag": np.arange(500) % 3 == 0,
        "town": pd.Categorical([LEVELS[i % 2] for i in range(500)], categories=LEVELS),
        "y": np.arange(500.0),
    }
)


@pytest.mark.parametrize(
    "options", [{}, {"sep": "\t"}, {"sep": ";", "decimal": ","}, {"sep": "|", "quoting": csv.QUOTE_ALL}]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_pandas_writes_as_text(tmp_path, options, encoding, end):
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False, encoding=encoding, lineterminator=end, **options)
    file = open_file(path)
    assert file.columns == dict.fromkeys(frame, "text")
    table = file.read(list(frame))
    for name in "xny":
        np.testing.assert_array_equal(as_numbers(table[name], options.get("decimal", ".")), frame[name])
    np.testing.assert_array_equal(as_truths(table["flag"]), frame.flag)
    assert as_texts(table["town"]).to_pylist() == frame.town.tolist()


@pytest.mark.parametrize("options", [{}, {"row_group_size": 77}, {"compression": "gzip"}])
def test_what_pandas_writes_as_parquet(tmp_path, options):
    path = tmp_path / "table"
    frame.to_parquet(path, index=False, **options)
    file = open_file(path)
    assert file.columns == {"x": "number", "n": "number", "flag": "boolean", "town": "category", "y": "number"}
    assert file.levels("town") == LEVELS  # with the level that no record has
    check_records(file)


def check_records(file):
    table = file.read(list(file.columns))
    got = public_table(table.drop_columns(["y"]), {"town": LEVELS})
    assert got.names == ["x", "n", "flag=True", "town=south", "town=east"]
    expected = [frame.x, frame.n, frame.flag, *(frame.town == level for level in LEVELS[1:])]
    for j, values in enumerate(expected):
        np.testing.assert_array_equal(got[j], values.astype(float))
    np.testing.assert_array_equal(read_target(table["y"]), frame.y)
    assert pa.concat_tables(file.batches(list(file.columns))).equals(table)


def test_what_the_csv_module_writes(tmp_path):
    odd = ['a "b"', "c,d", "e f", "g;h", "1", "é"]
    path = rows_of(tmp_path / "x.csv", [[cell, i] for i, cell in enumerate(odd)], ('the "name"', "i,j"))
    assert read(path) == {'the "name"': odd, "i,j": list("012345")}


def test_files_are_closed(tmp_path):
    script = textwrap.dedent("""
        import sys, warnings
        from privreg.data.files import open_file
        file = open_file(sys.argv[1])
        file.read(["a"])
        next(file.batches(["a"]))
    """)
    path = write(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 1000)
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", script, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")
