"""The documentation: it builds, its links lead somewhere, and its commands and code do what the pages say."""

import ast
import inspect
import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib as mpl
import pytest
import typer
import yaml
from typer.testing import CliRunner

import pictures
import privreg
from browser import chromium
from pages import Block, blocks, joined
from places import ROOT
from privreg.cli.app import app

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
HOWTO = [*sorted((DOCS / "howto").glob("*.md")), DOCS / "tables.md"]

sys.path.insert(0, str(DOCS / "_ext"))
from command_help import walk  # noqa: E402
from plain_docstrings import rewrite  # noqa: E402

# ---- commands and code


def comparable(line, noisy):
    """A line without what depends on the width of columns, and without numbers if they may differ."""
    line = " ".join(line.replace("─", " ").split())
    return re.sub(r"(< )?[-−+]?\d[\d,.]*(e[-+]?\d+)?%?|\binf\b|\bnan\b", "#", line) if noisy else line


def run_command(command, quoted, block):
    """In this process: the pages are about what the command says, not about how long Python takes to start."""
    assert command[0] == "privreg", command
    done = CliRunner().invoke(app, command[1:], prog_name="privreg", env={"COLUMNS": "100"})
    output = done.stdout + done.stderr
    assert done.exit_code == block.exit_code, f"{shlex.join(command)}\n{output}"
    assert done.exception is None or isinstance(done.exception, SystemExit)
    got = {""} | {comparable(line, block.noisy) for line in output.splitlines()}
    for line in filter(str.strip, quoted):
        assert comparable(line, block.noisy) in got, f"{shlex.join(command)}\nquoted: {line}\n{output}"


def run_blocks(page, folder, monkeypatch, wanted):
    """Commands by the real command, Python in one namespace, in the order of the page."""
    monkeypatch.chdir(folder)
    names = {}
    for block in filter(wanted, blocks(page)):
        if block.language == "python":
            exec(compile(block.text, str(page), "exec"), names)
        else:
            assert block.language == "console", block.text
            for command, quoted in block.commands():
                run_command(command, quoted, block)


@pytest.fixture(scope="session")
def mothers(tmp_path_factory):
    """The table that the pages use."""
    file = tmp_path_factory.mktemp("mothers") / "mothers.csv"
    run_command(["privreg", "demo", "--data", str(file)], [], Block("", "console", ""))
    return file


def test_the_tutorial_runs(tmp_path, monkeypatch):
    run_blocks(DOCS / "tutorial.md", tmp_path, monkeypatch, lambda block: block.language in ("console", "python"))


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_marked_examples_of_how_to_pages_run(page, request, tmp_path, monkeypatch):
    marked = [block for block in blocks(page) if block.mark.startswith("run")]
    if any("mothers.csv" in block.text for block in marked):
        (tmp_path / "mothers.csv").symlink_to(request.getfixturevalue("mothers"))
    run_blocks(page, tmp_path, monkeypatch, lambda block: block.mark.startswith("run"))


def test_every_piece_of_python_parses():
    for page in [ROOT / "README.md", *PAGES]:
        for block in blocks(page):
            if block.language == "python":
                ast.parse(block.text)
            if block.language == "json":
                json.loads(block.text)


def quoted_commands(page):
    """Command lines in blocks of any kind; in those of console type they begin with a dollar."""
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        begin = "$ privreg " if language == "console" else "privreg "
        for line in joined(text).splitlines():
            if line.startswith(begin):
                yield shlex.split(line.removeprefix("$ "), comments=True)


def test_every_quoted_command_has_the_options_that_it_is_given():
    known = {context.command_path: command for command, context in walk(typer.main.get_command(app), "privreg")}
    quoted = [words for page in [ROOT / "README.md", *PAGES] for words in quoted_commands(page)]
    assert len(quoted) > 15
    for words in quoted:
        name = max((name for name in known if words[: len(name.split())] == name.split()), key=len)
        options = {opt for parameter in known[name].params for opt in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= options, words
        assert not hasattr(known[name], "commands") or words[1:] == ["--version"], words


# ---- the site


class Page(HTMLParser):
    """Where a page's links lead, and the places in it that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id", ""))
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-d", str(out / "doctrees"), "-b", "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(out / "html")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


def follow(site, pages, name):
    """The pages that a page links to. Every link must lead to a file, and to a place in it."""
    found = set()
    for link in pages[name].links:
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in ("https", "data", "mailto"), link
            continue
        target = (site / name).parent / unquote(parts.path) if parts.path else site / name
        target = target.resolve()
        assert target.is_file(), f"{name}: {link}"
        other = target.relative_to(site).as_posix()
        if other in pages:
            assert unquote(parts.fragment) in pages[other].ids, f"{name}: {link}"
            found.add(other)
    return found


def test_the_site_builds_and_every_page_is_reached_by_links_that_lead_somewhere(site):
    pages = {path.relative_to(site).as_posix(): Page(path.read_text()) for path in site.rglob("*.html")}
    reached, open_pages = set(), {"index.html"}
    while open_pages:
        name = open_pages.pop()
        reached.add(name)
        open_pages |= follow(site, pages, name) - reached
    assert {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in PAGES} <= reached
    assert "report.html" in reached

    for path in site.rglob("*.html"):
        text = path.read_text()
        for word in (str(ROOT), str(Path.home()) + "/", "/tmp/", "TODO", "FIXME", "@-"):
            assert word not in text or path.name == "report.html", f"{path.name}: {word}"
    commands = (site / "cli.html").read_text()
    for _, context in walk(typer.main.get_command(app), "privreg"):
        assert f'id="{context.command_path.replace(" ", "-")}"' in commands
    api = (site / "api.html").read_text()
    assert "set_fit_request" not in api
    assert "----" not in re.sub(r"<!--.*?-->", "", api, flags=re.DOTALL)


def test_pages_fit_a_phone(site):
    with chromium() as browser:
        window = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme="dark", offline=True)
        page = window.new_page()
        for path in PAGES:
            page.goto((site / path.relative_to(DOCS).with_suffix(".html")).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, path.name
        window.close()


# ---- names, pictures, citation


def test_every_public_name_is_on_the_page_and_has_a_docstring():
    from privreg.kendall import kendall_scores
    from privreg.paper import METHODS, make_method

    listed = re.findall(r"^\.\. (?:auto|py:)\w+:: privreg\.([\w.]+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    expected = {*privreg.__all__, "kendall.kendall_scores", "paper.make_method", "paper.METHODS"}
    assert sorted(listed) == sorted(expected)
    assert METHODS
    for thing in [getattr(privreg, name) for name in privreg.__all__] + [kendall_scores, make_method]:
        assert thing.__doc__, thing
        for name, member in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(member) and not name.startswith("_"):
                assert member.__doc__, f"{thing.__name__}.{name}"


def test_docstrings_become_definition_lists():
    docstring = ["Of |x| and coef_.", "", "Parameters", "----------", "a, b : the *first*, see `fit`", "    of both."]
    assert rewrite([*docstring, "", "Proof: docs/proofs/peel.md, tests/mechanisms/test_peel.py."]) == [
        "Of \\|x\\| and coef\\_.",
        "",
        ".. rubric:: Parameters",
        "",
        "``a``, ``b``",
        "    the \\*first\\*, see ``fit``",
        "    of both.",
        "",
        "Proof: :doc:`/proofs/peel`, ``tests/mechanisms/test_peel.py``.",
    ]


def test_pictures_show_what_the_code_computes():
    named = {name for page in PAGES for name in re.findall(r"\(\S*pictures/(\w+)\.svg\)", page.read_text())}
    assert named == set(pictures.PICTURES)
    written = json.loads((pictures.FOLDER / "numbers.json").read_text())
    assert set(written) == {*named, "matplotlib"}
    for name in ("spread", "budget"):
        compute, _ = pictures.PICTURES[name]
        assert pictures.rounded(compute()) == alike(written[name]), name
    for name in ("noise", "phases"):
        once = pictures.PICTURES[name][0](trials=1)
        assert set(once) == set(written[name])
    for name, (_, draw) in pictures.PICTURES.items():
        picture = pictures.svg(draw, written[name])
        if written["matplotlib"] == mpl.__version__:
            assert picture == (pictures.FOLDER / f"{name}.svg").read_bytes()


def alike(value):
    """Numbers that may differ in the last of their digits."""
    if isinstance(value, dict):
        return {key: alike(item) for key, item in value.items()}
    if isinstance(value, list):
        return [alike(item) for item in value]
    return pytest.approx(value, rel=1e-4) if isinstance(value, float) else value


def test_the_citation_is_complete():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license", "type"} <= set(citation)
    assert (citation["title"], citation["version"]) == ("privreg", privreg.__version__)
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Dick", "Gillenwater", "Joseph"]
    assert paper["year"] == 2023
