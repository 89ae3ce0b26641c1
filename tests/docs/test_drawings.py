"""Diagrams say what their pages say, and everything drawn for the pages follows light and dark."""

import re

import drawings
import pictures
from places import ROOT
from privreg._theme import LIGHT

DOCS = ROOT / "docs"


def test_the_house_has_the_rooms_of_its_page():
    assert sorted(drawings.room_words()) == sorted(drawings.rooms_of_the_page())
    drawn = (DOCS / "house.svg").read_text()
    for room in drawings.room_words():
        assert f">{room}<" in drawn


def test_the_layers_are_those_of_the_page():
    part = (DOCS / "data-protection.md").read_text().partition("## Layer by layer")[2].partition("\n## ")[0]
    assert list(drawings.layer_words())[::-1] == re.findall(r"^### (.*)$", part, re.MULTILINE)
    assert {owner for owner, _ in drawings.layer_words().values()} == set(drawings.OWNERS)


def test_the_steps_are_those_of_the_page():
    steps = re.findall(r"^\| \d\. (\w+) \|", (DOCS / "method.md").read_text(), re.MULTILINE)
    assert list(drawings.step_words()["steps"]) == steps


def test_pictures_follow_light_and_dark():
    """A colour that is not the theme's would stay as it is on a dark page."""
    files = [*(DOCS / "pictures").glob("*.svg"), pictures.HOUSE]
    assert len(files) == len(pictures.PICTURES) + 1
    for file in files:
        text = file.read_text()
        assert "prefers-color-scheme: dark" in text, file.name
        drawn = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        assert not re.findall(r"#[0-9a-f]{6}\b(?![\w)])", drawn), file.name
        assert set(re.findall(r"var\(--(\w+)\)", drawn)) <= set(LIGHT), file.name
