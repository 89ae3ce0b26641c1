"""Links that lead out of docs/: in the site they lead to the project's home.

The report of the paper's evaluation is a page of its own, which is copied into the site (html_extra_path).
"""

import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

COPIED = {"results/paper/report.md": "report.html"}


def target_of(link: nodes.Element, page: Path) -> Path | None:
    """The file that a link to a path leads to; None for other links."""
    if isinstance(link, addnodes.download_reference):
        return (page.parent / link["reftarget"]).resolve()
    if link.get("refdomain") == "doc":  # MyST gives documents of another folder as absolute paths without an ending
        return (page.parent / f"{link['reftarget']}.md").resolve() if link["reftarget"].startswith("/") else None
    return None


def address(project: Path, target: Path, anchor: str = "") -> str:
    """Where a file of the project is on the web."""
    home = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
    kind = "tree" if target.is_dir() else "blob"
    return f"{home}/{kind}/main/{target.relative_to(project).as_posix()}{anchor}"


def redirect(app: Sphinx, doctree: nodes.document) -> None:
    """Replace links to files outside docs/, before Sphinx looks for them."""
    docs, depth = Path(app.srcdir).resolve(), app.env.docname.count("/")
    for link in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        target = target_of(link, Path(app.env.doc2path(app.env.docname)))
        if target is None or target.is_relative_to(docs):
            continue
        anchor = f"#{link['reftargetid']}" if link.get("reftargetid") else ""
        page = COPIED.get(target.relative_to(docs.parent).as_posix())
        if page:
            new = nodes.reference(refuri="../" * depth + page, internal=True)
        else:
            new = nodes.reference(refuri=address(docs.parent, target, anchor), internal=False)
        new += link.children
        link.replace_self(new)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", redirect, priority=100)
    return {"parallel_read_safe": True}
