"""Hashes of text, for counting many different values in bounded memory. Nobody relies on them being hard to collide."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg._types import Int64
from privreg.kernels.cache import kernel

BUCKETS = 2**16

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


def buckets_of(values: Any) -> Int64:
    """The bucket of each value of an array of arrow's large strings without nulls."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    _, ends, data = values.buffers()
    offsets = np.frombuffer(ends, np.int64)[values.offset : values.offset + len(values) + 1]
    content = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    return _buckets(offsets, content)


@kernel
def _buckets(offsets: Int64, content: NDArray[np.uint8]) -> Int64:
    """FNV-1a, folded."""
    found = np.empty(offsets.size - 1, np.int64)
    for i in range(found.size):
        value = _OFFSET
        for at in range(offsets[i], offsets[i + 1]):
            value = (value ^ np.uint64(content[at])) * _PRIME
        value ^= value >> np.uint64(32)
        value ^= value >> np.uint64(16)
        found[i] = np.int64(value & np.uint64(BUCKETS - 1))
    return found
