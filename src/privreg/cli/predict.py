"""`privreg predict`."""

from pathlib import Path
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.progress import loading


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that privreg fit --out wrote.", show_default=False)],
    data: Annotated[
        Path, typer.Argument(help="CSV, TSV or Parquet, one file or many, of any size.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV, TSV or Parquet, by its name. Default: CSV to the screen.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COL,COL", help="Columns to copy beside the predictions; may be repeated."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Predict the target for each row of a file. Costs nothing: the model is public already."""
    from privreg.cli.check import check_predict

    check_predict(model, data, out, keep or [], force)
    with loading():
        from privreg.cli.run_predict import run_predict

    run_predict(model, data, out, keep or [])
