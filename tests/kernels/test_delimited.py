"""Lines cut into cells: on bare bytes. Files are in tests/data/test_text_file.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.kernels import delimited

LONGEST = 1 << 28


def cut(text, slots, separator=",", longest=LONGEST):
    """The cells of each column that has a slot, None for null."""
    block = np.frombuffer(text, np.uint8).copy()
    columns = max(slots) + 1
    places = np.empty((delimited.most_lines(block), columns, 2), np.int32)
    rows = delimited.find_cells(block, ord(separator), np.array(slots), longest, places)
    found = []
    for slot in range(columns):
        offsets, data, nulls, valid = delimited.gather(block, places[:rows, slot])
        there = np.unpackbits(valid, count=rows, bitorder="little").astype(bool)
        assert nulls == rows - there.sum()
        whole = data.tobytes()
        assert len(whole) == offsets[-1]
        found.append([whole[offsets[i] : offsets[i + 1]] if there[i] else None for i in range(rows)])
    return found


def test_columns_that_nobody_asked_for():
    assert cut(b"1,2,3\n4,5,6\n", [1, -1, 0]) == [[b"3", b"6"], [b"1", b"4"]]
    assert cut(b"1,2,3\n4,5", [-1, 0, -1]) == [[b"2", None]]


@pytest.mark.parametrize("size", [0, 1, 14, 15, 16, 17, 31, 32, 33, 100])
def test_cells_of_any_length(size):
    """As many bytes as are looked at together, and some more or less; also at the very end."""
    text = b"\n".join(b"a" * size + b"," + b"b" * i for i in range(40))
    assert cut(text, [0, 1]) == [[b"a" * size] * 40, [b"b" * i for i in range(40)]]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (b'"a","b"', [[b"a"], [b"b"]]),
        (b'"a""b","""",', [[None], [None]]),
        (b'"a""b",""""', [[b'a"b'], [b'"']]),
        (b'"a"b"c,"d,e"', [[b'ab"c'], [b"d,e"]]),
        (b'"a" "",b', [[b'a ""'], [b"b"]]),
        (b'a"b, "c', [[b'a"b'], [b' "c']]),
        (b'"a,b', [[None], [None]]),
        (b'a,"', [[None], [None]]),
        (b'a,"""', [[None], [None]]),
        (b'"",""', [[b""], [b""]]),
        (b'"\xe9",b', [[None], [b"b"]]),
    ],
)
def test_quotes(line, meant):
    for end in (b"", b"\n", b"\r\n", b"\r"):
        assert cut(line + end, [0, 1]) == meant


def test_lines():
    assert cut(b"\n\n  \n1,2\r\n\r3,4\r \t\n,\n,,\n", [0, 1]) == [[b"1", b"3", b"", None], [b"2", b"4", b"", None]]
    assert cut(b" \n", [0]) == [[b" "]]  # of one column it is a cell
    assert cut(b"1,2\n12,4\n   \n     \n", [0, 1], longest=4) == [[b"1", None, None], [b"2", None, None]]


@given(st.binary(max_size=50), st.integers(0, 50))
def test_last_end(text, first):
    block = np.frombuffer(text, np.uint8).copy()
    place = max(text.rfind(b"\n", first), text.rfind(b"\r", first))
    assert delimited.last_end(block, min(first, len(text))) == place + 1
