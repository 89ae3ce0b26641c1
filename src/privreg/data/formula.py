"""Formulas as statisticians write them: `log(pay) ~ age + I(age**2) + C(region) + sex:educ`.

formulaic has the algebra of terms (`+ - * : / ** .` and parentheses). It sees numbered names only: every column and
every function call is replaced by one before, and is read by expressions.py, which never runs anything.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from privreg._json import entries, fields, require, text
from privreg.data.expressions import CATEGORIES, Expression, no_column, read_expression, shortened
from privreg.data.words import Word, words_of, written
from privreg.errors import FormulaError

MOST_TERMS = 1000  # before levels are counted
MOST_SIGNS = 500  # of the right side
_WHAT = "formula"
_INVERSES = {"log": "exp", "log1p": "expm1", "exp": "log", "expm1": "log1p"}
_POWERS = {"log2": 2.0, "log10": 10.0}


@dataclass(frozen=True)
class DeclaredCategory:
    """What C() says about a column."""

    name: str
    levels: tuple[Any, ...] | None = None  # public, if they are given
    base: Any = None  # the reference, if it is


@dataclass(frozen=True)
class Formula:
    """A target, and the terms of a model. A term is the names of the columns that are multiplied.

    A computed column is called by the text of its expression; a category by the name of its column.
    """

    text: str
    target: Expression
    terms: tuple[tuple[str, ...], ...]
    computed: tuple[Expression, ...] = ()
    categories: tuple[DeclaredCategory, ...] = ()

    @property
    def target_name(self) -> str:
        """What the target is called: its column, or what is computed."""
        return str(self.target.tree[1]) if self.target.tree[0] == "column" else self.target.text

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that something is computed with: numbers by decree."""
        return frozenset(name for each in (self.target, *self.computed) for name in each.numbers)

    @property
    def inputs(self) -> list[str]:
        """The columns of the table that the right side needs."""
        own = {each.text: each.columns for each in self.computed}
        return list(
            dict.fromkeys(name for term in self.terms for factor in term for name in own.get(factor, (factor,)))
        )

    @property
    def columns(self) -> list[str]:
        """The same with those of the target."""
        return list(dict.fromkeys([*self.inputs, *self.target.columns]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON. What C() declared is in the columns of the schema."""
        return {"text": self.text, "target": self.target.text, "terms": [list(term) for term in self.terms]}

    @classmethod
    def from_dict(cls, record: Any, computed: Sequence[Expression]) -> "Formula":
        """From what `to_dict` gave; ValueError for nonsense."""
        fields(record, "text target terms")
        terms = entries(record["terms"], "terms", lambda v, what: tuple(entries(v, what, text)))
        require(all(terms), "a term must contain columns")
        target = parsed(text(record["target"], "target"))
        return cls(text(record["text"], "formula"), target, tuple(terms), tuple(computed))


def parsed(written_text: str) -> Expression:
    """An expression from the text that it has."""
    words = words_of(written_text, _WHAT)
    found = read_expression(words, _WHAT)
    return Expression(written_text, found.tree)


def inverse_of(target: Expression) -> tuple[Any, ...] | None:
    """What undoes the target's function, as a tree whose only column is the target; None if nothing does."""
    kind, *parts = target.tree
    given = ("column", target.text)
    if kind == "column":
        return given
    if kind != "call" or parts[1][0] != "column":
        return None
    name = parts[0]
    if name in _INVERSES:
        return "call", _INVERSES[name], given
    if name in _POWERS:
        return "**", ("number", _POWERS[name]), given
    return ("*", given, given) if name == "sqrt" else None


# ---- reading


def read_formula(given: Any, columns: Collection[str], people: Any = None) -> Formula:
    """A formula for a table with these columns; FormulaError if it cannot be read or has no meaning for it.

    `people` may be the name of the column that tells them apart, which is no part of a model.
    """
    words = words_of(given, _WHAT)
    if isinstance(people, str):
        columns = [name for name in columns if name != people]
        if Word("name", people) in words:
            raise FormulaError(f"formula: {people!r} identifies people, so it cannot be in the formula")
    at = [i for i, word in enumerate(words) if word == Word("sign", "~")]
    if len(at) != 1 or at[0] == 0 or at[0] == len(words) - 1:
        raise FormulaError("formula: write it as target ~ terms, for instance pay ~ age + C(region)")
    left, right = words[: at[0]], words[at[0] + 1 :]
    target = read_expression(left, _WHAT, columns)
    return _Right(columns, target).read(right, " ".join(given.split()))


class _Right:
    """The right side of a formula."""

    def __init__(self, columns: Collection[str], target: Expression) -> None:
        self.columns, self.target = list(columns), target
        self.factors: dict[tuple[str, bool], str] = {}  # numbers of columns, and of expressions (True) by their text
        self.computed: dict[str, Expression] = {}
        self.categories: dict[str, DeclaredCategory] = {}

    def read(self, words: Sequence[Word], text_of_all: str) -> Formula:
        terms = _expanded(self._numbered(words), [self._factor(name) for name in self._others()])
        numbered = list(self.factors)
        used = [[numbered[int(name[1:])] for name in term] for term in terms]
        if not used:
            raise FormulaError("formula: there is no column to the right of ~; add at least one term")
        for name, computed in {factor for term in used for factor in term}:
            if computed and any((name, False) in term for term in used):
                raise FormulaError(f"formula: a column and an expression are both called {name!r}; rename the column")
        factors = [tuple(name for name, _ in term) for term in used]
        formula = Formula(
            text_of_all, self.target, tuple(factors), self._used(factors), tuple(self.categories.values())
        )
        self._check(formula)
        return formula

    def _others(self) -> list[str]:
        """What . stands for: all columns that the target has not."""
        return [name for name in self.columns if name not in self.target.columns]

    def _used(self, terms: list[tuple[str, ...]]) -> tuple[Expression, ...]:
        named = {factor for term in terms for factor in term}
        return tuple(each for each in self.computed.values() if each.text in named)

    def _check(self, formula: Formula) -> None:
        for name in formula.target.columns:
            if name in formula.inputs:
                raise FormulaError(f"formula: {name!r} is on both sides of ~; remove it from one of them")
        for name in self.categories:
            if name in formula.numbers or name in formula.target.columns:
                raise FormulaError(
                    f"formula: {name!r} is used both as a category and as a number; use a copy of the column"
                )

    def _factor(self, name: str, computed: bool = False) -> str:
        return self.factors.setdefault((name, computed), f"x{len(self.factors)}")

    def _numbered(self, words: Sequence[Word]) -> str:
        """The same with numbers for columns and function calls."""
        out: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            end = at + 1
            if word.kind == "function" or word == Word("sign", "{"):
                end = _end(words, at + (word.kind == "function")) + 1
                out.append(self._called(words[at:end]))
            elif word.kind == "name":
                if word.text not in self.columns:
                    raise no_column(word.text, self.columns, _WHAT)
                out.append(self._factor(word.text))
            elif word.kind in ("sign", "truth") and word.text in self.columns and word.text.isidentifier():
                raise FormulaError(f"formula: write the column {word.text} in backticks, as `{word.text}`")
            else:
                out.append(_sign(word, out))
            at = end
        if len(out) > MOST_SIGNS:
            raise FormulaError(f"formula: more than {MOST_SIGNS} words to the right of ~")
        return " ".join(out)

    def _called(self, words: Sequence[Word]) -> str:
        """The number of the column that a function call makes."""
        if words[0].text in CATEGORIES and words[0].kind == "function":
            found = read_category(words, self.columns)
            known = self.categories.setdefault(found.name, found)
            if known != found:
                raise FormulaError(
                    f"formula: C({shortened(found.name)}) is written in two different ways; use one of them"
                )
            return self._factor(found.name)
        expression = read_expression(words, _WHAT, self.columns)
        self.computed[expression.text] = expression
        return self._factor(expression.text, computed=True)


def _end(words: Sequence[Word], opening: int) -> int:
    """Where the parenthesis that opens here is closed."""
    depth = 0
    for at in range(opening, len(words)):
        depth += words[at].nesting
        if depth == 0:
            return at
    raise FormulaError("formula: a parenthesis is not closed")


def _sign(word: Word, before: Sequence[str]) -> str:
    if word.kind == "number":
        raised = bool(before) and before[-1] == "**"
        if raised and word.text in tuple("123456789"):
            return word.text
        if raised:
            raise FormulaError(
                "formula: terms can only be raised to a power from 1 to 9; for a power of numbers, write I(x**2)"
            )
        if word.text in ("0", "1"):
            return word.text
    if word.kind == "sign" and word.text in ("+", "-", "*", ":", "/", "(", ")", ".", "**", "%in%"):
        return word.text
    shown = shortened(word.text) if word.kind != "text" else f"'{shortened(word.text)}'"
    raise FormulaError(f"formula: {shown} is not allowed between terms; put arithmetic inside I(), as in I(age**2)")


def _expanded(right: str, others: Sequence[str]) -> list[tuple[str, ...]]:
    """The terms that the algebra gives, those of fewer factors first."""
    from formulaic.errors import FormulaicError
    from formulaic.parser import DefaultFormulaParser

    parser = DefaultFormulaParser()
    context: dict[str, Any] = {
        "__formulaic_variables_available__": list(others),
        "__formulaic_variables_used_lhs__": [],
    }
    try:
        tree = parser.get_ast(right, context=context)
        if _most(tree, len(others)) > MOST_TERMS + 1:  # with the intercept
            raise FormulaError(f"formula: more than {MOST_TERMS:,} terms")
        found = parser.get_terms_from_ast(tree, context=context)
        terms = [tuple(factor.expr for factor in term.factors) for term in found]
    except (FormulaicError, SyntaxError, AttributeError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError("formula: the right side is not valid; combine terms with +, *, : and parentheses") from None
    if ("1",) not in terms:
        raise FormulaError("formula: a model without an intercept is not supported; remove - 1 or 0 +")
    terms.remove(("1",))
    if any("1" in term or not all(name.startswith("x") for name in term) for term in terms):
        raise FormulaError("formula: a number cannot be a term; put arithmetic inside I(), as in I(2*age)")
    return sorted(terms, key=len)


def _most(tree: Any, others: int) -> int:
    """The most terms that a tree of the algebra can have."""
    if not hasattr(tree, "operator"):
        return 1
    counts = [_most(part, others) for part in tree.args]
    sign = tree.operator.symbol
    if sign == ".":
        return others
    if sign == "**":
        return counts[0] ** int(str(tree.args[1].token)) if hasattr(tree.args[1], "token") else MOST_TERMS + 1
    if sign in ("*", ":", "/", "in") and len(counts) == 2:
        return counts[0] * counts[1] + sum(counts)
    return sum(counts)


def read_category(words: Sequence[Word], columns: Collection[str] | None = None) -> DeclaredCategory:
    """C(x), C(x, levels=["a", "b"], base="a"), C(x, Treatment("a")), factor(x)."""
    inside = list(words[2:-1])
    parts: list[list[Word]] = [[]]
    depth = 0
    for word in inside:
        depth += word.nesting
        if word == Word("sign", ",") and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    first, *options = parts
    if len(first) != 1 or first[0].kind != "name":
        raise FormulaError(f"formula: {shortened(written(words))}: C() takes the name of a column")
    name = first[0].text
    if columns is not None and name not in columns:
        raise no_column(name, columns, _WHAT)
    levels, base = None, None
    for option in options:
        key, values = _option(option, shortened(written(words)))
        if key == "levels":
            levels = tuple(values)
        else:
            (base,) = values
    if levels is not None and base is not None and base not in levels:
        raise FormulaError(f"formula: {shortened(written(words))}: base is not one of the levels")
    return DeclaredCategory(name, levels, base)


def _option(words: list[Word], shown: str) -> tuple[str, list[Any]]:
    """levels=[…] or base=…, also as Treatment(…) and contr.treatment(…) of others."""
    wrong = FormulaError(f"formula: {shown}: write C(x), C(x, base='a') or C(x, levels=['a', 'b'])")
    if words and words[0].kind == "function" and words[0].text in ("Treatment", "contr.treatment"):
        words = words[2:-1]
        if len(words) == 1:
            words = [Word("name", "base"), Word("sign", "="), *words]
    if len(words) < 3 or words[1] != Word("sign", "=") or words[0].kind != "name":
        raise wrong
    key = {"levels": "levels", "base": "base", "reference": "base"}.get(words[0].text)
    values = [_level(word) for word in words[2:] if word.kind in _VALUES]
    shape = "".join("v" if word.kind in _VALUES else word.text for word in words[2:])
    if key is None or None in values or not _SHAPES[key].fullmatch(shape):
        raise wrong
    return key, values


def _level(word: Word) -> Any:
    if word.kind == "text":
        return word.text
    if word.kind == "number":
        value = float(word.text)
        return int(value) if value.is_integer() and "." not in word.text else value
    return word.text.lower() == "true" if word.kind == "truth" else None


_VALUES = ("text", "number", "truth", "name")  # a name is none, and refused
_SHAPES = {"base": re.compile("v"), "levels": re.compile(r"v|\[v(,v)*\]|c?\(v(,v)*\)")}
