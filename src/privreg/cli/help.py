"""The help of a command: options by what they are for, the most needed first, in the width of the terminal.

It is taken from the annotations of the command's function. Its docstring begins with what the command is for; what
comes after a line "Examples:" is shown last.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.text import Text

from privreg._format import number
from privreg.cli.terminal import bound, command_lines, console, lines_of

ARGUMENTS, MODEL, PRIVACY, LEDGER, DATA, OUTPUT = "Arguments", "Model", "Privacy", "Ledger", "Data", "Output"
COMPUTING, OPTIONS = "Computing", "Options"
PANELS = (ARGUMENTS, OPTIONS, MODEL, PRIVACY, LEDGER, DATA, COMPUTING, OUTPUT)  # in this order
_WIDEST, _NARROW = 100, 72  # columns: lines are not longer; below, each option has a line of its own
_LEFT = 26  # columns of the options, unless they are shorter
_SHORT = 40  # letters of a default that stay on one line
_EXAMPLES = "\n\nExamples:\n"


def show_help(command: Any, context: Any) -> None:
    """Print it."""
    out = console()
    width = min(out.width, _WIDEST)
    about, examples = description(command)
    _print(out, "Usage: ", "bold", usage(command, context), width)
    for paragraph in about:
        out.print()
        _lines(out, lines_of(paragraph, width))
    told = sections(command, context)
    longest = max(len(how) for entries in told.values() for how, _ in entries)
    for title, entries in told.items():
        out.print()
        out.print(Text(f"{title}:", style="bold"))
        _entries(out, entries, longest, width)
    if examples:
        out.print()
        out.print(Text("Examples:", style="bold"))
        _lines(out, [line for example in examples for line in command_lines(example, width)])


def description(command: Any) -> tuple[list[str], list[str]]:
    """What the command is for, in paragraphs, and the lines of its examples."""
    text, _, examples = (command.help or "").partition(_EXAMPLES)
    lines = examples.rstrip().splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()], [line[indent:] for line in lines]


def summary(command: Any) -> str:
    """What the command is for, in one sentence."""
    paragraphs, _ = description(command)
    return paragraphs[0] if paragraphs else ""


def usage(command: Any, context: Any) -> str:
    """How it is called: what is required is named."""
    pieces = [context.command_path]
    if hasattr(command, "commands"):
        return " ".join([*pieces, "COMMAND", "[OPTIONS]"])
    shown = [p for p in command.get_params(context) if not getattr(p, "hidden", False)]
    pieces += [_value(p) if p.required else f"[{_value(p)}]" for p in shown if _is_argument(p)]
    pieces += [f"{p.opts[0]} {_value(p)}" for p in shown if p.required and not _is_argument(p)]
    return " ".join([*pieces, "[OPTIONS]"])


def sections(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """By title: how each argument, option or sub-command is written, and what it does."""
    found: dict[str, list[tuple[str, str]]] = {}
    commands = [below for below in getattr(command, "commands", {}).values() if not below.hidden]
    if commands:
        found["Commands"] = [(below.name, summary(below)) for below in commands]
    *params, help_option = [p for p in command.get_params(context) if not getattr(p, "hidden", False)]
    titles = [getattr(p, "rich_help_panel", None) or (ARGUMENTS if _is_argument(p) else OPTIONS) for p in params]
    for title in sorted(set(titles), key=lambda t: PANELS.index(t) if t in PANELS else len(PANELS)):
        # What is required comes first.
        own = sorted((p for p, t in zip(params, titles, strict=True) if t == title), key=lambda p: not p.required)
        found[title] = [(written(p), meaning(p)) for p in own]
    last = next((title for title in (OUTPUT, OPTIONS) if title in found), OPTIONS)
    found.setdefault(last, []).append((written(help_option), "Show this help and exit."))
    return found


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def written(param: Any) -> str:
    """-v, --verbose; --epsilon E; DATA."""
    if _is_argument(param):
        return _value(param)
    names = ", ".join(sorted(param.opts, key=len))
    return names if _is_flag(param) else f"{names} {_value(param)}"


def _is_flag(param: Any) -> bool:
    return bool(param.is_flag or param.is_eager)


def _value(param: Any) -> str:
    """What stands for the value."""
    if param.metavar:
        return str(param.metavar)
    if _is_argument(param):
        return str(param.name).upper()
    kind = getattr(getattr(param, "type_descriptor", None), "annotation", str)
    return "N" if kind in (int, float) else "TEXT"


def meaning(param: Any) -> str:
    """The help, and the default or that there is none."""
    text = " ".join((getattr(param, "help", None) or "").split())
    if param.required:
        return text if _is_argument(param) else f"{text} [required]"
    default = param.show_default if isinstance(param.show_default, str) else _default(param)
    return f"{text} [default: {default}]" if default else text


def short_meaning(param: Any) -> str:
    """The first words of the help, to be read in a sentence."""
    text = re.split(r"[.:;](?= |$)", " ".join((getattr(param, "help", None) or "").split()))[0]
    return text[:1].lower() + text[1:]


def _together(what: str) -> str:
    """With a short default on one line."""
    text, bracket, default = what.rpartition("[default: ")
    return text + bound(bracket + default) if bracket and len(default) < _SHORT else what


def _default(param: Any) -> str:
    value = param.default
    if not param.show_default or value is None or value is False or callable(value):
        return ""
    values = value if isinstance(value, list | tuple) else [value]
    return ", ".join(number(float(v), 6) if isinstance(v, Decimal | float) else str(v) for v in values)


def _entries(out: Console, entries: list[tuple[str, str]], longest: int, width: int) -> None:
    narrow = width < _NARROW and longest > _LEFT // 2
    left = 6 if narrow else min(longest, _LEFT) + 4
    for how, what in entries:
        lines = [line[left:] for line in lines_of(_together(what), width, " " * left, " " * left)]
        beside = not narrow and len(how) + 4 <= left
        first = Text("  ").append(how, "cyan")
        if beside and lines:
            first.append(" " * (left - 2 - len(how)) + lines.pop(0))
        _lines(out, [first, *(" " * left + line for line in lines)])


def _print(out: Console, label: str, style: str, text: str, width: int) -> None:
    indent = " " * len(label)
    for i, line in enumerate(lines_of(text, width, indent, indent)):
        _lines(out, [Text(label, style).append(line.strip()) if i == 0 else line])


def _lines(out: Console, lines: Iterator[Any] | list[Any]) -> None:
    for line in lines:
        out.print(line, no_wrap=True, overflow="ignore", crop=False)
