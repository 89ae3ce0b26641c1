"""The example notebook: it runs, its outputs are those of today's code, and the site shows them."""

import json
import re
import sys
import warnings

import nbformat
import pytest

import example_notebook as example
from places import ROOT
from privreg._notebook import _style

sys.path.insert(0, str(ROOT / "docs" / "_ext"))
from notebooks import markdown

SOURCE = example.NOTEBOOK.read_text("utf-8")


@pytest.fixture(scope="module")
def fresh():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Jupyter's own libraries; what cells warn of is in their outputs
        return example.executed(example.read())


def test_it_runs_and_gives_what_is_committed(fresh):
    """The same cells and kinds of output; noise makes the numbers differ."""
    assert example.structure(fresh) == example.structure(example.read())


def test_nothing_in_it_changes_by_itself(fresh):
    """Neither in the committed file nor in a new one: no times, no versions, no warnings, no folders."""
    nbformat.validate(example.read())
    for text in (SOURCE, nbformat.writes(fresh)):
        content = json.loads(text)
        assert content["metadata"] == {"kernelspec": example.KERNEL, "language_info": {"name": "python"}}
        for cell in content["cells"]:
            assert cell["metadata"] == {}
            for output in cell.get("outputs", ()):
                assert output["output_type"] in ("display_data", "execute_result")  # neither errors nor warnings
                assert output["metadata"] == {}
                told = "".join("".join(output["data"].get(kind, "")) for kind in ("text/plain", "text/html"))
                assert not re.search(r"(?<![<\w])/\w+/|\\\\|[A-Z]:\\|Warning|0x[0-9a-f]{6}", told)
    assert nbformat.writes(nbformat.reads(SOURCE, 4)) + "\n" == SOURCE


def test_cards_have_the_style_of_today():
    """If not, run `make notebook`."""
    pages = [
        "".join(o.data["text/html"])
        for c in example.read().cells
        for o in c.get("outputs", ())
        if "text/html" in o.data
    ]
    cards = [page for page in pages if 'class="privreg"' in page]
    assert len(cards) >= 6
    assert all(_style() in page for page in cards)


def test_every_kind_of_card_is_in_it():
    titles = " ".join(kind for _, _, *kinds in example.structure(example.read()) for kind in kinds)
    for title in (
        "What to expect",
        "Ledger budget.db",
        "labinc: PrivateLinearRegression",
        "Privacy receipt",
        "image/png",
    ):
        assert title in titles


def test_the_page_has_text_code_and_outputs():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
        {
            "cell_type": "code",
            "source": ["f()"],
            "outputs": [{"data": {"text/plain": ["<1>"], "text/html": "<b>1</b>\n\n"}}],
        },
        {"cell_type": "code", "source": "g()", "outputs": [{"data": {"text/plain": ["<2>"]}}, {"text": ["<3>"]}]},
        {
            "cell_type": "code",
            "source": "h()",
            "outputs": [{"data": {"image/png": "AAAA\n", "text/plain": ["figure"]}}],
        },
    ]
    page = markdown({"cells": cells}, "name.ipynb")
    assert page.startswith("# Title\n\nThis page is a notebook: {download}`download it <name.ipynb>`")
    assert page.index("Text.") < page.index("f()") < page.index("<b>1</b>") < page.index("g()")
    assert "<pre>&lt;2&gt;</pre>" in page
    assert "<pre>&lt;3&gt;</pre>" in page
    assert 'src="data:image/png;base64,AAAA">' in page
    assert "&lt;1&gt;" not in page
    assert "figure" not in page
