"""What arrow's types say. Loads arrow alone, so that wrong columns are refused before kernels are loaded."""

import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def stored_type(kind: pa.DataType) -> pa.DataType:
    """A type without what makes no difference to the values."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), stored_type(kind.value_type))
    return pa.large_string() if is_text(kind) else kind


def kind_of_type(kind: pa.DataType) -> str:
    """What a type is called: see `type_called`."""
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_dictionary(kind):
        return "category"
    if is_text(kind):
        return "text"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind):
        return "timestamp"
    return "nothing" if types.is_null(kind) else str(kind)
