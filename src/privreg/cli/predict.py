"""`privreg predict`: any number of rows, a batch at a time."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from privreg.cli import options
from privreg.cli.help import OUTPUT
from privreg.cli.terminal import stages


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file that privreg fit --out wrote.", show_default=False)
    ],
    data: options.Data,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write to a file, which is CSV, TSV or Parquet by its name.",
            show_default="CSV to the screen",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL,COL",
            help="Columns to copy beside the predictions; may be repeated.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    inverse: Annotated[
        bool,
        typer.Option(
            "--inverse",
            help="Where the target is log(pay), predict pay: exp(prediction), which is nearer to a median than a mean.",
        ),
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add columns lower and upper: the interval that holds a new value with this probability, such as "
            "0.95.",
            show_default=False,
        ),
    ] = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    force: options.Force = False,
) -> None:
    """Predict the target for each row of a table. Costs nothing: the model is public already.

    Examples:
        privreg predict model.json new.csv --out predictions.csv --keep id --interval 0.95
    """
    from privreg.cli.check import check_predict

    check_predict(model, data, encoding, out, keep or [], interval, force)
    with stages("loading the libraries"):
        from privreg.data.files import open_file

    _write_predictions(model, partial(open_file, data, encoding, sheet), out, keep or [], inverse, interval)


def _write_predictions(
    model_file: Path,
    open_data: Callable[[list[str]], Any],
    out: Path | None,
    keep: list[str],
    inverse: bool,
    interval: float | None,
) -> None:
    """A prediction for each row: to a file, or to standard output as CSV."""
    with stages("loading the libraries"):
        import numpy as np
        import pyarrow as pa

        from privreg.cli.check import predicted_columns, read_kept
        from privreg.data.columns import read_names, unknown_column
        from privreg.data.files import TEXT, format_to_write
        from privreg.data.schema import NUMBER
        from privreg.errors import ModelFileError
        from privreg.estimators.loaded import load_model
        from privreg.results.outputs import whole_file

    model = load_model(model_file)
    features = list(getattr(model, "feature_names_in_", []))
    if not features:
        raise ModelFileError(f"{model_file} was fitted on an array without column names; predict with it in Python")
    needed = model.schema_.used_inputs
    file = open_data(list(dict.fromkeys([*needed, *read_names("--keep", keep, ())])) or features[:1])
    file = file.as_numbers({column.name for column in model.schema_ if column.kind == NUMBER})
    for name in needed:
        if name not in file.columns:
            raise unknown_column("the model needs a column that is missing", name, file.columns, file.path)
    predict, added = _predictor(model, inverse, interval), predicted_columns(interval)
    if inverse or interval:
        predict(pa.table({name: pa.nulls(0, pa.string()) for name in features}))  # raises if there is none
    kept = read_kept(keep, file.columns, file.path, interval)
    copied = [name for name in kept if name not in needed]
    place = out or Path("standard output.csv")
    open_writer = (format_to_write(place) or TEXT).load().writer
    # On standard output, a line that moves on stderr would run into the first rows.
    waiting, to_screen = stages("predicting") if out else nullcontext(), out is None and sys.stdout.isatty()
    with waiting, whole_file(out) if out else nullcontext(sys.stdout.buffer) as sink:
        writer = None
        for batch in file.batches([*needed, *copied] or list(file.columns)[:1]):  # of a constant, the rows count
            # What was left out of the fit is not needed, but a table has to have the columns that the fit's had.
            columns = {name: batch[name] if name in needed else pa.nulls(len(batch)) for name in features}
            # NaN where a value is missing, not an empty line, which most readers of CSV would skip.
            beside = {name: _plain(batch[name]) for name in kept}
            values = np.asarray(predict(pa.table(columns))).reshape(len(batch), len(added))
            if to_screen:
                values = _rounded(values, None if inverse else getattr(model, "residual_error_", None))
            table = pa.table(beside | {name: pa.array(values[:, i]) for i, name in enumerate(added)})
            writer = writer or open_writer(sink, table.schema, place)
            writer.write_table(table)
        if writer is None:
            schema = pa.schema([*((name, pa.null()) for name in kept), *((name, pa.float64()) for name in added)])
            writer = open_writer(sink, schema, place)
        writer.close()
    if out is not None:
        print(f"Wrote the predictions to {out}.", file=sys.stderr)


def _predictor(model: Any, inverse: bool, interval: float | None) -> Callable[[Any], Any]:
    if interval is None:
        return partial(model.predict, inverse=inverse)
    if not hasattr(model, "conf_int"):
        raise ValueError(f"--interval: {model.method_name_} does not tell how uncertain its coefficients are")
    return partial(model.predict, inverse=inverse, interval=interval)


def _rounded(values: Any, error: float | None) -> Any:
    """Texts, for people to read: digits that the residual error supports, or five if it is not known."""
    import numpy as np

    from privreg._format import decimals_of, plain_number

    decimals = decimals_of(error)
    return np.array([plain_number(value, decimals) for value in values.flat], object).reshape(values.shape)


def _plain(column: Any) -> Any:
    """A column without a dictionary, which CSV does not have."""
    return column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
