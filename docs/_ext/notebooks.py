"""Notebooks as pages: a .ipynb file becomes MyST Markdown, with the outputs that are in it. Nothing is run."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

_FENCE = "`" * 12  # longer than any in a cell


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it stands for."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        name = f"{document.settings.env.docname.rpartition('/')[2]}.ipynb"
        super().parse(markdown(json.loads(inputstring), name), document)


def markdown(notebook: dict[str, Any], name: str) -> str:
    """Text, code and outputs in order. Under the title, which the first cell begins with, the file is offered."""
    first, *others = notebook["cells"]
    title, _, text = "".join(first["source"]).partition("\n")
    offer = f"This page is a notebook: {{download}}`download it <{name}>` to run it yourself."
    return "\n\n".join([title, offer, text, *(part for cell in others for part in _cell(cell))])


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
    else:
        yield _block("code-block", "python", text)
        yield from map(_output, cell["outputs"])


def _output(output: dict[str, Any]) -> str:
    """The richest form of it that a page can show."""
    data = {kind: "".join(content) for kind, content in output.get("data", {}).items()}
    if "text/html" in data:
        return _html(data["text/html"])
    if "image/png" in data:
        return _html(f'<img alt="What the code above draws" src="data:image/png;base64,{data["image/png"].strip()}">')
    return _html(f"<pre>{escape(data['text/plain'] if data else ''.join(output['text']))}</pre>")


def _html(page: str) -> str:
    """In a box that scrolls if it is too wide. An empty line would not end it, but reads better without."""
    page = page.replace("<th></th>", "<td></td>")  # pandas leaves the corner of a table empty: that names no column
    lines = "\n".join(line for line in page.splitlines() if line.strip())
    return _block("raw", "html", f'<div class="notebook-output">\n{lines}\n</div>')


def _block(directive: str, argument: str, text: str) -> str:
    return f"{_FENCE}{{{directive}}} {argument}\n{text}\n{_FENCE}"


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.add_css_file("notebook.css")
    return {"parallel_read_safe": True}
