"""Sixteen bytes at once, for kernels: most cells are shorter, so no loop runs. Callers see to it that there are 16.

Compilers make such code of loops over whole arrays, but not of loops over cells, whose lengths they cannot foresee.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

SIZE = 16

_BYTE = ir.IntType(8)
_BYTES = ir.VectorType(_BYTE, SIZE)
_MASK = ir.IntType(SIZE)


@intrinsic
def copy16(typing: Any, target: Any, to: Any, source: Any, begin: Any) -> Any:  # noqa: ARG001
    """target[to : to + 16] = source[begin : begin + 16]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, signature.args[0], values[0], values[1])
        builder.store(_load(context, builder, signature.args[2], values[2], values[3]), place, align=1)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp), generate


@intrinsic
def ends16(typing: Any, data: Any, begin: Any, separator: Any) -> Any:  # noqa: ARG001
    """How many of the 16 bytes come before the first separator or end of a line."""

    def found(builder: Any, loaded: Any, values: Any) -> Any:
        ends = [builder.icmp_unsigned("==", loaded, _all(builder, other)) for other in _fixed(b"\r\n")]
        asked = _all(builder, builder.trunc(values[2], _BYTE))
        return builder.or_(builder.or_(*ends), builder.icmp_unsigned("==", loaded, asked))

    return types.intp(data, types.intp, types.intp), _count_until(found)


@intrinsic
def digits16(typing: Any, data: Any, begin: Any) -> Any:  # noqa: ARG001
    """How many of the 16 bytes come before the first that is not a digit."""

    def found(builder: Any, loaded: Any, _: Any) -> Any:
        zero, ten = (_all(builder, ir.Constant(_BYTE, number)) for number in (ord("0"), 10))
        return builder.icmp_unsigned(">=", builder.sub(loaded, zero), ten)

    return types.intp(data, types.intp), _count_until(found)


def _count_until(found: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any, Any], Any]:
    """Code that counts the bytes before the first that is found."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        loaded = _load(context, builder, signature.args[0], values[0], values[1])
        mask = builder.bitcast(found(builder, loaded, values), _MASK)
        count = builder.cttz(mask, ir.Constant(ir.IntType(1), 0))  # 16 if the mask is zero
        return builder.zext(count, context.get_value_type(types.intp))

    return generate


def _fixed(characters: bytes) -> list[Any]:
    return [ir.Constant(_BYTE, byte) for byte in characters]


def _all(builder: Any, byte: Any) -> Any:
    """Sixteen times this byte."""
    one = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), SIZE), [0] * SIZE)
    return builder.shuffle_vector(one, ir.Constant(_BYTES, ir.Undefined), zeros)


def _load(context: Any, builder: Any, kind: Any, array: Any, begin: Any) -> Any:
    return builder.load(_place(context, builder, kind, array, begin), align=1)


def _place(context: Any, builder: Any, kind: Any, array: Any, begin: Any) -> Any:
    """The address of 16 bytes of an array."""
    start = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(start, [begin]), _BYTES.as_pointer())
