"""The page of commands, made from the commands themselves: what `--help` says, as headings and lists."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from sphinx.application import Sphinx

from privreg.cli.help import description, sections, usage

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
    what = what.replace("<", r"\<").replace("*", r"\*")
    facts = re.search(r"\[(default: .*|required)\]$", what)
    if facts:
        what = f"{what[: facts.start()].strip()} *{facts[1][0].upper()}{facts[1][1:]}.*"
    return f"`{how}`\n: {what or '–'}\n"


def section(command: Any, context: Any, seen: dict[str, str]) -> str:
    """Heading, what the command is for, how it is called, its arguments and options by what they are for, examples.

    `seen` has the commands before it, by their options.
    """
    name = context.command_path
    level = "#" * min(2 + max(name.count(" ") - 1, 0), 4)
    about, examples = description(command)
    lines = [f"{level} {name}\n", *(f"{paragraph}\n" for paragraph in about)]
    lines.append(f"```text\n{usage(command, context)}\n```\n")
    told = {title: _own(entries, name) for title, entries in sections(command, context).items() if title != "Commands"}
    same = seen.setdefault(repr(told), name) if any(told.values()) else name
    if same != name:
        lines.append(f"Arguments and options are those of [{same}](#{same.replace(' ', '-')}).\n")
    else:
        for title, entries in told.items():
            lines += [f"**{title}**\n", *(entry(*each) for each in entries)] if entries else []
    if examples:
        lines.append("\n".join(["**Examples**\n", "```text", *examples, "```\n"]))
    return "\n".join(lines)


def _own(entries: list[tuple[str, str]], name: str) -> list[tuple[str, str]]:
    """Without --help, which all commands have: it is told once."""
    return [(how, what) for how, what in entries if "--help" not in how or " " not in name]


def markdown(app: typer.Typer) -> str:
    """All commands of the application."""
    seen: dict[str, str] = {}
    return "\n".join(section(*each, seen) for each in walk(typer.main.get_command(app), "privreg"))


def insert(_app: Sphinx, _docname: str, source: list[str]) -> None:
    if MARK in source[0]:
        from privreg.cli.app import app

        source[0] = source[0].replace(MARK, markdown(app))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", insert)
    return {"parallel_read_safe": True}
