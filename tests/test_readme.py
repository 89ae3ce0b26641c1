"""The README says what the committed files say."""

import re
from pathlib import Path

import readme

ROOT = Path(__file__).resolve().parents[1]


def test_tables_agree_with_the_files_that_scripts_wrote():
    text = (ROOT / "README.md").read_text()
    assert readme.render(text) == text


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("https://"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_docstrings_name_proofs_and_checks_that_exist():
    named = set()
    for source in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r"(?:docs/proofs|tests)/\w+\.(?:md|py)", source.read_text()))
    assert {"docs/proofs/kendall.md", "docs/proofs/sublasso.md", "docs/proofs/peel.md", "docs/proofs/count.md"} <= named
    for path in named:
        assert (ROOT / path).is_file(), path


def test_the_python_example_runs(rng):
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    X = rng.normal(size=(200, 8))
    exec(example, {"X": X, "y": X[:, 0]})
