"""Pictures of what people see, and facts about the pages, measured with Chromium. Writes docs/looks/.

`make looks`. A fit is run as a user would, the documentation is built, and each page is opened offline in a real
browser. Every picture is reduced to a palette, so that all of them together stay small.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "looks"
COLOURS = 96  # of a picture
DESKTOP, PHONE, PAPER = (1366, 900), (390, 844), (794, 1123)  # paper: A4; a narrower one is laid out as for a phone
FIT = "fit mothers.csv --target labinc --epsilon 1 --delta 1e-6 --ledger budget.db --dataset mothers"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as name, chromium() as browser:
        work = Path(name)
        report = fitted(work)
        for scheme in ("light", "dark"):
            shoot(browser, report, f"report-{scheme}", (930, 900), scheme, whole=False)
        shoot(browser, report, "report-desktop", DESKTOP)
        shoot(browser, report, "report-phone", PHONE)
        shoot(browser, report, "report-print", PAPER, media="print")
        for columns in (60, 100):
            (FOLDER / f"terminal-{columns}.svg").write_text(terminal(work, columns))

        site = built(work / "site")  # after the pictures that stand on its pages
        pages = {
            "report of a fit": report,
            "report on the paper": ROOT / "results" / "paper" / "report.html",
            "documentation: landing page": site / "index.html",
            "documentation: tutorial": site / "tutorial.html",
            "documentation: a proof": site / "proofs" / "moments.html",
            "documentation: reference": site / "api" / "regression.html",
            "documentation: notebook": site / "notebooks" / "mothers.html",
        }
        shoot(browser, pages["documentation: landing page"], "docs", DESKTOP, whole=False)
        shoot(browser, pages["documentation: notebook"], "notebook", DESKTOP, whole=False, scroll="#fit")
        facts = {title: measure(browser, page) for title, page in pages.items()}
        (FOLDER / "facts.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        sys.exit("no Chromium on this machine: run `make browser`")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to run as root with its sandbox
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=root)
        yield browser
        browser.close()


def privreg(work: Path, command: str, **environment: str) -> str:
    """What a command prints."""
    run = [sys.executable, "-m", "privreg", *command.split()]
    done = subprocess.run(run, cwd=work, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout


def fitted(work: Path) -> Path:
    """The report of a fit with a ledger."""
    privreg(work, "demo --data mothers.csv")
    privreg(work, "ledger create budget.db --dataset mothers --epsilon 3 --delta 1e-5")
    privreg(work, f"{FIT} --out model.json --report report.html")
    return work / "report.html"


def built(site: Path) -> Path:
    """The documentation as a folder of pages."""
    options = ["-q", "-d", str(site / "doctrees"), "-b", "html", str(ROOT / "docs"), str(site / "html")]
    subprocess.run([sys.executable, "-m", "sphinx", *options], check=True)
    return site / "html"


@contextmanager
def window(browser: Browser, size: tuple[int, int], scheme: Any = "light") -> Iterator[Page]:
    """A window that is offline."""
    viewport: Any = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, offline=True)
    page = context.new_page()
    yield page
    context.close()


def measure(browser: Browser, file: Path) -> dict[str, int]:
    """Bytes, requests, complaints, violations of accessibility rules, and whether it fits a phone."""
    asked: list[str] = []
    complaints: list[str] = []
    facts: dict[str, int] = {}
    with window(browser, DESKTOP) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri(), wait_until="networkidle")
        own = {url for url in asked if url.startswith("file:")}
        facts["bytes"] = sum(Path(re.sub(r"[?#].*", "", url.removeprefix("file://"))).stat().st_size for url in own)
        facts["requests"] = len(own)
        facts["requests to other hosts"] = sum(not url.startswith(("file:", "data:", "blob:")) for url in asked)
        facts["console errors"] = len(complaints)
        facts["printed pages"] = len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format="A4")))
    for scheme in ("light", "dark"):
        with window(browser, DESKTOP, scheme) as page:
            page.goto(file.as_uri(), wait_until="networkidle")
            facts[f"axe violations, {scheme}"] = Axe().run(page).violations_count
    with window(browser, PHONE) as page:
        page.goto(file.as_uri(), wait_until="networkidle")
        facts["wider than a phone, pixels"] = page.evaluate("document.documentElement.scrollWidth") - PHONE[0]
    return facts


def shoot(
    browser: Browser,
    file: Path,
    name: str,
    size: tuple[int, int],
    scheme: str = "light",
    *,
    media: Any = "screen",
    whole: bool = True,
    scroll: str = "",
) -> None:
    """A picture of a page as PNG: whole, or what a window of this size shows."""
    with window(browser, size, scheme) as page:
        page.emulate_media(media=media, color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(file.as_uri(), wait_until="networkidle")
        if scroll:
            page.locator(scroll).first.evaluate("e => e.scrollIntoView()")
        shot = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    shot.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        FOLDER / f"{name}.png", optimize=True
    )


def terminal(work: Path, columns: int) -> str:
    """What a fit prints on a terminal so wide, as SVG without the web font that rich would link to."""
    command = f"{FIT} --out model-{columns}.json"
    printed = privreg(work, command, COLUMNS=str(columns), FORCE_COLOR="1", TERM="xterm-256color")
    out = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, highlight=False)
    out.print(Text.from_ansi(printed))
    svg = out.export_svg(title=f"{columns} columns", unique_id=f"terminal{columns}")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")


if __name__ == "__main__":
    main()
