"""Blocks of a document as Markdown."""

from privreg.report.document import Banner, Bar, Data, Document, Fact, Facts, Fold, Items, Section, Share, markdown


def test_markdown_of_every_block():
    banner = Banner("good", "Yes", "it is.", [Fact("a", "b", "c"), Fact("d", "e", "For")], ["why*"])
    parts = [Facts([("a_b", "c")]), Items(["x", "y*"]), Fold("more", ["text"]), Data("id", "{\n}")]
    parts.append(Bar("whole", [Share("one", "first", 250, 2), Share("two", "second", 750, 1)]))
    lines = markdown(Document("T", "L", [Section("S", parts)], banner)).splitlines()
    assert [line for line in lines if line] == [
        *(
            "# T",
            "L",
            "**Yes:** it is.",
            "- a: b (c)",
            "- d: e. For",
            "- why\\*",
            "## S",
            "- a\\_b: c",
            "- x",
            "- y\\*",
        ),
        *("### more", "text", "    {", "    }", "- one, first: 25.0 %", "- two, second: 75.0 %"),
    ]
