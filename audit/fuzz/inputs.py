"""Bytes to begin with: inputs that are read without damage, and pieces known to be nasty."""

import numpy as np
from hypothesis import strategies as st

from audit.fuzz.record import CANARY
from audit.fuzz.text import DIALECTS

# fmt: off
PIECES = (
    b'"', b'""', b'"""', b",", b";", b"\t", b"|", b"\0", b"\r", b"\n", b"\r\n", b"\xff", b"\xfe\xff", b"\xc3", b" ",
    b"1", b"-1.5", b"1,5", b"1e400", b"-1e-400", b"9" * 70, b"9" * 30_000 + b"x", b"0x10", b"nan", b"inf", b"NA", b"+",
    "١٢".encode(), "\u2028".encode(), b"\x0b\x0c\x1c\x1d\x1e\x85", b"\x1f", b"\xef\xbb\xbf", b"x" * 9000, b"\\",
    b"'", CANARY.encode(), b"true", b"FALSE", b"north", b"#", b"id,x\n", b"a,b\n1,2\n", b"PAR1", b"{", b"[", b'{"a":',
)
# fmt: on
SIZES = {
    "parquet": 40,
    "json": 40,
    "excel": 60,
    "arrow": 40,
    "labelled": 60,
    "table": 40,
    "model": 24,
    "schema": 24,
    "ledger": 24,
}


def seeds(target: str) -> list[bytes]:
    """Inputs that are read without damage, and some that reach far."""
    if target == "csv":
        whole = [b"\0" + dialect.file() for dialect in DIALECTS[::5]]
        return whole + [b"\1\0\0\5\0" + line for line in (b'1,2,3,4,5,"6', b"\xff" * 9, b"1,2,3,north,true,6")]
    size = SIZES[target]
    return [bytes([first, *np.random.default_rng(first).integers(0, 256, size).tolist()]) for first in range(12)]


def inputs(target: str) -> st.SearchStrategy[bytes]:
    """Bytes for hypothesis: any, nasty pieces behind any choices, and the seeds with another end."""
    pieces = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=12).map(b"".join)
    begun, seeded = st.binary(min_size=5, max_size=9), st.sampled_from(seeds(target))
    return st.binary(max_size=200) | st.tuples(begun, pieces).map(b"".join) | st.tuples(seeded, pieces).map(b"".join)
