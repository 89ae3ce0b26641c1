"""The site as people meet it: in a browser without a network, light or dark, by keyboard or screen reader, on paper."""

import io
import re
from contextlib import contextmanager

import pytest
from PIL import Image

from browser import axe, chromium
from places import ROOT
from privreg._theme import DARK, LIGHT, follow_the_reader

DOCS = ROOT / "docs"
DESKTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}


@contextmanager
def window(size=DESKTOP, scheme="light"):
    """A page that is offline. Complaints, and requests that leave the folder, fail the test."""
    with chromium() as browser:
        context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
        context.set_default_timeout(10_000)
        page = context.new_page()
        asked, complaints = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []


def test_pages_need_no_network_and_say_what_they_are(site):
    with window() as page:
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            if path.name in ("report.html", "genindex.html", "search.html"):
                continue
            assert "privreg" in page.title()
            described = page.locator("meta[name=description]").get_attribute("content")
            assert 20 < len(described) < 220, path.name
            icon = page.locator("link[rel~=icon]").get_attribute("href")
            assert (path.parent / icon.partition("?")[0]).is_file()
            assert page.locator(".content-icon-container a").count() == 0  # neither "edit" nor "view source"
            assert page.locator(".next-page, .prev-page").count() > 0


def test_search_works_in_a_folder_without_a_network(site):
    with window() as page:
        page.goto((site / "howto" / "files.html").as_uri())
        page.fill(".sidebar-search", "ledger")
        page.press(".sidebar-search", "Enter")
        page.locator("#search-results", has_text="Search finished").wait_for()
        found = page.locator("ul.search li a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
        assert any(link.startswith("howto/ledger.html") for link in found)
        assert any("#privreg.Ledger" in link for link in found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(site, size, scheme):
    with window(size, scheme) as page:
        for name in ("index", "howto/fit-a-file", "method", "api", "api/regression", "cli", "search"):
            page.goto((site / f"{name}.html").as_uri())
            page.evaluate("window.MathJax?.startup.promise")
            assert axe(page) == [], name


def test_the_first_page_shows_how_to_begin_without_scrolling(site):
    with window() as page:
        page.goto((site / "index.html").as_uri())
        for what in (
            "text=pip install",
            "text=PrivateLinearRegression >> nth=0",
            "text=privreg fit",
            ".shot img",
        ):
            box = page.locator(f"article >> {what}").first.bounding_box()
            assert box["y"] + box["height"] <= DESKTOP["height"], what
        assert page.locator(".doors li").count() == 4


def colour(page, place):
    """In the middle of it."""
    image = Image.open(io.BytesIO(page.locator(place).screenshot())).convert("RGB")
    return "#{:02x}{:02x}{:02x}".format(*image.getpixel((image.width // 2, image.height // 2)))


@pytest.mark.parametrize("system", ["light", "dark"])
def test_charts_follow_the_switch_of_the_page(site, tmp_path, system):
    size = 'width="40" height="40"'
    chart = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="{LIGHT["accent"]}"/></svg>'
    (tmp_path / "chart.svg").write_text(follow_the_reader(chart))
    with window(scheme=system) as page:
        page.goto((site / "method.html").as_uri())
        page.locator("article").evaluate(
            "(article, source) => { article.innerHTML = `<img id=chart src=${source}>` }",
            (tmp_path / "chart.svg").as_uri(),
        )
        for _ in range(3):  # the switch goes through light, dark and the system's own
            theme = page.evaluate("document.body.dataset.theme")
            colours = DARK if "dark" in (theme, system if theme == "auto" else "") else LIGHT
            page.wait_for_timeout(100)
            assert colour(page, "#chart") == colours["accent"], theme
            shown = page.evaluate("getComputedStyle(document.body).getPropertyValue('--paper')")
            assert shown.strip() == colours["paper"], theme
            page.locator(".theme-toggle:visible").click()


def test_pictures_stand_on_white_only_if_they_are_drawn_on_it(site):
    found = 0
    for path in site.rglob("*.html"):
        if path.name == "report.html":
            continue
        for tag in re.findall(r"<img [^>]*>", path.read_text()):
            source = path.parent / re.search(r'src="([^"]*)"', tag)[1]
            text = source.read_text() if source.suffix == ".svg" else "var(--"
            assert ("on-white" in tag) == ("var(--" not in text and "rich-terminal" not in text), tag
            found += 1
    assert found > 5


def test_paper_is_white_and_has_no_furniture(site):
    with window(scheme="dark") as page:
        page.goto((site / "howto" / "ledger.html").as_uri())
        page.emulate_media(media="print", color_scheme="dark")
        for furniture in (".sidebar-drawer", ".toc-drawer", ".skip-to-content", ".mobile-header", "footer"):
            assert not page.locator(furniture).is_visible(), furniture
        assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--paper')").strip() == LIGHT["paper"]
        for code in page.locator("pre").all():
            assert code.evaluate("box => box.scrollWidth <= box.clientWidth")  # nothing is cut off


def test_colours_have_one_home():
    for file in [*(DOCS / "_static").glob("*.css"), *(DOCS / "_ext").glob("*.py"), DOCS / "conf.py"]:
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b", file.read_text()), file.name
