"""How Sphinx makes the documentation: `make docs`. What is special about it is in _ext/."""

import sys
from pathlib import Path

from privreg import __version__
from privreg._theme import DARK, LIGHT

EXTENSIONS = Path(__file__).resolve().parent / "_ext"
sys.path.insert(0, str(EXTENSIONS))
from look import furo  # noqa: E402

project = "privreg"
author = "The privreg authors"
copyright = f"{author}, Apache-2.0"
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "look",
    "outside_links",
    "plain_docstrings",
    "name_tables",
    "command_help",
    "unbroken_formulas",
    "notebooks",
]
myst_enable_extensions = ["deflist", "dollarmath", "amsmath"]
exclude_patterns = ["_build"]
smartquotes = False  # "…" is also what JSON is written with

myst_heading_anchors = 3  # links to headings, as on code hosts
html_extra_path = ["../results/paper/report.html"]

# Formulas: $…$ and $$…$$ as on GitHub, where a dollar beside a space or a digit is a dollar. MathJax is part of the
# site, which asks no other host for anything and works from a folder without a network. It is one file, es5/tex-svg.js
# of the npm package mathjax 3.2.2, unchanged (Apache-2.0; its licence lies beside it), with every glyph inside.
# Not MathJax 4: it fetches glyphs and a worker while it runs, which fails from a folder. Not the package
# sphinx-mathjax-offline (0.0.2): the same MathJax with all its parts and fonts, 24 MB. Sphinx loads the file only on
# pages with formulas. Its menu is off, because some choices there would fetch from a network.
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
mathjax_path = "vendor/mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"scale": 0.93}}

autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_theme_options = {
    "light_css_variables": furo(LIGHT),
    "dark_css_variables": furo(DARK),
    "top_of_page_buttons": [],
}
pygments_style = "look.LightCode"
pygments_dark_style = "look.DarkCode"
html_title = f"privreg {release}"
html_static_path = ["_static"]
html_css_files = ["privreg.css", "math.css"]
html_js_files = ["privreg.js"]
html_search_scorer = str(EXTENSIONS / "scorer.js")
templates_path = ["_templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
