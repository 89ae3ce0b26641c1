"""Arithmetic and conditions on the columns of one record, as people type them in formulas and filters.

What was typed is cut into words, Python's grammar makes a tree of them, and only the few kinds of nodes named here are
taken from it: numbers, text, columns, operators, and functions of a fixed list. Nothing that was typed is ever run.
So a value depends on its own record alone (docs/proofs/formulas.md), and what cannot be computed is missing.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from itertools import pairwise
from math import isfinite
from operator import add, mul, sub, truediv
from typing import Any

from privreg.data.text_header import like_a_record
from privreg.data.words import TRUTHS, Word, words_of, written
from privreg.errors import FormulaError

MOST_WORDS = 300  # of one expression
DEEPEST_TREE = 120  # operations inside each other: far less deep than Python's own limit

FUNCTIONS = ("abs", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt")
CATEGORIES = ("C", "factor")  # words that say that a column is one
SAME = ("I",)  # words that change nothing
TESTS = ("missing", "is.na", "is.null")  # whether a value is missing
LISTS = ("c",)  # R's word for a list
_OF_OTHERS = frozenset(  # functions of all records, in R, patsy and formulaic
    "bc bs cc center cr cs cubic cut diff hashed lag lead mean median ns ntile poly quantile rank scale standardise "  # noqa: SIM905
    "standardize std sum te var".split()
)

_PYTHON = {"&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", "%in%": "in", "{": "(", "}": ")"}
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


@dataclass(frozen=True)
class Expression:
    """Something computed from one record. `text` is how it is written, `tree` what it means, in plain tuples."""

    text: str
    tree: tuple[Any, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs, in the order of their first use."""
        return tuple(dict.fromkeys(name for use, name in uses(self.tree)))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those of them that it computes with."""
        return tuple(dict.fromkeys(name for use, name in uses(self.tree) if use == "number"))


def uses(tree: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """How each column is used: as a "number", or as it is ("any")."""
    if tree[0] == "column":
        yield "number", tree[1]
    elif tree[0] in ("among", "missing", "truth", "since"):
        yield "number" if tree[0] == "among" and not isinstance(tree[2], str) else "any", tree[1]
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from uses(part)


# ---- from words to a tree


def read_expression(words: Sequence[Word], what: str, columns: Collection[str] | None = None) -> Expression:
    """The meaning of words. If `columns` are given, names must be among them."""
    text = written(words)
    if len(words) > MOST_WORDS:
        raise FormulaError(f"{what}: an expression has more than {MOST_WORDS} words; shorten it")
    names: list[str] = []
    code: list[str] = []
    for word in words:
        code.append(_python(word, names, what, columns))
    try:
        if any(one.kind == other.kind == "text" for one, other in pairwise(words)):  # Python would make one of them
            raise SyntaxError
        tree = _Reader(names, what, shortened(text)).read(ast.parse(" ".join(code), mode="eval").body)
    except FormulaError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"{what}: {shortened(text)} is not a valid expression") from None
    if _depth(tree) > DEEPEST_TREE:
        raise FormulaError(f"{what}: {shortened(text)} is nested too deeply")
    if not any(True for _ in uses(tree)):
        raise FormulaError(f"{what}: {shortened(text)} does not contain a column")
    return Expression(text, tree)


def _depth(tree: Any) -> int:
    return 1 + max(map(_depth, tree[1:]), default=0) if isinstance(tree, tuple) else 0


def shortened(text: str) -> str:
    """What was typed, for a message."""
    return text if len(text) <= 60 else text[:59] + "…"


def _python(word: Word, names: list[str], what: str, columns: Collection[str] | None) -> str:
    """A word as Python's grammar has it. Columns are called by their numbers."""
    if word.kind == "name":
        if columns is not None and word.text not in columns:
            raise no_column(word.text, columns, what)
        if word.text not in names:
            names.append(word.text)
        return f"c{names.index(word.text)}"
    if word.kind == "function":
        return f"f_{known_function(word.text, what)}"
    if word.kind == "text":
        return repr(word.text)
    if word.kind == "truth":
        return str(TRUTHS[word.text])
    if word.kind == "number":
        return str(float(word.text)) if isfinite(float(word.text)) else "1e999"
    if word.text in ("=", ":", "~"):
        meant = " (write == to compare)" if word.text == "=" else ""
        raise FormulaError(f"{what}: {word.text} is not allowed here{meant}")
    return _PYTHON.get(word.text, word.text)


def known_function(name: str, what: str) -> str:
    """The function of this name without a module before it; FormulaError if there is none."""
    bare = name.removeprefix("np.").removeprefix("numpy.")
    if bare in FUNCTIONS:
        return bare
    if name in TESTS:
        return "missing"
    if name in (*CATEGORIES, *SAME, *LISTS):
        return name
    if bare.removesuffix("_") in _OF_OTHERS:
        raise FormulaError(
            f"{what}: {name}() depends on other records, which is not allowed; write fixed numbers instead, as in "
            "I((age - 40)/10)"
        )
    raise FormulaError(
        f"{what}: there is no function {shortened(name)!r}; use one of {', '.join((*FUNCTIONS, 'I', 'C'))}"
    )


def no_column(name: str, columns: Collection[str], what: str) -> FormulaError:
    """The error for a name that no column has, with the nearest one, unless names may be a record's values."""
    folded = {column.casefold(): column for column in columns}
    if name.lower() in ("na", "nan", "null", "none"):
        return FormulaError(f"{what}: no column {name!r}; to test for a missing value, write missing(x)")
    near = get_close_matches(shortened(name).casefold(), folded, n=1)
    advice = f"; did you mean {folded[near[0]]!r}?" if near else ""
    if like_a_record(columns):
        advice = "; some column names look like values: is the first line of the file a header?"
    return FormulaError(f"{what}: no column {shortened(name)!r}{advice}")


_ARITHMETIC: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_COMPUTED: dict[str, Callable[[float, float], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv, "**": pow}
_COMPARISONS: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class _Reader:
    """Takes from Python's tree what has a meaning here."""

    names: list[str]
    what: str
    text: str

    def fail(self, why: str) -> FormulaError:
        return FormulaError(f"{self.what}: {self.text}: {why}")

    def read(self, node: ast.expr) -> tuple[Any, ...]:
        match node:
            case ast.Constant(value=bool() as value):
                return "number", float(value)
            case ast.Constant(value=float() | int() as value):
                return self._number(float(value))
            case ast.Constant(value=str()):
                raise self.fail("text can only be compared with ==, != or in")
            case ast.Name(id=name):
                return "column", self.names[int(name[1:])]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return "not", self.condition(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._folded("-", self._number(0.0), self.read(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return self._folded(_ARITHMETIC[type(op)], self.read(left), self.read(right))
            case ast.BoolOp(op=op, values=values):
                return "and" if isinstance(op, ast.And) else "or", *map(self.condition, values)
            case ast.Compare(left=left, ops=ops, comparators=others):
                pairs = zip([left, *others[:-1]], ops, others, strict=True)
                found = [self._compared(one, op, other) for one, op, other in pairs]
                return found[0] if len(found) == 1 else ("and", *found)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name.startswith("f_"):
                return self._called(name.removeprefix("f_"), args)
        raise self.fail("this kind of expression is not supported")

    def condition(self, node: ast.expr) -> tuple[Any, ...]:
        """The same, where a column alone stands for whether it is true."""
        tree = self.read(node)
        return ("truth", tree[1]) if tree[0] == "column" else tree

    def _constant(self, node: ast.expr) -> Any:
        tree = self.read(node)
        return tree[1] if tree[0] == "number" else None

    def _number(self, value: float) -> tuple[Any, ...]:
        if not isfinite(value):
            raise self.fail("a number is too large")
        return "number", value

    def _folded(self, sign: str, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Two numbers are computed at once, in float64: 9**9**9 is too large, and that takes no time to find out."""
        if left[0] != "number" or right[0] != "number":
            return sign, left, right
        try:
            value = _COMPUTED[sign](left[1], right[1])
        except (ZeroDivisionError, OverflowError):
            raise self.fail("a number is too large, or is divided by 0") from None
        if isinstance(value, complex):
            raise self.fail("a negative number has no root")
        return self._number(value)

    def _called(self, name: str, args: list[ast.expr]) -> tuple[Any, ...]:
        if name in CATEGORIES:
            raise self.fail(f"{name}() stands for a category, which is not a number")
        if name in LISTS or len(args) != 1:
            raise self.fail(f"{name}() takes one column or number")
        if name == "missing":
            if not isinstance(args[0], ast.Name):
                raise self.fail("missing() takes one column")
            return "missing", self.read(args[0])[1]
        return self.read(args[0]) if name in SAME else ("call", name, self.read(args[0]))

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[Any, ...]:
        if isinstance(op, ast.In | ast.NotIn):
            found = self._among(left, self._list(right))
            return ("not", found) if isinstance(op, ast.NotIn) else found
        if type(op) not in _COMPARISONS:
            raise self.fail("this kind of comparison is not supported")
        sign = _COMPARISONS[type(op)]
        if isinstance(left, ast.Constant) and isinstance(left.value, str | bool):
            left, right, sign = right, left, _TURNED[sign]
        if isinstance(right, ast.Constant) and isinstance(right.value, str | bool):
            return self._with_constant(left, sign, right.value)
        return sign, self.read(left), self.read(right)

    def _with_constant(self, left: ast.expr, sign: str, value: str | bool) -> tuple[Any, ...]:
        if isinstance(value, bool):
            if sign not in ("==", "!="):
                raise self.fail(f"{value} can only be compared with == and !=")
            found = self.condition(left)
            return found if value == (sign == "==") else ("not", found)
        if sign in ("==", "!="):
            found = self._among(left, (value,))
            return ("not", found) if sign == "!=" else found
        if not _is_date(value):
            raise self.fail("text can only be compared with ==, != or in; write dates as '2020-01-31'")
        if not isinstance(left, ast.Name):
            raise self.fail("a date can only be compared with a column")
        return sign, ("since", self.read(left)[1]), ("date", value)

    def _among(self, left: ast.expr, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not isinstance(left, ast.Name):
            raise self.fail("text can only be compared with a column")
        return "among", self.read(left)[1], *values

    def _list(self, node: ast.expr) -> tuple[Any, ...]:
        match node:
            case ast.Call(func=ast.Name(id="f_c"), args=items, keywords=[]):
                pass
            case ast.List(elts=items) | ast.Tuple(elts=items):
                pass
            case _:
                items = [node]
        values = tuple(item.value if _is_text(item) else self._constant(item) for item in items)  # type: ignore[attr-defined]
        if not values or len({type(value) for value in values}) > 1 or type(values[0]) not in (str, float):
            raise self.fail("after in, write a list of numbers or of text values, such as ['a', 'b']")
        return values


def _is_date(value: str) -> bool:
    """Whether it is written as a date of the calendar, perhaps with a time."""
    try:
        return bool(_DATE.fullmatch(value) and datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


# ---- conditions


def read_condition(text: Any, columns: Collection[str] | None = None) -> Expression:
    """A filter: which records to keep."""
    read = read_expression(words_of(text, "where"), "where", columns)
    tree: tuple[Any, ...] = ("truth", read.tree[1]) if read.tree[0] == "column" else read.tree
    if tree[0] not in _CONDITIONS:
        raise FormulaError(f"where: {shortened(read.text)} is not a condition; write one such as age >= 18")
    return Expression(read.text, tree)


_CONDITIONS = ("and", "or", "not", "among", "missing", "truth", *_COMPARISONS.values())
