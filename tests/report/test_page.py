"""The report of one fit in a browser: a page that a person can read."""

import json
import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from browser import DESKTOP, PHONE, axe, chromium, opened
from privreg import _format as words
from privreg.report.document import Bar, Share
from privreg.report.model import deployment_record, report_page
from privreg.report.page import bar
from reports import ASKED, HOSTILE

SECTIONS = ["The model", "The guarantee", "The budget", "Limits", "Documentation"]
SCREEN_390 = {"viewport": {"width": 390, "height": 800}}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def files(tmp_path_factory, flagship, seeded, constant, people, wide, hostile, paper):
    folder = tmp_path_factory.mktemp("reports")
    releases = {"flagship": flagship, "seeded": seeded, "constant": constant, "people": people, "wide": wide}
    releases |= {"hostile": hostile, "K-Tukey": paper["K-Tukey"], "BAS": paper["BAS"]}
    for name, release in releases.items():
        (folder / f"{name}.html").write_text(report_page(release, ASKED), encoding="utf-8")
    return {name: (release, folder / f"{name}.html") for name, release in releases.items()}


NAMES = ("flagship", "seeded", "constant", "people", "wide", "hostile", "K-Tukey", "BAS")


STATES = {
    "flagship": "Usable",
    "seeded": "NOT PRIVATE",
    "constant": "Not usable",
    "people": "Usable with care",  # the interval of R² includes 0
    "wide": "Usable",
    "hostile": "Usable with care",
    "K-Tukey": "No guarantee for one record",
    "BAS": "Accuracy unknown",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", [SCREEN_390, PHONE, DESKTOP], ids=["390", "phone", "desktop"])
def test_what_a_person_sees(browser, files, name, device):
    release, file = files[name]
    with opened(browser, file, device) as page:
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        headings = page.get_by_role("heading", level=2)
        assert headings.all_inner_texts() == page.locator("nav a").all_inner_texts() == SECTIONS
        assert all(heading.is_visible() for heading in headings.all())
        boxes = page.locator("p, li, dd, dt, h1, pre, figure, .scroll, .banner, details")
        ends = boxes.evaluate_all("all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right])")
        assert all(left >= 0 and right <= width + 0.5 for left, right in ends)
        for image in page.locator("img").all():
            natural, shown = image.evaluate("i => [i.naturalWidth, i.getBoundingClientRect().width]")
            assert natural > 300
            assert shown == pytest.approx(natural, abs=2)  # as large as drawn, so that its letters are
            assert image.get_attribute("alt").endswith(".")
        assert page.locator(".banner").bounding_box()["y"] < 250  # the verdict is seen first
        assert page.locator(".banner strong").inner_text() == STATES[name]
        table = page.get_by_role("group", name="Coefficients", exact=True).locator("tbody tr")
        assert table.count() == (len(release.coefficients) + 1 if release.coefficients else 0)


def test_what_stays_on_one_line(flagship):
    """Numbers with their units, and options, which are set as code."""
    text = report_page(flagship, ASKED)
    assert '<span class="whole">δ = 1e-6</span>' in text
    assert '<span class="whole">95 %</span>' in text
    assert '<code class="whole">--person</code>' in text


def test_a_purpose_has_the_same_colour_on_every_page():
    few, many = ([Share(name, "", 500, 1) for name in names] for names in (["Counting"], ["Reading", "Counting"]))
    colours = [
        dict(zip((s.name for s in shares), re.findall(r"<th[^>]*><i[^>]*--(\w+)", bar(Bar("", shares))), strict=True))
        for shares in (few, many)
    ]
    assert colours[0]["Counting"] == colours[1]["Counting"] != colours[1]["Reading"]


@pytest.mark.parametrize("name", ["flagship", "hostile"])
def test_programs_find_the_record(browser, files, name):
    release, file = files[name]
    with opened(browser, file, DESKTOP) as page:
        text = page.evaluate('document.getElementById("privreg-deployment").textContent')
        assert json.loads(text) == deployment_record(release, ASKED)
        asked = 'JSON.parse(document.getElementById("privreg-deployment").textContent).privreg.asked'
        assert page.evaluate(asked) == deployment_record(release, ASKED)["privreg"]["asked"]
        fold = page.locator("details", has_text="The record as JSON")
        shown = fold.locator("pre")
        assert not shown.is_visible()
        fold.locator("summary").click()
        assert shown.is_visible()
        assert json.loads(shown.text_content()) == deployment_record(release, ASKED)


def test_names_are_text(browser, files):
    file = files["hostile"][1]
    assert "<script>alert" not in file.read_text(encoding="utf-8")
    with opened(browser, file, DESKTOP) as page:
        assert page.title() == f"A private model of {HOSTILE[0]}"
        assert page.evaluate("document.scripts.length") == 2
        rows = page.get_by_role("group", name="Coefficients", exact=True).locator("tbody th").all_inner_texts()
        assert rows == [*(words.shown(name) for name in HOSTILE), "(intercept)"]
        formula = page.locator("pre", has_text="≈").text_content()
        assert all(words.shown(name) in formula for name in HOSTILE)
        assert page.locator(".banner li").all_inner_texts() == [HOSTILE[1]]
        svg = b64decode(page.locator("img").nth(0).get_attribute("src").split(",")[1]).decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in svg
        assert "$\\frac{$ price_in_€ $" in svg
        assert words.shortened(HOSTILE[5], 44) in svg


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_can_be_read(browser, files, scheme):
    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    with opened(browser, files["seeded"][1], {**SCREEN_390, "color_scheme": scheme}) as page:
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (luminance(paper) < 0.02) == (scheme == "dark")
        for where in (
            "p.lead",
            "dd",
            "dt",
            "nav a",
            "p.note",
            ".banner small",
            "pre",
            "tbody td",
            "summary",
        ):
            ink = page.locator(where).first.evaluate("e => getComputedStyle(e).color")
            light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 4.5, where


def test_charts_turn_dark_with_the_page(browser, files):
    """What a chart is drawn in, seen on the screen: light ink on dark, dark ink on white."""

    def brightest(scheme, media="screen"):
        with opened(browser, files["flagship"][1], {**DESKTOP, "color_scheme": scheme}) as page:
            page.emulate_media(media=media, color_scheme=scheme)
            pixels = np.asarray(Image.open(BytesIO(page.locator("figure img").first.screenshot())).convert("L"))
            return pixels.max(), np.median(pixels)

    assert brightest("light") == (255, 255)
    light_ink, paper = brightest("dark")
    assert light_ink > 200
    assert paper < 40
    assert brightest("dark", "print")[1] == 255


@pytest.mark.parametrize("name", NAMES)
def test_at_most_four_pages_of_paper(browser, files, name):
    with opened(browser, files[name][1], DESKTOP) as page:
        for paper in ("A4", "Letter"):
            pdf = page.pdf(format=paper, prefer_css_page_size=True, print_background=True)
            assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) <= 4


@pytest.mark.parametrize("name", ["flagship", "constant", "hostile", "K-Tukey"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, files, name, scheme):
    with opened(browser, files[name][1], {**DESKTOP, "color_scheme": scheme}) as page:
        for fold in page.locator("summary").all():
            fold.click()
        assert axe(page) == []


def test_on_paper(browser, files):
    context = {"viewport": {"width": 718, "height": 1000}, "color_scheme": "dark"}
    with opened(browser, files["wide"][1], context) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("document.documentElement.scrollWidth") == 718
        for region in page.locator(".scroll").all():  # nothing is hidden in a box that scrolls
            inner, outer = region.evaluate("r => [r.scrollHeight, r.clientHeight]")
            assert inner <= outer + 1
        assert not page.locator("nav").is_visible()
        assert not any(fold.is_visible() for fold in page.locator("details").all())


def test_coefficients_can_be_sorted(browser, files):
    release, file = files["flagship"]
    with opened(browser, file, DESKTOP) as page:
        region = page.get_by_role("group", name="Coefficients", exact=True)
        region.get_by_role("button", name="coef").click()
        order = sorted([*release.coefficients, release.intercept], key=lambda c: -c.value)
        assert region.locator("tbody th").all_inner_texts() == [c.feature for c in order]


def test_a_phone_sees_every_coefficient_with_its_interval(browser, files):
    with opened(browser, files["flagship"][1], SCREEN_390) as page:
        region = page.get_by_role("group", name="Coefficients", exact=True)
        assert region.evaluate("r => r.scrollWidth <= r.clientWidth")
        heads = [head.inner_text() for head in region.locator("thead th").all() if head.is_visible()]
        assert heads == ["feature", "coef", "95 % interval"]
