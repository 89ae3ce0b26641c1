"""Names and numbers as a person reads them."""

import re
import shlex
from collections.abc import Callable, Sequence
from math import ceil, exp, floor, isfinite, log10
from pathlib import PurePosixPath

LONGEST = 200  # characters of a name that are shown
# Of privreg fit: options without a value, and those whose value is no path. Any other argument may be one.
FLAGS = frozenset({"--yes", "--force", "--verbose", "--json"})
TEXT_OPTIONS = frozenset(
    {"--target", "--features", "--drop", "--where", "--person", "--category", "--range", "--sheet"}
    | {"--dataset", "--purpose"}
)


def shown(text: str) -> str:
    """A name on one line. A cell of a table may be of any length, and so may a level: of a long one the beginning."""
    return one_line(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def one_line(text: str) -> str:
    """Blanks for line breaks, and a mark for what cannot be printed or would reorder the text."""
    return "".join(" " if c.isspace() else c if c.isprintable() else "\ufffd" for c in text)


def number(value: float, digits: int = 5) -> str:
    """Significant digits, with a real minus sign: 0.73, −4,352, 4.6e-6."""
    text = f"{value + 0.0:,.{digits}g}"
    if "e+" in text and abs(value) < 1e9:
        text = f"{float(text):,.0f}"
    mantissa, exponent, power = text.partition("e")
    return mantissa.replace("-", "−").replace("inf", "∞") + (f"e{int(power)}" if exponent else "")


def supported(value: float | None, error: float | None) -> str:
    """As many digits as the standard error supports: down to its second one. Empty if there is no value."""
    decimals = decimals_of(error)
    if value is None or decimals is None or not isfinite(value):
        return "" if value is None else number(value)
    if not -8 <= decimals <= 5 or abs(value) >= 1e9:
        return number(value, min(max(_power(value) + decimals + 1, 1), 12))
    rounded = round(value, decimals) + 0.0
    return f"{rounded:,.{max(decimals, 0)}f}".replace("-", "−")


def decimals_of(error: float | None) -> int | None:
    """Digits after the point that a standard error supports: down to its second one. None if it is not known."""
    return 1 - _power(error) if error is not None and isfinite(error) and error > 0 else None


def plain_number(value: float, decimals: int | None) -> str:
    """A number as programs write it, as CSV needs it: no commas, and a hyphen for minus. Five digits count if None."""
    if decimals is None or not isfinite(value):
        return f"{value + 0.0:.5g}"
    return f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"


def z_value(value: float | None) -> str:
    """A test statistic, to two decimals. Empty if there is none."""
    if value is None or not isfinite(value):
        return ""
    return number(value, 4) if abs(value) >= 1e4 else f"{round(value, 2) + 0.0:,.2f}".replace("-", "−")


def pvalue(value: float | None) -> str:
    """To three decimals: 0.043, < 0.001. Empty if there is none."""
    if value is None or not isfinite(value):
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _power(value: float) -> int:
    """Of ten, of the first of two digits."""
    return int(f"{value:.1e}".partition("e")[2])


def span(low: float | None, high: float | None) -> str:
    """A range; empty if there is none."""
    return "" if low is None or high is None else f"{number(low, 4)} … {number(high, 4)}"


def part_of(part: float, whole: float | None) -> str:
    """A part in whole per cent; empty if the whole is not known."""
    return "" if not whole else f"{round(100 * min(max(part / whole, 0), 1))} %"


def epsilon_delta(epsilon: float, delta: float) -> str:
    """ε and δ, as they would be typed."""
    return f"ε = {number(epsilon, 6)}, δ = {number(delta, 6)}"


def text_table(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Rows as lines, the first as the head. The first `left` columns are set to the left, all others to the right.

    A row is one line, whatever its cells hold.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    head, *body = map(line, rows)
    return [head, "  ".join("─" * w for w in widths), *body]


def shortened(name: str, letters: int, width: Callable[[str], int] = len) -> str:
    """A name in at most so many letters: of a long one the beginning and the end. `width` tells how many a text has."""
    name, start, end = shown(name), 0, 0
    if width(name) <= letters:
        return name
    while True:
        longer = (start + 1, end) if start <= end else (start, end + 1)
        if width(name[: longer[0]]) + 1 + width(name[len(name) - longer[1] :]) > letters:
            return f"{name[:start]}…{name[len(name) - end :]}"
        start, end = longer


def one_in(probability: float) -> str:
    """0.000001 as "one in 1,000,000"."""
    if probability > 0.1:
        return f"{number(100 * probability, 3)} %"
    if probability < 1e-15:
        return f"less than one in 10^{floor(-log10(probability))}"  # 1 / probability may overflow
    return f"about one in {about(1 / probability)}"


def odds_factor(epsilon: float) -> str:
    """e^ε, rounded up."""
    if epsilon > 20:
        return f"10^{floor(epsilon / 2.302585) + 1}"
    factor = exp(epsilon)
    if factor >= 1000:
        return f"{ceil(factor):,}"
    unit = 10.0 ** (floor(log10(factor)) - 2)
    return f"{ceil(factor / unit - 1e-9) * unit:.3g}"


def percent(part: float) -> str:
    """Rounded up, but below 100 % unless it is 100 %: for what is at most so much."""
    if part >= 1:
        return "100 %"
    for decimals in range(1, 10):
        rounded = ceil(part * 100 * 10**decimals - 1e-9) / 10**decimals
        if rounded < 100:
            return f"{rounded:.{decimals}f} %"
    return "practically 100 %"


def about(count: float) -> str:
    """A count to three digits: 31,800."""
    return f"{float(f'{count:.3g}'):,.0f}"


def tenths_percent(tenths: int) -> str:
    """A share in tenths of a per cent: 79.2 %. No share is nothing."""
    return f"{tenths / 10:.1f} %" if tenths else "< 0.1 %"


def count_of(n: int, thing: str, things: str | None = None) -> str:
    return f"1 {thing}" if n == 1 else f"{n:,} {things or f'{thing}s'}"


def no_folder(name: str) -> str:
    """A file's name without the folders it lies in."""
    return PurePosixPath(name.replace("\\", "/")).name or name


def no_folders(command: str) -> str:
    """A command without the folders of the files in it: they may name people and machines."""
    try:
        arguments = shlex.split(command.replace("\\", "/"))
    except ValueError:  # a quote that does not end
        arguments = command.replace("\\", "/").split()
    value_of = ["", *(word if word.startswith("--") and word not in FLAGS else "" for word in arguments)]
    plain = [i for i, word in enumerate(arguments) if not value_of[i] and not word.startswith("-")]
    formula = plain[3:]  # after privreg, fit and DATA
    return shlex.join(_argument(word, i in formula or value_of[i] in TEXT_OPTIONS) for i, word in enumerate(arguments))


def _argument(text: str, free: bool) -> str:
    """Without folders. What is `free` text, such as the name of a column, may have a / and still be no path."""
    option = re.match(r"(--[\w-]+)=", text)
    start, free = ("", free) if option is None else (option.group(), option[1] in TEXT_OPTIONS)
    value = text[len(start) :]
    looks_like_a_path = re.match(r"[/~.]|[A-Za-z]:/", value) or re.search(r"/[^/]*\.\w+$", value)
    return start + (no_folder(value) if "/" in value and (looks_like_a_path or not free) else value)


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence; of many the first."""
    return ", ".join(map(shown, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
