"""The `privreg` command. A new sub-command is a function in a file of its own, and its name in `COMMANDS`.

The files of commands are light, so that help and mistakes take no time: a command checks what was typed, and only then
imports what does the work. What goes wrong is said on stderr in one line, not as a traceback.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from io import TextIOWrapper
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from privreg._format import one_line
from privreg.cli import ledger, paper
from privreg.cli.demo import demo
from privreg.cli.fit import check, fit, select
from privreg.cli.help import show_help
from privreg.cli.mistakes import in_one_line, named_option
from privreg.cli.plan import plan
from privreg.cli.predict import predict
from privreg.cli.schema import schema
from privreg.cli.standard_input import said
from privreg.cli.verify import verify
from privreg.errors import BudgetRefusedError, PrivregError

COMMANDS: tuple[Callable[..., None], ...] = (demo, fit, check, predict, plan, select, schema, verify)
LEDGER_COMMANDS = (ledger.create, ledger.amend, ledger.status, ledger.history, ledger.backup)
PAPER_COMMANDS = (paper.run, paper.report)


def make_app(commands: Iterable[Callable[..., None]] = COMMANDS) -> typer.Typer:
    """The command with its sub-commands."""
    made = _group(commands, name="privreg", add_completion=False, pretty_exceptions_enable=False)
    made.callback()(main)
    made.add_typer(_group(LEDGER_COMMANDS, name="ledger", help="Keep a total privacy budget for a data set."))
    what = "Rerun the evaluation of the paper and compare with the published results."
    made.add_typer(_group(PAPER_COMMANDS, name="paper", help=what))
    return made


def _group(commands: Iterable[Callable[..., None]], **options: Any) -> typer.Typer:
    settings = {"help_option_names": ["-h", "--help"]}
    made = typer.Typer(no_args_is_help=True, cls=Group, context_settings=settings, **options)
    for command in commands:
        made.command(cls=Command)(command)
    return made


class Group(TyperGroup):
    """A command with sub-commands; mistakes in what was typed are one line."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        del formatter
        show_help(self, ctx)

    def main(self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
            sys.stdout.reconfigure(errors="replace")  # an encoding without ε must not end a fit that has been paid for
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):  # only what typer raises has one
                raise
            context = getattr(error, "ctx", None)
            where = context.command_path if context is not None else self._named(args)
            if error.format_message():  # none where the help was shown
                print(f"{where}: {one_line(said(in_one_line(error, context)))}", file=sys.stderr)
            code = 2
        sys.exit(code if isinstance(code, int) else 0)

    def _named(self, args: Sequence[str] | None) -> str:
        """The command that was meant, where the error does not know it."""
        words: list[str] = ["privreg"]
        below: Any = self
        for word in sys.argv[1:] if args is None else args:
            below = getattr(below, "commands", {}).get(word)
            if below is None:
                break
            words.append(word)
        return " ".join(words)


class Command(TyperCommand):
    """A command; what people can do something about is one line. Exit status 3 for a refused budget, else 2."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        del formatter
        show_help(self, ctx)

    def invoke(self, ctx: Any) -> Any:
        status = 2
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # typer knows what to do
        except (ValueError, PrivregError) as error:
            message, status = named_option(str(error), self), 3 if isinstance(error, BudgetRefusedError) else 2
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
        typer.echo(f"{ctx.command_path}: {one_line(' '.join(said(message).split()))}", err=True)
        raise typer.Exit(status)


def _version(wanted: bool) -> None:
    if wanted:
        from privreg import __version__

        typer.echo(f"privreg {__version__}")
        raise typer.Exit


def main(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Differentially private linear regression without data bounds or tuning.

    Examples:
        privreg demo
        privreg fit people.csv --target pay --epsilon 1 --report report.html
    """


app = make_app()
