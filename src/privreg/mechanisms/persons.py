"""People who own several records: which of their records are kept.

Proof: docs/proofs/persons.md. Exact check: tests/mechanisms/test_persons.py.
"""

import numpy as np

from privreg._types import Int64
from privreg.engines.base import Engine
from privreg.privacy.noise import Noise

_KEYS = 2**62  # random keys decide; that two are equal is as good as impossible, and harmless


def keep_rows(engine: Engine, most: int, noise: Noise) -> Engine:
    """Up to `most` complete records of each person, chosen uniformly at random. A record without a person is left out.

    A person's choice depends on that person's records and on random numbers of their own, so that adding or removing a
    person changes at most `most` records and no others.
    """
    return engine.subset(kept_rows(engine.identities(), most, noise))


def kept_rows(persons: Int64, most: int, noise: Noise) -> Int64:
    """The same of any rows, whose persons are numbered."""
    return first_of_each(persons, noise.groups(persons.size, _KEYS), most)


def first_of_each(persons: Int64, keys: Int64, most: int) -> Int64:
    """The records with the `most` smallest keys of each person, in their old order; persons below 0 have none."""
    order = np.lexsort((keys, persons))
    in_order = persons[order]
    begins = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])) if order.size else order
    place = np.arange(order.size) - np.repeat(begins, np.diff(np.append(begins, order.size)))
    return np.sort(order[(place < most) & (in_order >= 0)])
