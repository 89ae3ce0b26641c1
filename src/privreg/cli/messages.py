"""What goes wrong is said on stderr in one line, not as a traceback."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from privreg.cli.job import Job


class Group(TyperGroup):
    """A command with sub-commands; mistakes in what was typed are one line."""

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
            where = context.command_path if context is not None else "privreg"
            message = " ".join(error.format_message().split())
            if message:  # none where the help was shown
                print(f"{where}: {message}", file=sys.stderr)
            code = 2
        sys.exit(code if isinstance(code, int) else 0)


class Command(TyperCommand):
    """A command; what is wrong with its input is one line."""

    def invoke(self, ctx: Any) -> Any:
        with one_line(ctx.command_path):
            return super().invoke(ctx)


@contextmanager
def one_line(command: str) -> Iterator[None]:
    """Errors that people can do something about, as one line. Exit status 3 for a refused budget, else 2."""
    from privreg.errors import BudgetRefusedError, PrivregError

    status = 2
    try:
        yield
    except BrokenPipeError:
        raise  # typer knows what to do
    except (ValueError, PrivregError) as error:
        message, status = str(error), 3 if isinstance(error, BudgetRefusedError) else 2
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    else:
        return
    typer.echo(f"{command}: {' '.join(message.split())}", err=True)
    raise typer.Exit(status)


def confirm(job: "Job") -> None:
    """Say what a large budget means. At a terminal, go on only if that is meant."""
    from privreg.privacy.weak import weak_points

    points = weak_points(float(job.epsilon), float(job.delta))
    for text in points:
        typer.echo(f"privreg {job.command}: warning: {text}", err=True)
    ask = not job.yes and not job.as_json
    if points and ask and sys.stdin.isatty() and sys.stderr.isatty() and not _agreed():
        typer.echo("Nothing was spent.", err=True)
        raise typer.Exit(1)


def _agreed() -> bool:
    try:
        return typer.confirm("Go on?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of input
        typer.echo(err=True)
        return False
