"""Cards in a real browser: text stays text, nothing is wider than the cell, and colours follow the reader."""

import pytest

from browser import chromium, opened
from cards import shown as parsed
from known_models import known_model
from privreg import _notebook as notebook
from privreg._format import LONGEST
from privreg._notebook import MOST_ROWS, Part, card, caution, facts, folded, lead, note, table
from privreg._theme import DARK, LIGHT
from privreg.data.schema import Column, Schema
from privreg.estimators.dry_run import Check, LedgerOutlook
from privreg.privacy.ledger.ledger import Ledger

NARROW = {"viewport": {"width": 390, "height": 800}}
WIDE = {"viewport": {"width": 1366, "height": 900}}
HOSTILE = [
    "<script>window.hit = 1</script>",
    "</style><script>window.hit = 1</script><style>",
    "<img src=x onerror='window.hit = 1'>",
    "</td></table></div><iframe srcdoc='<script>parent.hit = 1</script>'>",
    '" onmouseover="window.hit = 1" style="position:fixed;width:9999px" \'x',
    "javascript:window.hit=1",
    "&lt;b&gt; &amp;amp; &#x3c;",
    "<!-- ",
    "]]>{{7*7}}${7*7}",
    "line\nbreak\r\n\ttab\x0b\x0c\x85\u2028\u2029",
    "\u202eright to left\u200f\u2067 שלום عالم\u2069",
    "nul\x00 bell\x07 half\ud800 \udfff\ufeff",
    "x" * 10_000,
    "two words " * 1_000,
    "ze\u0301\u0302\u0303\u0304" * 60,
    "漢字" * 100,
    "",
]


class Text:
    """Shown as the card that it is given."""

    def __init__(self, html):
        self.html = html

    def _repr_html_(self):
        return self.html


def everything(text):
    """A card with the text in every place that takes one."""
    return card(
        text,
        lead(text),
        note(text),
        caution(text),
        facts([(text, text), ("nothing", None)]),
        table((text, text, "n"), [(text, text, text), (text, text, Part(text, 0.3))], left=2, title=text),
        folded(text, table(("a", text), [(text, text)])),
        badge=("care", text),
    )


def objects(folder):
    """Things of privreg whose names are hostile."""
    for name in filter(None, HOSTILE):
        yield known_model(names=(name, f"{name}t", "spare", "far"), target=name)
    columns = [Column(f"{i}{name}", "category", levels=(name, "b"), reference=0) for i, name in enumerate(HOSTILE)]
    yield Schema(tuple(columns), records=300.0, where=HOSTILE[0], warnings=tuple(HOSTILE))
    outlook = LedgerOutlook(HOSTILE[1], False, 1.0, None, None)
    kinds = dict.fromkeys(HOSTILE, "number") | {"town": HOSTILE[3]}
    yield Check(
        "M", HOSTILE[12], kinds, 1.0, 0.0, HOSTILE[0], True, None, outlook, HOSTILE[0], HOSTILE[2], (HOSTILE[1],)
    )
    ledger = Ledger(folder / "<b>ledger.db")
    for name in HOSTILE[:11]:
        ledger.create(name, 1, "1e-6")
    yield ledger


# ---- what it is made of


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_text_is_escaped(text):
    html = everything(text)
    html.encode()  # no half character is left
    found = parsed(Text(html))
    assert found.attributes <= {"class", "scope", "tabindex", "role", "aria-label", "style"}
    assert found.tags.count("style") == 1
    assert "\x00" not in html
    assert len(html) < 60_000


def test_styles_apply_to_cards_only():
    rules = notebook._style()
    assert "<" not in rules
    assert "url(" not in rules
    assert "@import" not in rules
    selectors = [part for rule in rules.split("}") for part in rule.rpartition("{")[0].rpartition("{")[2].split(",")]
    named = [part.strip() for part in selectors if part.strip() and not part.strip().startswith("@media")]
    assert named
    assert all(".privreg" in part for part in named), named


def test_long_tables_are_folded():
    rows = [(f"x{i}", str(i)) for i in range(MOST_ROWS + 12)]
    found = parsed(Text(card("t", table(("feature", "coef"), rows))))
    assert [row for row in found.rows if row[0] != "feature"] == [list(row) for row in rows]
    assert found.tags.count("details") == 1
    assert "12 more" in found.text
    assert parsed(Text(card("t", table(("feature", "coef"), rows[:MOST_ROWS])))).tags.count("details") == 0
    assert table(("feature",), []) == ""
    assert folded("nothing inside", table(("feature",), [])) == ""


def test_names_are_cut_and_symbols_stay_together():
    found = parsed(Text(everything("y" * 10_000)))
    assert all(len(row[0]) == LONGEST for row in found.rows[2:4])
    html = lead("ε = 1, δ = 1e-6, and ε = up")
    assert html.count('<span class="privreg-whole">') == 2
    assert '<span class="privreg-whole">δ = 1e-6' in html


@pytest.mark.parametrize("part", [-1.0, 0.0, 0.5, 1.0, 7.0, float("inf")])
def test_bars_stay_inside(part):
    html = table(("a", "b"), [("x", Part("text", part))])
    (width,) = [float(piece.split("%")[0]) for piece in html.split("width:")[1:]]
    assert 0 <= width <= 100


# ---- in a browser


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page_of_everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cards")
    cards = [everything(text) for text in HOSTILE]
    for thing in objects(folder):
        cards.append(thing._repr_mimebundle_()["text/html"] if hasattr(thing, "fit") else thing._repr_html_())
    return _page(folder, "\n".join(cards)), len(cards)


def _page(folder, body, attributes=""):
    path = folder / "page.html"
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    path.write_text(f"{head}<title>cards</title><body {attributes}>{body}</body></html>", encoding="utf-8")
    return path


@pytest.mark.parametrize("device", [NARROW, WIDE], ids=["390", "1366"])
def test_no_name_runs_or_overflows(browser, page_of_everything, device):
    file, count = page_of_everything
    with opened(browser, file, device) as page:  # fails on any request and on anything in the console
        width = device["viewport"]["width"]
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.scripts.length + document.images.length + frames.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth") == width
        cards = page.locator("body > .privreg")
        assert cards.count() == page.locator(".privreg").count() == count
        outside = """cards => cards.flatMap(card => {
            const box = card.getBoundingClientRect();
            const inside = [...card.querySelectorAll('*')].filter(e => !e.closest('table') && e.tagName != 'STYLE');
            return inside.filter(e => {
                const own = e.getBoundingClientRect();
                return own.width && (own.left < box.left || own.right > box.right + 0.5);
            }).map(e => e.outerHTML.slice(0, 80));
        })"""
        assert cards.evaluate_all(outside) == []
        events = "all => all.flatMap(e => [...e.attributes]).map(a => a.name).filter(n => n.startsWith('on'))"
        assert page.locator(".privreg *").evaluate_all(events) == []


def test_what_is_shown_is_what_was_given(browser, tmp_path):
    text = "<b>\"bold\" & 'plain'</b>"
    with opened(browser, _page(tmp_path, everything(text)), WIDE) as page:
        assert page.locator(".privreg-head strong").inner_text() == text
        assert page.locator("p.privreg-note").inner_text() == text
        assert page.locator("table.privreg-table tbody th").first.inner_text() == text
        folded_table = page.locator("details table")
        assert not folded_table.is_visible()
        page.locator("summary").click()
        assert folded_table.is_visible()


def colours(browser, folder, scheme, attributes, media="screen"):
    file = _page(folder, card("title", lead("text"), badge=("good", "Usable")), attributes)
    with opened(browser, file, {**WIDE, "color_scheme": scheme}) as page:
        page.emulate_media(media=media, color_scheme=scheme)
        return page.locator(".privreg").evaluate(
            "e => [e, e.querySelector('.privreg-good')].map(x => getComputedStyle(x))"
            ".map((s, i) => i ? s.color : s.backgroundColor)"
        )


def rgb(colour):
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


DARK_PLACES = (
    'data-jp-theme-light="false"',
    'class="vscode-dark"',
    'class="vscode-high-contrast"',
    'data-theme="dark"',
)
LIGHT_PLACES = (
    'data-jp-theme-light="true"',
    'class="vscode-light"',
    'class="vscode-high-contrast-light vscode-high-contrast"',
    'data-theme="light"',
)


def test_colours_follow_the_reader(browser, tmp_path):
    light, dark = ([rgb(theme[name]) for name in ("paper", "good")] for theme in (LIGHT, DARK))
    for scheme, as_system in (("light", light), ("dark", dark)):
        for attributes in ("", 'data-theme="auto"'):
            assert colours(browser, tmp_path, scheme, attributes) == as_system
        for attributes in DARK_PLACES:
            assert colours(browser, tmp_path, scheme, attributes) == dark, attributes
        for attributes in LIGHT_PLACES:
            assert colours(browser, tmp_path, scheme, attributes) == light, attributes
        assert colours(browser, tmp_path, scheme, DARK_PLACES[0], "print") == light


# The rules of JupyterLab for tables and paragraphs that a card has to hold its own against.
JUPYTER = """<style>
.jp-RenderedHTMLCommon table { border-collapse: collapse; border: none; table-layout: fixed; margin: 0 auto 1em; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { text-align: right; vertical-align: middle; padding: 0.5em;
 max-width: none; border: none; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #f5f5f5; }
.jp-RenderedHTMLCommon p { margin: 0 0 1em; }
</style>"""


def test_it_looks_the_same_in_jupyter(browser, tmp_path):
    inside = table(("feature", "coef"), [("age", "1.0"), ("educ", "20.0")])
    look = """all => all.map(e => [e.getBoundingClientRect().width, getComputedStyle(e).textAlign,
        getComputedStyle(e).backgroundColor, getComputedStyle(e).marginTop])"""

    def measured(before, attributes):
        with opened(browser, _page(tmp_path, before + card("t", lead("text"), inside), attributes), WIDE) as page:
            return page.locator(".privreg table, .privreg tr, .privreg td, .privreg th, .privreg p").evaluate_all(look)

    assert measured("", "") == measured(JUPYTER, 'class="jp-RenderedHTMLCommon"')
