"""The `privreg` command: parses and prints. The work is done elsewhere, and imported only when needed."""

import typer

app = typer.Typer(
    name="privreg",
    help="Differentially private linear regression without data bounds or tuning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from privreg import __version__

        typer.echo(f"privreg {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Differentially private linear regression without data bounds or tuning."""


@app.command()
def demo() -> None:
    """Choose the most telling measurements of 442 diabetes patients, privately, and show what it cost."""
    from privreg.demo import run

    run()


@app.command()
def plan(
    rows: int = typer.Option(..., help="Number of records in the table, roughly.", min=0),
    columns: int = typer.Option(..., help="Number of feature columns, one for each level of a category.", min=1),
    epsilon: float = typer.Option(..., help="The privacy budget ε."),
    delta: float = typer.Option(1e-6, help="The privacy budget δ."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """What accuracy to expect from a budget, before anything is spent. Reads no data."""
    import json

    from privreg.planner import plan as simulate
    from privreg.progress import bar

    try:
        with bar("simulating") as advance:
            outlook = simulate(rows, columns, epsilon, delta, progress=advance)
    except ValueError as error:
        typer.echo(f"privreg plan: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(json.dumps(outlook.to_dict()) if as_json else str(outlook))
