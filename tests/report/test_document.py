"""Blocks of a document as Markdown."""

from privreg.report.document import Box, Document, Facts, Items, Record, Section, markdown


def test_markdown_of_the_new_blocks():
    parts = [Facts([("a_b", "c")]), Items(["x", "y*"]), Box("Stop.", "Now"), Record("id", "title", "{\n}")]
    lines = markdown(Document("T", "L", [Section("S", parts)], Box("!", "n"))).splitlines()
    assert [line for line in lines if line] == [
        *("# T", "L", "> **!** n", "## S", "- a\\_b: c", "- x", "- y\\*", "> **Stop.** Now", "    {", "    }")
    ]
