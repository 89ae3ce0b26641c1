"""The documentation: it builds, its links lead somewhere, and its commands and code do what the pages say."""

import ast
import dataclasses
import inspect
import json
import re
import shlex
import sys
import typing
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib as mpl
import numpy as np
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
from privreg.estimators.dry_run import Check
from privreg.estimators.private_linear.planner import Plan
from privreg.privacy.ledger.lines import Entry
from privreg.privacy.ledger.status import Status
from privreg.privacy.receipt import Receipt
from privreg.results.summary import Summary

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
WITH_CODE = [page for page in [*sorted(ROOT.glob("*.md")), *PAGES] if blocks(page)]

# Pages that do not say yet how their code is checked. Empty this list; add nothing to it.
UNCHECKED: set[str] = set()

sys.path.insert(0, str(DOCS / "_ext"))
from command_help import walk  # noqa: E402
from plain_docstrings import PUBLIC, rewrite, signature  # noqa: E402

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


def run_block(block, names, page):
    if block.saved_as:
        Path(block.saved_as).write_text(block.text, encoding="utf-8")
    if block.is_run and block.language == "python":
        exec(compile(block.text, str(page), "exec"), names)
    if block.is_run and block.language == "console":
        for command, quoted in block.commands():
            run_command(command, quoted, block)


@pytest.fixture(scope="session")
def mothers(tmp_path_factory):
    """The table that the pages use."""
    file = tmp_path_factory.mktemp("mothers") / "mothers.csv"
    run_command(["privreg", "demo", "--data", str(file)], [], Block("", "console", ""))
    return file


def short(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_CODE, ids=short)
def test_code_on_the_page_runs(page, request, tmp_path, monkeypatch):
    """Commands by the real command, Python in one namespace, in the order of the page. `mothers.csv` is there."""
    if short(page) in UNCHECKED:
        pytest.skip("does not say yet how its code is checked")
    code = blocks(page)
    names = {}
    if any("mothers.csv" in block.text for block in code) and not any("demo --data" in block.text for block in code):
        (tmp_path / "mothers.csv").symlink_to(request.getfixturevalue("mothers"))
    monkeypatch.chdir(tmp_path)
    for block in code:
        run_block(block, names, page)


def test_code_that_is_not_run_says_why():
    faults = {
        f"{short(page)}: {fault}\n{block.text[:200]}"
        for page in WITH_CODE
        if short(page) not in UNCHECKED
        for block in blocks(page)
        if (fault := block.fault(page))
    }
    assert not faults, "\n".join(sorted(faults))


def test_a_block_that_nobody_checks_is_found(tmp_path):
    """The finder of blocks itself: each of these would slip through a simpler one."""
    page, missing = tmp_path / "page.md", "no_such_test.py"
    cases = {
        "```\nprivreg fit a.csv\n```": "does not say what it is",
        "```text\n$ privreg fit a.csv\n```": "in a block of text",
        "```console\nprivreg fit a.csv\n```": "begins with a $",
        "- a list\n\n  ```bash\n  ls\n  ```": "code in bash needs",
        "````{note}\n```sh\nls\n```\n````": "code in sh needs",
        "```{code-block} python\nprint(1)\n```": "needs",
        "~~~r\n1\n~~~": "code in r needs",
        "<!-- not run -->\n```python\n1\n```": "is not known",
        "<!-- numbers may vary -->\n```console\n$ privreg\n```": "is not known",
        f"<!-- run by tests/{missing} -->\n```r\n1\n```": "there is no",
        "<!-- run by tests/docs/test_howto_r.py -->\n```r\n1\n```": "does not name page.md",
    }
    for text, fault in cases.items():
        page.write_text(f"# Title\n\n{text}\n")
        (block,) = blocks(page)
        assert fault in block.fault(page), text
    page.write_text("<!-- setup\n$ privreg demo\nx = 1\n-->\n<!-- run: exit 3 -->\n```console\n$ privreg fit\n```\n")
    first, second, third = blocks(page)
    assert (first.language, second.text, third.exit_code) == ("console", "x = 1\n", 3)
    assert not any(block.fault(page) for block in (first, second, third))


def test_every_piece_of_python_parses():
    for page in WITH_CODE:
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
    assert {"report.html", "notebooks/mothers.html"} <= reached

    for path in site.rglob("*.html"):
        text = path.read_text()
        for word in (str(ROOT), str(Path.home()) + "/", "/tmp/", "TODO", "FIXME", "@-"):
            assert word not in text or path.name == "report.html", f"{path.name}: {word}"
    commands = (site / "cli.html").read_text()
    for _, context in walk(typer.main.get_command(app), "privreg"):
        assert f'id="{context.command_path.replace(" ", "-")}"' in commands
    for api in map(Path.read_text, (site / "api").glob("*.html")):
        assert "set_fit_request" not in api
        assert "----" not in re.sub(r"<!--.*?-->", "", api, flags=re.DOTALL)


def show(page, site, path):
    """Open the page of a source file, and wait until its formulas are typeset."""
    page.goto((site / path.relative_to(DOCS).with_suffix(".html")).as_uri())
    page.evaluate("window.MathJax?.startup.promise")


NOTEBOOK = DOCS / "notebooks" / "mothers.ipynb"
WRONG = "[data-mml-node=merror], mjx-merror, mjx-container [fill=red]"  # red: a command MathJax does not know


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a page is once its formulas are typeset."""

    width: int
    formulas: int
    wrong: int
    asked: list[str]
    complaints: list[str]


@pytest.fixture(scope="module")
def shown(site):
    """Every page as an offline phone shows it, by its source; each is opened once."""
    asked, complaints, found = [], [], {}
    with chromium() as browser:
        window = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme="dark", offline=True)
        page = window.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for path in [*PAGES, NOTEBOOK]:
            asked.clear()
            complaints.clear()
            show(page, site, path)
            width = page.evaluate("document.documentElement.scrollWidth")
            counts = [page.locator(what).count() for what in ("mjx-container", WRONG)]
            found[path] = Shown(width, *counts, [*asked], [*complaints])
        window.close()
    return found


def test_pages_fit_a_phone(shown):
    assert {path.name: page.width for path, page in shown.items() if page.width > 400} == {}


# ---- formulas

_FORMULA = re.compile(r"(?<![\\$])(\$\$?)(?!\$)(.+?)(?<![\\$])\1(?!\$)", re.DOTALL)


def prose(page):
    """The text of a page without its code, in which a dollar is a dollar."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`", "`", text)


WITH_FORMULAS = [path for path in PAGES if _FORMULA.search(prose(path))]


def test_formulas_are_typeset_without_a_network(site, shown):
    """From files alone: every formula is drawn, none is an error, and pages without any do not load MathJax."""
    assert WITH_FORMULAS
    for path in PAGES:
        page, formulas = shown[path], len(_FORMULA.findall(prose(path)))
        assert page.formulas == formulas, path.name
        assert page.wrong == 0, path.name
        assert any("/tex-svg.js" in url for url in page.asked) == (formulas > 0), path.name
        assert all(url.startswith((site.as_uri(), "data:")) for url in page.asked), page.asked
        assert page.complaints == [], path.name
    unbroken = r'<span class="unbroken"><span class="math[^>]*>\\\([^<]+\\\)</span>-DP</span>'
    assert re.search(unbroken, (site / "proofs" / "gdp.html").read_text())


@pytest.mark.parametrize("path", WITH_FORMULAS, ids=lambda path: path.stem)
def test_formulas_are_what_code_hosts_can_show_too(path):
    """Their Markdown takes backslashes before signs away, and wants room around dollars; some macros are refused."""
    text = prose(path)
    for found in _FORMULA.finditer(text):
        (dollars, formula), before, after = found.groups(), text[: found.start()][-1:], text[found.end() :][:1]
        assert not re.search(r"\\[^A-Za-z\s]|\\operatorname|\]\(|<\w", formula), formula
        if dollars == "$":
            assert formula == formula.strip(), formula
            assert before.isspace() or before in "(" or before == "", formula
            assert not after.isalnum(), formula
        else:
            assert re.fullmatch(r"\n.*\n *", formula, re.DOTALL), formula
            assert re.search(r"\n *\n *$", text[: found.start()]), formula
            assert re.match(r" *\n *(\n|$)", text[found.end() :]), formula


# ---- names, pictures, citation


def test_every_public_name_is_explained_once_and_listed_once():
    assert set(privreg.__all__) < set(PUBLIC)
    pages = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    explained = re.findall(r"^\.\. (?:auto|py:)\w+:: (privreg\.[\w.]+)$", pages, re.MULTILINE)
    assert sorted(explained) == sorted(PUBLIC.values())
    listed = "".join(re.findall(r"```\{names\}\n(.*?)```", (DOCS / "api.md").read_text(), re.DOTALL)).split()
    assert sorted(listed) == sorted(PUBLIC)
    for name in PUBLIC.values():
        home, _, last = name.rpartition(".")
        thing = getattr(import_module(home), last)
        assert inspect.getdoc(thing), name
        for method, member in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(member) and not method.startswith("_"):
                assert member.__doc__, f"{name}.{method}"


def test_docstrings_become_definition_lists():
    docstring = ["Of |x| and coef_.", "", "Parameters", "----------", "a, b : the *first*, see `fit`"]
    docstring += ["c : Ledger or None, default None", "    Of `|x|`, see `Ledger`.", "", "Raises", "------"]
    docstring += [
        "BudgetError",
        "    If `epsilon` is too large.",
        "",
        "Examples",
        "--------",
        ">>> f(x_) | `y`",
        "*z*",
        "",
    ]
    assert rewrite([*docstring, "Proof: docs/proofs/peel.md, tests/mechanisms/test_peel.py."]) == [
        "Of \\|x\\| and coef\\_.",
        "",
        ".. rubric:: Parameters",
        "",
        "``a``, ``b``",
        "    the \\*first\\*, see :py:obj:`fit <fit>`",
        "``c`` : :py:obj:`Ledger <privreg.Ledger>` or None, default None",
        "    Of ``|x|``, see :py:obj:`Ledger <privreg.Ledger>`.",
        "",
        ".. rubric:: Raises",
        "",
        ":py:obj:`BudgetError <privreg.BudgetError>`",
        "    If :py:obj:`epsilon <epsilon>` is too large.",
        "",
        ".. rubric:: Examples",
        "",
        ">>> f(x_) | `y`",
        "*z*",
        "",
        "Proof: :doc:`/proofs/peel`, ``tests/mechanisms/test_peel.py``.",
    ]


def test_signatures_have_types_unless_they_are_listed_below():
    def listed(X: np.ndarray, k: int = 5) -> bool:
        """Words.

        Parameters
        ----------
        k : int, default 5
        """

    def unlisted(X: typing.Any, k: int = 5) -> typing.Any:
        """Words."""

    assert signature(None, "function", "", listed, None, "(…)", "") == ("(X, k=5)", "bool")
    assert signature(None, "function", "", unlisted, None, "(…)", "") == ("(X, k: int = 5)", "")


def test_what_you_get_back_has_what_the_page_says():
    rows = re.findall(r"^\| (\w+) \| `.*?` \| (.*) \|$", (DOCS / "api" / "models.md").read_text(), re.MULTILINE)
    kinds = {"receipt": Receipt, "summary": Summary, "check": Check, "plan": Plan, "status": Status, "entry": Entry}
    assert [name for name, _ in rows] == list(kinds)
    for name, words in rows:
        kind, words = kinds[name], words.split("each with")[0] + words.partition("`parameters`; ")[2]
        fields = {field.name for field in dataclasses.fields(kind)}
        for attribute in set(re.findall(r"`(\w+)(?:\(\))?`", words)) - {"False"}:
            assert attribute in fields or hasattr(kind, attribute), f"{name}.{attribute}"


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
