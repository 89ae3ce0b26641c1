"""Floating point: the order of records, chunks, threads and the processor reach no statistic, and no low-order bit of
an output tells the value before the noise.

    python -m audit.bits [--quick]

A fit is recorded (audit.recording); its outputs are handed to fits of the same table in another order, in other chunks,
on other threads and on other processor kernels. Every statistic must then be the same, bit for bit. What a check does
not promise is written beside it.
"""

from audit.bits.records import order

__all__ = ["order"]
