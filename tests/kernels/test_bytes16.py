"""Sixteen bytes at once: what a loop over them does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from privreg.kernels.bytes16 import copy16, digits16, ends16


@njit
def _ends(data, begin, separator):
    return ends16(data, begin, separator)


@njit
def _digits(data, begin):
    return digits16(data, begin)


@njit
def _copy(target, to, source, begin):
    copy16(target, to, source, begin)


texts = st.lists(st.sampled_from(b"0123456789,;\r\n/:\x80\xff\0"), min_size=16, max_size=40).map(bytes)


@given(texts, st.data())
def test_counts(text, data):
    begin = data.draw(st.integers(0, len(text) - 16))
    separator = data.draw(st.sampled_from(b",;\t\xff"))
    array, part = np.frombuffer(text, np.uint8), text[begin : begin + 16]
    assert _ends(array, begin, separator) == next((i for i, c in enumerate(part) if c in (separator, 10, 13)), 16)
    assert _digits(array, begin) == next((i for i, c in enumerate(part) if c not in b"0123456789"), 16)


@given(texts, st.data())
def test_copies(text, data):
    begin, to = (data.draw(st.integers(0, len(text) - 16)) for _ in range(2))
    target = np.full(len(text), 7, np.uint8)
    _copy(target, to, np.frombuffer(text, np.uint8), begin)
    assert target.tobytes() == b"\7" * to + text[begin : begin + 16] + b"\7" * (len(text) - to - 16)
