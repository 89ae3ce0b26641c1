"""The help of every command, as people read it."""

import re

import pytest
import typer

from commands import run
from privreg.cli.app import app
from privreg.cli.help import PANELS, sections


def every(command, name, parent=None):
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield command, context
    for child, below in getattr(command, "commands", {}).items():
        yield from every(below, child, context)


ALL = {context.command_path: (command, context) for command, context in every(typer.main.get_command(app), "privreg")}


@pytest.mark.parametrize("name", ALL)
def test_both_names_of_the_option_show_the_same_help(name):
    words = name.split()[1:]
    shown = run(*words, "--help").stdout
    assert shown == run(*words, "-h").stdout
    assert shown.startswith(f"Usage: {name} ")
    assert re.search(r"^  -h, --help +Show this help and exit\.$", shown, re.MULTILINE)


@pytest.mark.parametrize("name", ALL)
def test_values_have_plain_names_and_flags_have_none(name):
    command, context = ALL[name]
    told = sections(command, context)
    assert set(told) <= {*PANELS, "Commands"}
    entries = [entry for title, rows in told.items() if title != "Commands" for entry in rows]
    assert len(entries) == len(command.get_params(context))
    for how, what in entries:
        assert re.fullmatch(r"((-\w, )?--[\w-]+ )?[A-Z=,.|a-z]+|(-\w, )?--[\w-]+", how), how
        assert what.count("default") <= 1, what
        assert re.search(r"\.( \[(required|default: .+)\])?$", what), what
    flags = {how for how, _ in entries if " " not in how.replace(", ", "") and how.startswith("-")}
    assert {"--json", "--force", "--yes", "-v, --verbose"} & {how for how, _ in entries} <= flags


def test_what_is_needed_most_comes_first():
    command, context = ALL["privreg fit"]
    told = sections(command, context)
    assert list(told) == ["Arguments", "Model", "Privacy", "Ledger", "Data", "Computing", "Output"]
    firsts = {title: [how for how, _ in rows[:2]] for title, rows in told.items()}
    assert firsts["Model"] == ["--target COL", "--features COL,COL"]
    assert firsts["Privacy"] == ["--epsilon E", "--delta D"]
    assert firsts["Output"] == ["--out FILE", "--report FILE"]
    assert dict(told["Privacy"])["--delta D"].endswith("[default: 1e-6]")
    assert dict(told["Privacy"])["--epsilon E"].endswith("[required]")


def test_examples_come_last():
    shown = run("fit", "--help").stdout
    assert shown.index("\nExamples:\n  privreg fit people.csv --target pay --epsilon 1\n") > shown.index("--json")
