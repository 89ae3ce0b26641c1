"""The page of a run's report, in a browser: what a person sees on a phone and at a desk."""

import pytest

from browser import DESKTOP, PHONE, chromium, opened
from made_up_run import NASTY
from privreg._theme import DARK, LIGHT


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def page(request, browser, folder):
    with opened(browser, folder / "report.html", request.param) as window:
        yield window


def table_of(page, title):
    return page.get_by_role("group", name=title, exact=True).locator("table")


def first_column(page, title, rows):
    return [text.split()[0] for text in table_of(page, title).locator("tbody th").all_inner_texts()[:rows]]


def unfold(page):
    page.get_by_text("Every method on every data set, k = 5").click()


MAIN = "The paper's data sets, k = 5"


def test_what_a_person_sees(page):
    assert page.title() == "The paper's evaluation, run by privreg"
    banner = page.locator(".banner")
    assert banner.locator("strong").inner_text() == "Not finished"
    assert "K-Tukey-strict is better than a constant on 3 of 3 data sets" in banner.inner_text()
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert (
        headings
        == page.locator("nav a").all_inner_texts()
        == [
            *("Results at k = 5", "Results at k = 10", "Other budgets", "What was measured"),
            *("Agreement with the paper", "Ridges of Boosted AdaSSP", "Running time", "Failures", "How it was run"),
        ]
    )
    short = table_of(page, "Median R² on the complete data sets, k = 5")
    shown = [head.inner_text().split("\n")[-1] for head in short.locator("thead th").all() if head.is_visible()]
    assert len(shown) == (5 if page.viewport_size["width"] < 760 else 8)
    assert not table_of(page, MAIN).is_visible()  # folded away
    unfold(page)
    row = table_of(page, MAIN).locator("tbody tr").first
    label = row.locator("th").inner_text().replace("\u00a0", " ")
    assert label.split("\n") == [f"361072 {NASTY}", "n 8,192, d 22"]
    best = row.locator("td").nth(6)
    assert best.inner_text().split("\n") == ["0.60", "0.59 … 0.62", "paper 0.10"]
    weight = "element => getComputedStyle(element).fontWeight"
    assert [int(row.locator("td").nth(i).locator(":scope > :first-child").evaluate(weight)) for i in (5, 6)] == [
        400,
        700,
    ]
    flagged = row.locator("td.flag")
    assert flagged.first.get_attribute("title") == "other sign than published"
    assert [text.split("\n")[-1] for text in flagged.all_inner_texts()] == ["paper −0.027 ≠", "paper 0.21 ≠"]
    missing = page.get_by_text("could not be used: no <file>").first
    missing.scroll_into_view_if_needed()
    box = missing.bounding_box()
    assert missing.is_visible()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_nothing_is_wider_than_the_screen(page):
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("scrollTo(500, 0)")
    assert page.evaluate("scrollX") == 0
    images = page.locator("img")
    assert images.count() == 5
    for image in images.all():
        natural, shown = image.evaluate("i => [i.naturalWidth, i.getBoundingClientRect().width]")
        assert image.evaluate("i => i.complete")
        assert natural > 300
        assert shown == pytest.approx(natural, abs=2)  # as large as drawn, so that its letters are
        assert image.get_attribute("alt").endswith(".")


def test_the_names_of_data_sets_stay_in_sight(page):
    unfold(page)
    region = page.get_by_role("group", name=MAIN, exact=True)
    region.scroll_into_view_if_needed()
    label = region.locator("tbody th").first
    before = label.bounding_box()["x"]
    region.evaluate("r => r.scrollLeft = 10000")
    assert label.bounding_box()["x"] == pytest.approx(before, abs=1)
    last = region.locator("tbody tr").first.locator("td").last.bounding_box()
    assert last["x"] + last["width"] <= page.viewport_size["width"]


def test_a_click_on_a_head_sorts(page):
    unfold(page)
    head = table_of(page, MAIN).locator("thead th")
    shown = first_column(page, MAIN, 25)
    unknown = ["361091", "361099", "361103"]  # partial, partial, could not be used
    assert shown == ["361072", "361076", "361085", *unknown]

    def sorted_by(name):
        column = head.filter(has=page.get_by_role("button", name=name, exact=True))
        column.get_by_role("button").click()
        return first_column(page, MAIN, 25), column.get_attribute("aria-sort")

    assert sorted_by("BAS") == (["361072", "361085", "361076", *unknown], "descending")
    assert sorted_by("BAS") == (["361076", "361085", "361072", *unknown], "ascending")
    order, way = sorted_by("Tukey")  # −∞ is less than any number, and a missing value is last
    assert (order[0], set(order[1:3]), order[3:], way) == ("361085", {"361072", "361076"}, unknown, "descending")
    assert [h.get_attribute("aria-sort") for h in head.all()].count("none") == 9
    assert sorted_by("Tukey")[0][2] == "361085"
    assert sorted_by("data set") == (shown, "ascending")
    button = head.nth(2).get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    assert first_column(page, MAIN, 3) == ["361072", "361085", "361076"]


def test_the_page_may_not_ask_the_network_for_anything(browser, folder):
    page = browser.new_page()
    page.goto((folder / "report.html").as_uri())
    asked = """async () => {
        const refused = new Promise(tell => document.addEventListener("securitypolicyviolation", tell));
        fetch("https://privreg.invalid/").catch(() => null);
        return (await refused).violatedDirective;
    }"""
    assert page.evaluate(asked) == "connect-src"
    page.close()


def test_dark_and_light(browser, folder):
    colours = []
    for scheme in ("light", "dark"):
        with opened(browser, folder / "report.html", {"color_scheme": scheme}) as page:
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == [f"rgb{tuple(bytes.fromhex(theme['paper'][1:]))}" for theme in (LIGHT, DARK)]
