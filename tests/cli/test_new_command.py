"""A new command is a function and its name in `COMMANDS`: help, parsing and one-line errors come with it."""

import subprocess
import sys
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from privreg.cli.app import COMMANDS, make_app
from privreg.errors import BudgetRefusedError

LIGHT = """
import sys
from privreg.cli.app import app
try:
    app(["--help"], prog_name="privreg")
except SystemExit:
    print(*sys.modules)
"""


def greet(
    name: Annotated[str, typer.Argument(help="Whom.")],
    times: Annotated[int, typer.Option(min=1, help="How often.")] = 1,
) -> None:
    """Say hello."""
    if name == "nobody":
        raise ValueError("nobody\nis there")
    if name == "everybody":
        raise BudgetRefusedError("refused: too many")
    print(f"hello {name} " * times)


def run(*words):
    return CliRunner().invoke(make_app((*COMMANDS, greet)), words)


def test_it_is_listed_and_runs():
    assert "Say hello." in run("--help").stdout
    assert "fit" in run("--help").stdout
    assert "How often." in run("greet", "--help").stdout
    assert run("greet", "you", "--times", "2").stdout.split() == ["hello", "you"] * 2


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("greet", "nobody"), 2, "privreg greet: nobody is there\n"),
        (("greet", "everybody"), 3, "privreg greet: refused: too many\n"),
        (("greet",), 2, "privreg greet: NAME is missing: whom; see privreg greet -h\n"),
    ],
)
def test_mistakes_are_one_line(words, status, line):
    done = run(*words)
    assert (done.exit_code, done.stderr, done.stdout) == (status, line, "")


def test_help_loads_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "privreg.cli.app" in loaded
    assert not loaded & {"numpy", "sklearn", "pyarrow", "numba", "opendp", "sqlite3", "privreg.cli.check"}
