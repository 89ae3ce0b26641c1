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
