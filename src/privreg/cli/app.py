"""The `privreg` command. A new sub-command is a function in a file of its own, and its name in `COMMANDS`.

These files are light, so that help and mistakes take no time: a command checks what was typed, and only then imports
what does the work.
"""

from collections.abc import Callable, Iterable

import typer

from privreg.cli import ledger, paper
from privreg.cli.demo import demo
from privreg.cli.fit import fit, select
from privreg.cli.messages import Command, Group
from privreg.cli.plan import plan
from privreg.cli.predict import predict

COMMANDS: tuple[Callable[..., None], ...] = (demo, fit, select, predict, plan)


def make_app(commands: Iterable[Callable[..., None]] = COMMANDS) -> typer.Typer:
    """The command with its sub-commands."""
    made = typer.Typer(
        name="privreg",
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback()(main)
    for command in commands:
        made.command(cls=Command)(command)
    made.add_typer(ledger.app, name="ledger", no_args_is_help=True)
    made.add_typer(paper.app, name="paper", no_args_is_help=True)
    return made


def _version(wanted: bool) -> None:
    if wanted:
        from privreg import __version__

        typer.echo(f"privreg {__version__}")
        raise typer.Exit


def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Differentially private linear regression without data bounds or tuning."""


app = make_app()
