"""Docstrings as they are written here, for Sphinx: code in single backticks, and "name : type" under a heading.

Sphinx would take single backticks for emphasis, `coef_` for a link, and |x| for a substitution. Its own reader of such
headings, napoleon, makes one long paragraph of each parameter; here they become definition lists.
"""

import inspect
import re
from typing import Any, get_origin

import numpy as np
from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature

import privreg

HEADINGS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "Notes",
    "Examples",
    "See Also",
    "References",
)
PUBLIC = {
    **{name: f"privreg.{name}" for name in privreg.__all__},
    "load_mothers": "privreg.datasets.load_mothers",
    "kendall_scores": "privreg.kendall.kendall_scores",
    "make_method": "privreg.paper.make_method",
    "METHODS": "privreg.paper.METHODS",
}
_ENTRY = re.compile(r"(\S[^:]*?) : (.*)")
_CODE = re.compile(r"(`[^`]+`|\bdocs/[\w/-]+\.md\b|\btests/[\w/]+\.py\b)")
_NAME = re.compile(r"(?:privreg\.)?([A-Za-z]\w*(?:\.\w+)*)(?:\(\))?")
_PUBLIC_NAME = re.compile(rf"(?<![\w.`~])({'|'.join(PUBLIC)})(?![\w`])")


def code(text: str) -> str:
    """Code in reStructuredText; a name of this package links to where it is explained."""
    if not (name := _NAME.fullmatch(text)):
        return f"``{text}``"
    first, *rest = name[1].split(".")
    return f":py:obj:`{text} <{'.'.join([PUBLIC.get(first, first), *rest])}>`"


def inline(text: str) -> str:
    """One line of prose in reStructuredText: code stays code, proofs become links, nothing else has a meaning."""
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([|]|_(?!\w)|(?<!\*)\*(?!\*))", r"\\\1", part)
        elif part.startswith("docs/"):
            parts[i] = f":doc:`/{part.removeprefix('docs/').removesuffix('.md')}`"
        elif part.startswith("`"):
            parts[i] = code(part.strip("`"))
        else:
            parts[i] = f"``{part}``"
    return "".join(parts)


def kind(text: str) -> str:
    """A type in words; classes of this package are links even without backticks."""
    return _PUBLIC_NAME.sub(lambda found: code(found[1]), inline(text))


def entry(line: str, after: str) -> list[str]:
    """One entry under a heading: the name with its type, or with a short explanation if there is no other."""
    found = _ENTRY.fullmatch(line)
    if not found:
        return [kind(line)]
    names = ", ".join(code(name) if name in PUBLIC else f"``{name}``" for name in found[1].split(", "))
    if after.startswith(" "):
        return [f"{names} : {kind(found[2])}"]
    return [names, f"    {inline(found[2])}"]


def rewrite(lines: list[str]) -> list[str]:
    """The lines of a docstring: headings and entries become rubrics and definition lists, examples stay as they are."""
    new: list[str] = []
    section, example = "", False
    for i, line in enumerate(lines):
        after = lines[i + 1] if i + 1 < len(lines) else ""
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if line in HEADINGS and after.startswith("---"):
            section = line
            new += [f".. rubric:: {line}", ""]
        elif section and line.startswith("---"):
            continue
        elif example:
            new.append(line)
        elif section not in ("", "Notes", "Examples", "References") and line[:1].strip():
            new += entry(line, after)
        else:
            indent = len(line) - len(line.lstrip())
            new.append(" " * indent + inline(line.lstrip()))
    return new


def process(_app: Sphinx, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = rewrite(lines)


def of_sklearn(name: str, member: Any) -> bool:
    """What scikit-learn brings along; the page says so once."""
    return bool(re.fullmatch(r"set_\w+_request", name)) or str(getattr(member, "__module__", "")).startswith("sklearn.")


def skip(_app: Sphinx, _what: str, name: str, member: Any, skipped: bool, _options: Any) -> bool | None:
    return of_sklearn(name, member) or skipped or None


# ---- signatures


def plain_type(annotation: Any) -> Any:
    """A type as readers know it: arrays are arrays whatever they hold, and what may be anything is not said."""
    if annotation is Any:
        return inspect.Parameter.empty
    if get_origin(annotation) is np.ndarray:
        return np.ndarray
    return annotation


def signature(
    _app: Sphinx, what: str, _name: str, thing: Any, _options: Any, shown: str, _returned: str
) -> tuple[str, str] | None:
    """Types are in the list of parameters; in the signature they are only where there is no such list."""
    if not callable(thing) or what == "exception" or not shown:
        return None
    function = thing.__init__ if inspect.isclass(thing) else thing
    try:
        full = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError):
        full = inspect.signature(function)
    bound = inspect.isclass(thing) or next(iter(full.parameters), "") in ("self", "cls")
    parameters = [p.replace(annotation=plain_type(p.annotation)) for p in full.parameters.values()][bound:]
    listed = re.search(r"^ *Parameters\n *---", thing.__doc__ or "", re.MULTILINE) is not None
    if listed:
        parameters = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    result = inspect.Signature.empty if inspect.isclass(thing) else plain_type(full.return_annotation)
    text = stringify_signature(
        full.replace(parameters=parameters, return_annotation=result), unqualified_typehints=True
    )
    left, _, right = text.partition(" -> ")
    return left, right


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
