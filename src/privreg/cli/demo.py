"""`privreg demo`."""

from pathlib import Path
from typing import Annotated

import typer

from privreg.cli.progress import loading


def demo(
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write the demo's table to this file, as CSV.")
    ] = None,
) -> None:
    """Fit the pay of 31,857 mothers, privately and not; write privreg-demo.html and privreg-demo.json."""
    with loading():
        from privreg.cli.run_demo import run_demo, write_data

    run_demo() if data is None else write_data(data)
