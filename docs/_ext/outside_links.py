"""Links that lead out of docs/: they work where the repository is looked at, and are plain text in the site.

The report of the paper's evaluation is a page of its own, which is copied into the site (html_extra_path).
"""

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


def loosen(app: Sphinx, doctree: nodes.document) -> None:
    """Replace links to files outside docs/, before Sphinx looks for them."""
    docs, depth = Path(app.srcdir).resolve(), app.env.docname.count("/")
    for link in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        target = target_of(link, Path(app.env.doc2path(app.env.docname)))
        if target is None or target.is_relative_to(docs):
            continue
        page = COPIED.get(target.relative_to(docs.parent).as_posix())
        new = nodes.reference(refuri="../" * depth + page, internal=True) if page else nodes.inline()
        new += link.children
        link.replace_self(new)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", loosen, priority=100)
    return {"parallel_read_safe": True}
