"""The page of commands, made from the commands themselves: what `--help` says, as headings and lists."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from sphinx.application import Sphinx

MARK = "<!-- commands -->"


def walk(command: Any, name: str, parent: Any = None) -> Iterator[tuple[Any, Any]]:
    """Commands with their contexts: this one and those below it, hidden ones left out."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield command, context
    for child, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from walk(below, child, context)


def entry(how: str, what: str) -> str:
    """One line of the help: how an argument is written, and what it does."""
    what = re.sub(r"\s+", " ", what).replace("<", r"\<").replace("*", r"\*").strip()
    facts = re.search(r"\[([^\[\]]*(?:default|required|<=)[^\[\]]*)\]$", what)
    if facts:
        told = "; ".join(_in_words(fact) for fact in facts[1].split("; "))
        what = f"{what[: facts.start()].strip()} *{told}.*"
    return f"`{how}`\n: {what or '–'}\n"


def _in_words(fact: str) -> str:
    return fact.replace("x>=", "At least ").replace("x<=", "At most ").capitalize()


def section(command: Any, context: Any) -> str:
    """Heading, what the command is for, how it is called, and its arguments and options."""
    name = context.command_path
    level = "#" * min(2 + max(name.count(" ") - 1, 0), 4)
    usage = command.get_usage(context).removeprefix("Usage: ")
    records = [p.get_help_record(context) for p in command.params]
    lines = [f"{level} {name}\n", f"{command.help or ''}\n", f"```text\n{usage}\n```\n"]
    return "\n".join([*lines, *(entry(*record) for record in records if record)])


def markdown(app: typer.Typer) -> str:
    """All commands of the application."""
    return "\n".join(section(*each) for each in walk(typer.main.get_command(app), "privreg"))


def insert(_app: Sphinx, _docname: str, source: list[str]) -> None:
    if MARK in source[0]:
        from privreg.cli.app import app

        source[0] = source[0].replace(MARK, markdown(app))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", insert)
    return {"parallel_read_safe": True}
