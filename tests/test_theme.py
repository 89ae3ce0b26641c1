"""The theme: what is written in its colours can be read, and charts change with the page."""

import pytest

from privreg._theme import DARK, LIGHT, follow_the_reader, root_style

BACKGROUNDS = ("paper", "shade")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(colours):
    texts = {name: value for name, value in colours.items() if name not in (*BACKGROUNDS, "line")}
    for name, value in texts.items():
        for background in BACKGROUNDS:
            assert contrast(value, colours[background]) >= 4.5, (name, background)


def test_both_have_the_same_names_and_no_colour_has_two():
    assert list(LIGHT) == list(DARK)
    for colours in (LIGHT, DARK):
        assert len(set(colours.values())) == len(colours)  # a chart's colours are told apart by their values


def test_a_chart_takes_its_colours_from_the_theme():
    drawn = f'<?xml version="1.0"?><svg width="1"><path style="fill: {LIGHT["series1"]}"/></svg>'
    themed = follow_the_reader(drawn)
    assert '<path style="fill: var(--series1)"/>' in themed
    assert themed.startswith('<?xml version="1.0"?><svg width="1">\n<style>svg {')
    assert f"--series1: {LIGHT['series1']}" in themed
    assert f"--series1: {DARK['series1']}" in themed


def test_the_text_of_a_chart_stays_as_it_is():
    """A level may be called #ffffff, and a column may look like markup."""
    text = f'style="fill: {LIGHT["paper"]}" {LIGHT["paper"]}'
    drawn = f'<svg><style>.a {{ fill: {LIGHT["ink"]} }}</style><text fill="{LIGHT["ink"]}">{text}</text></svg>'
    themed = follow_the_reader(drawn)
    assert f'<text fill="var(--ink)">{text}</text>' in themed
    assert "<style>.a { fill: var(--ink) }</style>" in themed


def test_only_screens_are_dark():
    assert "@media screen and (prefers-color-scheme: dark)" in root_style()
