"""The README and the documentation say what the committed files say."""

import json
import re
import tomllib

import readme
from places import ROOT
from privreg.paper.results import load
from privreg.paper.tables import as_csv, grids
from privreg.report.document import Section, markdown_section


def test_tables_agree_with_the_files_that_scripts_wrote():
    marked = []
    for page in readme.PAGES:
        text = (ROOT / page).read_text()
        assert readme.render(text) == text, page
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({line.count("|") for line in table.splitlines()}) == 1, table
        marked += re.findall(r"<!-- ([\w ]+): written by benchmarks/readme\.py", text)
    assert sorted(marked) == sorted(readme.TABLES)


def test_the_papers_results_agree_with_their_trials():
    """summary.json, the tables and the pages are what the committed trials give."""
    for folder in (ROOT / "results" / "paper", ROOT / "results" / "paper-as-published"):
        results = load(folder)
        assert json.loads((folder / "summary.json").read_text()) == json.loads(json.dumps(results.summary()))
        for k in results.ks:
            assert (folder / f"tables_k{k}.csv").read_text() == as_csv(results, k)
            for grid in grids(results, k):
                section = markdown_section(Section("", [grid]))
                assert section.partition("\n\n")[2] in (folder / "report.md").read_text() + "\n"
    run = load(ROOT / "results" / "paper").runs[0]
    assert (run["trials"], run["k"], run["jitter"]) == (10, [5, 10], False)
    assert len(run["methods"]) == 9
    assert [info["kind"] for info in run["data sets"].values()].count("complete") == 17


def test_links_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("https://"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_proofs_and_tests_that_are_named_exist():
    named = set()
    for folder in ("src", "audit", "benchmarks", "docs", "tests"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".md"):
                named |= set(re.findall(r"\b(?:docs/proofs|tests)/[\w/]+\.(?:md|py)", file.read_text()))
    assert {"docs/proofs/kendall.md", "docs/proofs/count.md", "tests/mechanisms/test_median.py"} <= named
    for path in named:
        assert (ROOT / path).is_file(), path


def test_links_work_on_a_package_index_too():
    """There the README has no folder around it: every link and picture is an address of a file that the project has."""
    text = (ROOT / "README.md").read_text()
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]
    for rule in hook["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert sum(link.endswith((".png", ".svg")) for link in links) == 2
    for link in links:
        found = re.fullmatch(
            r"https://(?:raw\.githubusercontent\.com|github\.com)/privreg/privreg/(?:blob/)?main/(.*)", link
        )
        assert found is None or (ROOT / found[1].partition("#")[0]).is_file(), link
        assert found or link.startswith("https://opendp.org"), link


def test_a_stranger_needs_a_minute():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120
