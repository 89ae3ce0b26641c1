"""Colours and type of the site, from those of the package: furo's variables, code, the mark, and pictures on white."""

from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.style import Style
from pygments.token import Comment, Error, Generic, Keyword, Name, Number, Operator, Punctuation, String, Token
from sphinx.application import Sphinx

from privreg._theme import DARK, LIGHT, MONO, SANS, root_style

# A line through records, one of which may be there or not.
MARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">{style}'
    '<rect width="32" height="32" rx="7" fill="var(--accent)"/>'
    '<g fill="var(--paper)"><circle cx="7.5" cy="17.5" r="2.7"/><circle cx="14.5" cy="24" r="2.7"/>'
    '<circle cx="17" cy="9.5" r="2.7"/></g>'
    '<g fill="none" stroke="var(--paper)" stroke-linecap="round"><path stroke-width="2.4" d="M5 25 27 8.5"/>'
    '<circle stroke-width="1.8" cx="25" cy="18.5" r="2.9"/></g></svg>'
)


def faint(colour: str, share: int = 12) -> str:
    """The colour as a background, on which text can still be read."""
    return f"color-mix(in srgb, {colour} {share}%, transparent)"


def furo(colours: dict[str, str]) -> dict[str, str]:
    """What furo calls our colours. Their own names are there too, for _static/privreg.css."""
    own = {
        "font-stack": SANS,
        "font-stack--monospace": MONO,
        "color-foreground-primary": "var(--ink)",
        "color-foreground-secondary": "var(--soft)",
        "color-foreground-muted": "var(--soft)",
        "color-foreground-border": "var(--soft)",
        "color-background-primary": "var(--paper)",
        "color-background-secondary": "var(--shade)",
        "color-background-hover": "var(--shade)",
        "color-background-hover--transparent": "transparent",
        "color-background-border": "var(--line)",
        "color-background-item": "var(--line)",
        "color-brand-primary": "var(--accent)",
        "color-brand-content": "var(--accent)",
        "color-brand-visited": "var(--accent)",
        "color-link-underline": faint("var(--accent)", 45),
        "color-link-underline--hover": "var(--accent)",
        "color-link-underline--visited": faint("var(--accent)", 45),
        "color-link-underline--visited--hover": "var(--accent)",
        "color-problematic": "var(--bad)",
        "color-api-name": "var(--accent)",
        "color-api-pre-name": "var(--soft)",
        "color-api-keyword": "var(--soft)",
        "color-highlight-on-target": faint("var(--care)", 14),
        "color-highlighted-background": faint("var(--care)", 20),
        "color-admonition-background": "var(--shade)",
        "color-sidebar-link-text--top-level": "var(--ink)",
    }
    kinds = {"accent": ("note", "seealso", "important"), "good": ("hint", "tip"), "care": ("caution", "warning")}
    for colour, names in {**kinds, "bad": ("danger", "attention", "error")}.items():
        for name in names:
            own[f"color-admonition-title--{name}"] = f"var(--{colour})"
            own[f"color-admonition-title-background--{name}"] = faint(f"var(--{colour})")
    return {**colours, **own}


def _code(colours: dict[str, str]) -> dict[Any, str]:
    return {
        Token: colours["ink"],
        Comment: f"italic {colours['soft']}",
        Keyword: colours["accent"],
        Name.Builtin: colours["accent"],
        Name.Function: colours["series4"],
        Name.Class: colours["series4"],
        Name.Decorator: colours["series4"],
        Name.Tag: colours["accent"],
        Number: colours["series2"],
        String: colours["good"],
        Operator: colours["soft"],
        Punctuation: colours["soft"],
        Generic.Prompt: f"bold {colours['soft']}",
        Generic.Output: colours["soft"],
        Error: colours["bad"],
    }


class LightCode(Style):
    background_color = LIGHT["shade"]
    styles = _code(LIGHT)


class DarkCode(Style):
    background_color = DARK["shade"]
    styles = _code(DARK)


def draws_its_own_background(picture: Path) -> bool:
    """Whether a picture can stand on a dark page: photographs, terminals, and charts that turn dark with the page."""
    if picture.suffix != ".svg":
        return True
    text = picture.read_text("utf-8")
    return "var(--" in text or 'class="rich-terminal"' in text


def mark_pictures(app: Sphinx, doctree: nodes.document, _docname: str) -> None:
    """Give the other pictures a class: they get a white card."""
    for image in doctree.findall(nodes.image):
        file = Path(app.srcdir) / image["uri"]
        if file.is_file() and not draws_its_own_background(file):
            image["classes"].append("on-white")


def description(doctree: nodes.document) -> str:
    """What search engines show of a page: its first paragraph that says something."""
    paragraphs = (each for each in doctree.findall(nodes.paragraph) if isinstance(each.parent, nodes.section))
    text = next((" ".join(each.astext().split()) for each in paragraphs if len(each.astext()) >= 40), "")
    return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"


def describe(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Facts about a page that its head shows."""
    if doctree is not None:
        context["description"] = description(doctree) or f"{context['title']}: privreg's documentation"
    context["favicon_url"] = context["pathto"]("_static/favicon.svg", 1)
    context["mark"] = MARK.format(style="")


def write_mark(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "_static" / "favicon.svg").write_text(
            MARK.format(style=f"<style>{root_style('svg')}</style>")
        )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", mark_pictures)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_mark)
    return {"parallel_read_safe": True}
