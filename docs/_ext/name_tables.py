"""Tables of names: what a page, or a class, has at a glance. The words are the first of each docstring."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from plain_docstrings import PUBLIC, inline, of_sklearn
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import privreg

DATA = {"METHODS": "The names of the paper's methods, as `make_method` takes them."}  # has no docstring of its own
FIRST = ("fit", "check", "predict", "transform", "summary", "report", "save")  # what people look for


def first_words(thing: Any) -> str:
    """The first sentence, without its full stop."""
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.sub(r"(?<=\.) .*", "", text).rstrip(".")


class Names(SphinxDirective):
    """A table of public names, given one on each line."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = ["| name | what it is |", "|---|---|"]
        for name in self.content:
            home, _, last = PUBLIC[name].rpartition(".")
            words = DATA.get(name) or first_words(getattr(import_module(home), last))
            lines.append(f"| {{py:obj}}`{name} <{PUBLIC[name]}>` | {words.replace('|', chr(92) + '|')} |")
        found = self.parse_text_to_nodes("\n".join(lines))
        for table in found:
            table["classes"].append("names")
        return found


class ErrorTree(SphinxDirective):
    """Errors and warnings of the package, each below what it is a kind of."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join([*branch(privreg.PrivregError), *branch(UserWarning)]))


def branch(error: type[Exception], depth: int = 0) -> Iterator[str]:
    """Lines of a list: an error and, further to the right, its kinds."""
    name = error.__name__
    if name in PUBLIC:
        also = ", also a `ValueError`" if ValueError in error.__bases__ else ""
        yield f"{'  ' * depth}- {{py:obj}}`{name} <{PUBLIC[name]}>`{also}"
    else:
        yield f"- `{name}`, of Python"
    for kind in (getattr(privreg, each) for each in privreg.__all__):
        if inspect.isclass(kind) and error in kind.__bases__:
            yield from branch(kind, depth + 1)


def methods_of(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods, the most important ones first."""
    names = [name for name in dir(thing) if not name.startswith("_") and inspect.isroutine(getattr(thing, name))]
    for name in sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        if not of_sklearn(name, getattr(thing, name)):
            yield name, getattr(thing, name)


def add_methods(_app: Sphinx, what: str, name: str, thing: Any, _options: Any, lines: list[str]) -> None:
    """A table below the docstring of a class."""
    methods = dict(methods_of(thing)) if what == "class" and inspect.isclass(thing) else {}
    if len(methods) > 1:
        lines += ["", ".. rubric:: Methods", "", ".. list-table::", "   :class: names", ""]
        for method, member in methods.items():
            lines += [f"   * - :py:obj:`{method} <{name}.{method}>`", f"     - {inline(first_words(member))}"]
        lines.append("")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("names", Names)
    app.add_directive("error-tree", ErrorTree)
    app.connect("autodoc-process-docstring", add_methods, priority=900)
    return {"parallel_read_safe": True}
