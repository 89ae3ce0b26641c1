"""What is wrong with what was typed, in one line that names the option and says what to do."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from privreg.cli.help import short_meaning, written

_PARSED = (  # what typer says of values that it parses itself
    (r".*valid integer.*", "must be a whole number"),
    (r".*valid number.*", "must be a number"),
    (r"Input should be greater than or equal to (.*)", r"must be at least \1"),
    (r"Input should be less than or equal to (.*)", r"must be at most \1"),
)


def in_one_line(error: Any, context: Any) -> str:
    """What typer found wrong, in words. Errors are told apart by what they have, as their classes are not public."""
    param, option = getattr(error, "param", None), getattr(error, "option_name", None)
    where = f"; see {context.command_path} -h" if context is not None else ""
    if type(error).__name__ == "MissingParameter" and param is not None:
        meaning = short_meaning(param)
        return f"{written(param)} is missing{f': {meaning}' if meaning else ''}{where}"
    if param is not None:
        return _wrong_value(written(param).partition(" ")[0], str(error.message).strip())
    if option is not None and hasattr(error, "possibilities") and context is not None:
        known = [name for each in context.command.params for name in each.opts if name.startswith("-")]
        return f"there is no option {option}{nearest(option, known) or where}"
    if option is not None:
        return f"{option} needs a value{where}"
    message = " ".join(error.format_message().split())
    if found := re.match(r"No such command '(.*?)'", message):
        return f"there is no command {found[1]!r}{nearest(found[1], getattr(context.command, 'commands', ())) or where}"
    if found := re.match(r"Got unexpected extra arguments? ?\(?s?\)? ?\((.*)\)", message):
        return f"too many arguments: {found[1]}. A formula, or a name with blanks, needs quotes"
    return message


def _wrong_value(name: str, message: str) -> str:
    for pattern, words in _PARSED:
        if found := re.fullmatch(pattern, message):
            return f"{name} {found.expand(words)}"
    return f"{name}: {message}"


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that may help, or nothing."""
    alike = {each.lower(): each for each in known}
    begins = [each for lower, each in alike.items() if lower.startswith(name.lower()) and len(name) > len("--") + 1]
    close = begins[:1] or [alike[each] for each in get_close_matches(name.lower(), list(alike), 1, 0.75)]
    return f"; did you mean {close[0]}?" if close else ""


def named_option(message: str, command: Any) -> str:
    """A message about a parameter of the API as one about the option of that name."""
    found = re.match(r"(\w+)(?= must |: |=)", message)
    names = {} if found is None else {each.name: each.opts[0] for each in command.params}
    option = "" if found is None else names.get(found[1], "")
    return option + message[found.end() :] if found is not None and option.startswith("--") else message
