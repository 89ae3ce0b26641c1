"""`privreg verify`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from privreg._format import one_line
from privreg.cli.options import AsJson
from privreg.cli.terminal import console, say


def verify(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file that privreg fit --out wrote.", show_default=False)
    ],
    ledger: Annotated[Path, typer.Option(metavar="FILE", help="The ledger to look in.", show_default=False)],
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Look in one data set only.", show_default="all data sets")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a model file is in a ledger, with the parameters that it claims.

    Exit code 0 if it is, 1 if it is not.
    """
    from privreg import Ledger
    from privreg.results.verify import entry_in_words
    from privreg.results.verify import verify as look_up

    answer = look_up(model, Ledger(ledger), dataset)
    if as_json:
        print(json.dumps(answer.to_dict()))
    else:
        out = console()
        for entry in answer.entries:
            place = f"Entry {entry.number} of {one_line(entry.dataset)}"
            say(out, f"Yes. {place} holds this model: {one_line(entry_in_words(entry))}.")
        if not answer.verified:
            say(out, f"No: {one_line(answer.reason)}")
    if not answer.verified:
        raise typer.Exit(1)
