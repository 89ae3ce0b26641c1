"""Compressed files: what is read is what was packed, and damage is one error."""

import bz2
import errno
import gzip
import io
import lzma
import subprocess
import sys
from contextlib import closing

import pandas as pd
import pytest
import zstandard

from privreg.data import packing, text_file
from privreg.data.files import header_names, open_file
from privreg.data.packing import Unpacked, packing_of
from text_tables import message, read, write

PACK = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstandard.compress}
TEXT = b"a,b\n" + b"".join(b"%d,x%d\n" % (i, i % 7) for i in range(5000))


@pytest.mark.parametrize("name", PACK)
def test_compressed_text_is_read_as_the_text(tmp_path, name, monkeypatch):
    """By its first bytes, whatever its name is."""
    plain = read(write(tmp_path / "x.csv", TEXT))
    path = write(tmp_path / "packed.csv", PACK[name](TEXT))
    assert packing_of(path.read_bytes()[:8]) == name
    assert header_names(path) == ["a", "b"]
    assert read(path) == plain
    for block in (1, 100, 5000):
        monkeypatch.setattr(text_file, "_BLOCK", block)
        assert read(path) == plain


@pytest.mark.parametrize("name", PACK)
def test_parts_one_after_another(tmp_path, name):
    """As `cat a.gz b.gz` writes them, wherever they are cut."""
    parts = [TEXT[:2], TEXT[2:1001], b"", TEXT[1001:]]
    assert read(write(tmp_path / "x", b"".join(map(PACK[name], parts)))) == read(write(tmp_path / "y", TEXT))


@pytest.mark.parametrize("compression", ["gzip", "bz2", "xz", "zstd"])
def test_what_pandas_writes(tmp_path, compression):
    frame = pd.DataFrame({"town": ["Köln", "北", "a"] * 50, "n": [str(i) for i in range(150)]})
    frame.to_csv(tmp_path / "x", index=False, compression=compression, sep="\t")
    assert read(tmp_path / "x") == frame.to_dict("list")


@pytest.mark.parametrize("name", PACK)
def test_damage_after_the_header_is_one_error(tmp_path, name):
    rows = b"a,b\n" + b"".join(b"%d,4711\n" % (i * i) for i in range(300_000))
    whole = PACK[name](rows)
    middle = len(whole) // 2
    broken = [whole[:middle], whole[:-5], whole[:middle] + b"\xaa" * 64 + whole[middle + 64 :]]
    for content in broken:
        file = open_file(path := write(tmp_path / "pay.csv", content))
        assert list(file.columns) == ["a", "b"]
        assert message(file.read, ["a"]) == f"{path} is damaged: it cannot be unpacked"
        assert message(list, file.batches(["b"])) == f"{path} is damaged: it cannot be unpacked"


def test_errors_of_the_system_are_told_as_they_are(tmp_path, monkeypatch):
    class Failing(io.RawIOBase):
        def readinto(self, _):
            raise OSError(errno.EIO, "Input/output error")

    path = write(tmp_path / "x.gz", gzip.compress(TEXT))
    monkeypatch.setitem(packing._PACKINGS, b"\x1f\x8b", ("gzip", lambda _: Failing()))
    with closing(Unpacked(path)) as file, pytest.raises(OSError, match="Input/output error"):
        file.read(1)


def test_the_header_of_what_python_unpacks_needs_no_arrow(tmp_path):
    paths = [str(write(tmp_path / name, PACK[name](TEXT))) for name in ("gzip", "bzip2", "xz")]
    script = """
import sys
from pathlib import Path
from privreg.data.files import header_names
for path in sys.argv[1:]:
    assert header_names(Path(path)) == ["a", "b"]
assert "pyarrow" not in sys.modules and "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script, *paths], check=True, timeout=60)


def test_one_changed_record_changes_no_other(tmp_path):
    """Whatever it holds, also where packing makes other bytes of all that follows."""
    lines = TEXT.splitlines()
    before = read(write(tmp_path / "a", TEXT))
    for odd in (b"", b'"', b"\xff\xfe", b"\0" * 300, b"1,2,3", b"PK\x03\x04", b"\x1f\x8b", b"9" * 100_000):
        for name in PACK:
            changed = b"\n".join([*lines[:2500], odd, *lines[2500:]]) + b"\n"
            after = read(write(tmp_path / "b", PACK[name](changed)))
            extra = bool(odd)
            for column, values in before.items():
                assert after[column][:2499] + after[column][2499 + extra :] == values
