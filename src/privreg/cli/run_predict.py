"""`privreg predict`: any number of rows, a batch at a time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from privreg.cli.check import PREDICTION, read_kept
from privreg.cli.progress import stages
from privreg.data.columns import unknown_column
from privreg.data.files import TEXT, format_to_write, open_file
from privreg.errors import ModelFileError
from privreg.estimators.loaded import load_model
from privreg.results.outputs import whole_file


def run_predict(model_file: Path, data: Path, out: Path | None, keep: list[str]) -> None:
    """Write a prediction for each row: to a file, or to standard output as CSV. `check_predict` comes before."""
    model = load_model(model_file)
    features = list(getattr(model, "feature_names_in_", []))
    if not features:
        raise ModelFileError(f"{model_file} was fitted on an array without column names; predict with it in Python")
    file = open_file(data)
    for name in features:
        if name not in file.columns:
            raise unknown_column("the model needs a column that is missing", name, file.columns, file.path)
    kept = read_kept(keep, file.columns, file.path)
    copied = [name for name in kept if name not in features]
    as_written = [] if file.typed else copied  # the number 007 is perhaps a name
    with stages() as stage, _sink(out) as sink:
        stage("predicting")
        writer = None
        for batch in file.batches([*features, *copied], model.categories or {}, as_written):
            # NaN where a value is missing, not an empty line, which most readers of CSV would skip.
            table = batch.select(kept).append_column(PREDICTION, pa.array(model.predict(batch.select(features))))
            writer = writer or _writer(sink, table.schema, out)
            writer.write_table(table)
        if writer is None:
            writer = _writer(sink, pa.schema([*((name, pa.null()) for name in kept), (PREDICTION, pa.float64())]), out)
        writer.close()


@contextmanager
def _sink(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
    else:
        with whole_file(out) as file:
            yield file


def _writer(sink: BinaryIO, schema: pa.Schema, out: Path | None) -> Any:
    name = Path(out or "standard output.csv")
    return (format_to_write(name) or TEXT).load().writer(sink, schema, name)
