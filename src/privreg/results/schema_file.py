"""Schemas as plain JSON: what reading a table released, and what it cost."""

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from privreg._json import require
from privreg.data.schema import Schema
from privreg.errors import SchemaError
from privreg.privacy.receipt import Receipt
from privreg.results.model_file import read_receipt, with_origin
from privreg.results.outputs import write_whole

FORMAT, VERSION = "privreg schema", 1


def schema_record(schema: Schema, receipt: Receipt) -> dict[str, Any]:
    """What a file holds."""
    return {"format": FORMAT, "version": VERSION, "schema": schema.to_dict(), "receipt": receipt.to_dict()}


def save_schema(schema: Schema, receipt: Receipt, path: str | PathLike[str]) -> None:
    """Write a schema, and what it cost, whole or not at all."""
    write_whole(path, json.dumps(schema_record(schema, receipt), indent=1) + "\n")


def load_schema(path: str | PathLike[str]) -> Schema:
    """Read a schema from a file.

    Parameters
    ----------
    path : str or path
        A file that `SchemaReader.save` or `privreg schema --out` wrote, or a model file.

    Returns
    -------
    Schema

    Raises
    ------
    SchemaError
        If the file is neither a schema nor a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from privreg import SchemaReader, load_schema
    >>> reader = SchemaReader(epsilon=0.5).fit(np.ones((1_000, 2)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "schema.json")
    ...     reader.save(path)
    ...     load_schema(path) == reader.schema_
    True
    """
    try:
        content = json.loads(Path(path).read_bytes().decode())
        require(isinstance(content, dict) and "schema" in content, "it is neither a privreg schema nor a privreg model")
        require(
            content.get("format") != FORMAT or content.get("version") == VERSION,
            "it was written by another version of privreg",
        )
        schema = Schema.from_dict(content["schema"])
        return with_origin(schema, _receipt(content["receipt"])) if "receipt" in content else schema
    except UnicodeDecodeError:
        reason: object = "it is not text"
    except OverflowError:
        reason = "a number is not finite"
    except (ValueError, RecursionError) as error:
        reason = "it is not JSON" if isinstance(error, json.JSONDecodeError | RecursionError) else error
    raise SchemaError(f"{fspath(path)} cannot be used as a schema: {reason}")


def _receipt(record: Any) -> Receipt:
    try:
        return read_receipt(record)
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
        raise ValueError("its receipt is damaged") from error
