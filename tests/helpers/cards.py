"""What a notebook shows, taken apart: its tags, its texts and the rows of its tables."""

from html.parser import HTMLParser

# A card has no other tags.
ALLOWED = frozenset("div style strong bdi wbr span p table thead tbody tr th td details summary".split(" "))  # noqa: SIM905


class Shown(HTMLParser):
    """A card. `rows` has the cells of all tables, `title` and `badge` the head."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.rows, self.texts, self._open = [], set(), [], [], []
        self.feed(html)
        self.close()
        assert self._open == [], "a tag is left open"
        self.text = "".join(self.texts)

    def handle_starttag(self, tag, attributes):
        assert tag in ALLOWED, tag
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag == "wbr":
            return
        self._open.append((tag, dict(attributes).get("class", "")))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag in ("p", "summary", "table"):
            self.texts.append("\n")

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag, tag

    def handle_data(self, data):
        tags = [tag for tag, _ in self._open]
        if "style" in tags:
            return
        self.texts.append(data)
        if "td" in tags or "th" in tags:
            self.rows[-1][-1] += data

    def handle_comment(self, data):
        raise AssertionError(data)

    @property
    def title(self):
        return self.text.partition("\n")[0]

    @property
    def facts(self):
        """The rows of two cells."""
        return {row[0]: row[1] for row in self.rows if len(row) == 2}


def shown(thing):
    """The card of anything that has one, as Jupyter asks for it."""
    if hasattr(thing, "_repr_mimebundle_"):
        return Shown(thing._repr_mimebundle_()["text/html"])
    return Shown(thing._repr_html_())
