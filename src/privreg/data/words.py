"""What people type in formulas and filters, cut into words: names, numbers, text and signs."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from privreg.errors import FormulaError

LONGEST = 10_000  # characters of a formula or a filter
DEEPEST = 30  # parentheses inside each other

_WORD = re.compile(
    r"""\s*(?:(?P<name>[^\W\d]\w*(?:\.\w+)*\.?(?!\w))|(?P<tick>`[^`\r\n]+`)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<text>'[^'\\\r\n]*'|"[^"\\\r\n]*")
    |(?P<sign>%in%|\*\*|==|!=|<=|>=|&&|\|\||[-+*/:^~(){}\[\],<>&|!.=])|(?P<odd>\S))""",
    re.X,
)
_OPENING, _CLOSING = "([{", ")]}"
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


class Word(NamedTuple):
    """A piece of what was typed."""

    kind: str  # "name", "function", "number", "text", "truth" or "sign"
    text: str  # of a name without backticks, of text without quotes

    @property
    def nesting(self) -> int:
        """1 for what opens a parenthesis, -1 for what closes one."""
        return (self.text in _OPENING) - (self.text in _CLOSING) if self.kind == "sign" else 0


def words_of(text: Any, what: str) -> list[Word]:
    """What was typed, in pieces; FormulaError if it is not something that people type."""
    if not isinstance(text, str):
        raise FormulaError(f"{what} must be text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise FormulaError(f"{what} has more than {LONGEST:,} characters")
    if not " ".join(text.split()).isprintable():
        raise FormulaError(f"{what} has characters that cannot be printed")
    found = [_word(match, what) for match in _WORD.finditer(text)]
    if not found:
        raise FormulaError(f"{what} is empty")
    depth = deepest = 0
    for word in found:
        depth += word.nesting
        deepest = max(deepest, depth)
        if depth < 0:
            break
    if depth != 0:
        raise FormulaError(f"{what}: parentheses do not match")
    if deepest > DEEPEST:
        raise FormulaError(f"{what}: parentheses are nested more than {DEEPEST} deep")
    return [_as_called(*pair) for pair in zip(found, [*found[1:], None], strict=True)]


def _as_called(word: Word, after: Word | None) -> Word:
    called = word.kind == "name" and after == Word("sign", "(")
    return Word("function", word.text) if called else word


def names_in(text: str, what: str) -> list[str]:
    """What may be names of columns, in a table that cannot tell its own."""
    return list(dict.fromkeys(word.text for word in words_of(text, what) if word.kind == "name"))


def _word(match: re.Match[str], what: str) -> Word:
    kind, text = str(match.lastgroup), match[str(match.lastgroup)]
    if kind == "odd":
        raise FormulaError(f"{what}: {text} is not allowed here")
    if kind == "tick":
        return Word("name", text[1:-1])
    if kind == "name":
        kind = "sign" if text in _OPERATORS else "truth" if text in TRUTHS else kind
    if text == "^":  # one spelling, so that I(x^2) and I(x**2) are one column
        return Word("sign", "**")
    return Word(kind, text[1:-1] if kind == "text" else text)


def written(words: Sequence[Word]) -> str:
    """Words as one text, which is read as the same words."""
    text, before = "", Word("sign", "(")
    for word in words:
        spaced = _is_apart(word) or _is_apart(before) or before == Word("sign", ",")
        mistaken = before.kind != "sign" and word.kind != "sign"  # two words side by side, in a message
        text += " " if (spaced and before.text not in _OPENING) or mistaken else ""
        text, before = text + _spelled(word), word
    return text


def _is_apart(word: Word) -> bool:
    return word.kind == "sign" and word.text in _SPACED


def _spelled(word: Word) -> str:
    if word.kind == "name":
        plain = _PLAIN.fullmatch(word.text) and word.text not in (*_OPERATORS, *TRUTHS)
        return word.text if plain else f"`{word.text}`"
    if word.kind == "text":
        return f'"{word.text}"' if "'" in word.text else f"'{word.text}'"
    return word.text


_OPERATORS = ("and", "or", "not", "in")
_SPACED = ("==", "!=", "<", ">", "<=", ">=", "&", "&&", "|", "||", "%in%", "~", "+", *_OPERATORS)
_PLAIN = re.compile(r"[^\W\d]\w*(?:\.\w+)*\.?")
