"""`privreg verify`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from privreg._format import one_line
from privreg.cli.options import AsJson


def verify(
    model: Annotated[Path, typer.Argument(help="A model file that privreg fit wrote.", show_default=False)],
    ledger: Annotated[Path, typer.Option(metavar="FILE", help="The ledger to look in.", show_default=False)],
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="One data set. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell whether a model's release is in a ledger, with the parameters that it claims: exit code 0 if so, else 1."""
    from privreg import Ledger
    from privreg.results.verify import entry_in_words
    from privreg.results.verify import verify as look_up

    answer = look_up(model, Ledger(ledger), dataset)
    if as_json:
        print(json.dumps(answer.to_dict()))
    else:
        for entry in answer.entries:
            print(f"yes: {one_line(entry_in_words(entry))}")
        if not answer.verified:
            print(f"no: {one_line(answer.reason)}")
    if not answer.verified:
        raise typer.Exit(1)
