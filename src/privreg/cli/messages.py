"""What goes wrong is said on stderr in one line, not as a traceback."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from privreg.errors import BudgetRefusedError, PrivregError


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
    """A command; what people can do something about is one line. Exit status 3 for a refused budget, else 2."""

    def invoke(self, ctx: Any) -> Any:
        status = 2
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # typer knows what to do
        except (ValueError, PrivregError) as error:
            message, status = str(error), 3 if isinstance(error, BudgetRefusedError) else 2
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
        typer.echo(f"{ctx.command_path}: {' '.join(message.split())}", err=True)
        raise typer.Exit(status)
