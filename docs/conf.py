"""How Sphinx makes the documentation: `make docs`. What is special about it is in _ext/."""

import sys
from pathlib import Path

from privreg import __version__

sys.path.insert(0, str(Path(__file__).resolve().parent / "_ext"))

project = "privreg"
author = "The privreg authors"
copyright = f"{author}, Apache-2.0"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "outside_links", "plain_docstrings", "command_help"]
myst_enable_extensions = ["deflist"]
exclude_patterns = ["_build"]
smartquotes = False  # "…" is also what JSON is written with

myst_heading_anchors = 3  # links to headings, as on code hosts
html_extra_path = ["../results/paper/report.html"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # what a parameter is stands in words beside it
maximum_signature_line_length = 60

html_theme = "furo"
html_title = f"privreg {release}"
html_static_path = ["_static"]
html_css_files = ["privreg.css"]
html_copy_source = False
html_show_sphinx = False
