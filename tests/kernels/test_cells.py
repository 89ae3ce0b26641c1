"""What the text of a cell stands for: the kernels on bare buffers. Whole columns are in tests/data/test_cells.py."""

import re

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from privreg.data.written_numbers import is_number, read_number
from privreg.kernels import cells
from privreg.kernels.cells import Cells
from privreg.kernels.classes import (
    CLASSES,
    COMMA,
    DATE,
    EITHER_COMMA,
    EITHER_POINT,
    MISSING,
    POINT,
    TEXT,
    TRUTH,
    WHOLE,
)

WORDS = np.array([cells.packed(word) for word in ("", "na")], np.int64)


def buffers(given_cells, offset_type=np.int32, before=b"", after=b""):
    """The cells with other bytes before and after them."""
    offsets = np.cumsum([len(before), *map(len, given_cells)]).astype(offset_type)
    data = np.frombuffer(before + b"".join(given_cells) + after, np.uint8)
    return Cells(offsets, data, np.empty(0, np.uint8), 0)


def classes_in(column):
    out = np.empty(column.offsets.size - 1, np.uint8)
    cells.classes(column, WORDS, out)
    np.testing.assert_array_equal(np.bincount(out, minlength=CLASSES), cells.count_classes(column, WORDS))
    return out.tolist()


def test_classes():
    given_cells = [b"", b" Na ", b"1", b"1.", b",1", b"1.000", b"1,000", b"2000-02-29", b"YES", b"x", b"null"]
    meant = [MISSING, MISSING, WHOLE, POINT, COMMA, EITHER_POINT, EITHER_COMMA, DATE, TRUTH, TEXT, TEXT]
    assert classes_in(buffers(given_cells)) == meant
    assert classes_in(buffers(given_cells, np.int64, b"1", b"2")) == meant


@pytest.mark.parametrize("shift", [0, 1, 7, 8, 13])
def test_nulls_are_missing_wherever_the_bits_begin(shift):
    there = np.random.default_rng(shift).random(40) < 0.5
    bits = np.packbits(np.concatenate([~there[:shift], there]), bitorder="little")
    column = buffers([b"1"] * 40)._replace(valid=bits, shift=shift)
    assert classes_in(column) == np.where(there, WHOLE, MISSING).tolist()


@given(
    st.text("0123456789+-.,eE ", max_size=40).map(str.encode),
    st.sampled_from([b"", b"1", b"1" * 15, b"1" * 16, b".5", b"e5", b"1" * 40]),
)
@example(b"1" * 16, b"")
@example(b"1" * 32, b"7")
@example(b"1" * 15 + b"." + b"2" * 16 + b"e" + b"0" * 16, b"3")
def test_numbers_are_those_of_the_pattern_whatever_comes_after_them(cell, after):
    """Kernels look at sixteen bytes at once where there are as many, which may be those of other cells."""
    bare = cell.strip().decode()
    assume(not re.match(r"\d{4}-\d\d-\d\d", bare))  # which may be a date
    kinds = [kind for mark, kind in ((".", POINT), (",", COMMA)) if is_number(bare, mark)]
    meant = TEXT if not kinds else WHOLE if len(kinds) == 2 else kinds[0]
    if meant == WHOLE and read_number(bare, ".") != read_number(bare, ","):
        meant = EITHER_POINT if "." in bare else EITHER_COMMA
    if not bare:
        meant = MISSING
    assert classes_in(buffers([cell], after=after)) == [meant]
    assert classes_in(buffers([cell, after]))[0] == meant


@given(st.one_of(st.binary(max_size=12), st.text(max_size=6).map(lambda t: t.encode("utf-8", "surrogatepass"))))
def test_utf8_is_what_python_takes_for_it(cell):
    def valid(text):
        try:
            return bool(text.decode() or True)
        except UnicodeDecodeError:
            return False

    data = np.frombuffer(b"\xe2" + cell + b"\x80", np.uint8)  # what is around it does not count
    assert cells.is_utf8(data, 1, 1 + len(cell)) == valid(cell)


def test_every_lead_and_second_byte_of_utf8():
    for first in range(128, 256):
        for second in range(256):
            for more in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf"):
                cell = bytes([first, second]) + more
                valid = cell.decode("utf-8", "replace").encode() == cell
                assert cells.is_utf8(np.frombuffer(cell, np.uint8), 0, len(cell)) == valid


def test_words_have_at_most_seven_letters():
    assert cells.packed("Seven77") == cells.packed("sEVEN77")
    with pytest.raises(ValueError, match="7 letters"):
        cells.packed("eight888")
