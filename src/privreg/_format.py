"""Names and numbers as a person reads them."""

import re
import shlex
from collections.abc import Sequence
from math import ceil, exp, floor, isfinite, log10
from pathlib import PurePosixPath


def shown(text: str) -> str:
    """A name on one line: blanks for line breaks, and a mark for what cannot be printed or would reorder the text."""
    return "".join(" " if c.isspace() else c if c.isprintable() else "\ufffd" for c in text)


def number(value: float, digits: int = 5) -> str:
    """Significant digits, with a real minus sign: 0.73, −43,520, 4.6e−6."""
    text = f"{value + 0.0:{',' if abs(value) >= 1e4 else ''}.{digits}g}"
    if "e+" in text and abs(value) < 1e9:
        text = f"{float(text):,.0f}"
    return short_exponent(text).replace("-", "−").replace("inf", "∞")


def short_exponent(text: str) -> str:
    """1e-06 as 1e-6, which is how it is typed."""
    return re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", text)


def small(value: float) -> str:
    """δ, as it would be typed."""
    return short_exponent(f"{value:g}")


def span(low: float | None, high: float | None, digits: int = 4) -> str:
    return "" if low is None or high is None else f"{number(low, digits)} … {number(high, digits)}"


def plain_span(low: float | None, high: float | None) -> str:
    """The same as programs write numbers."""
    return "" if low is None or high is None else f"{low:.4g} … {high:.4g}"


def shortened(name: str, letters: int) -> str:
    """A name in at most so many letters."""
    name = shown(name)
    return name if len(name) <= letters else name[: letters - 1] + "…"


def one_in(probability: float) -> str:
    """0.000001 as "one in 1,000,000"."""
    times = 1 / probability
    if times >= 1e15:
        return f"less than one in 10^{floor(log10(times))}"
    return f"about one in {float(f'{times:.3g}'):,.0f}"


def odds_factor(epsilon: float) -> str:
    """e^ε, rounded up."""
    if epsilon > 20:
        return f"more than {10 ** min(floor(epsilon / 2.302586), 300):.0e}".replace("1e+", "10^")
    return _up(exp(epsilon), 3)


def percent(part: float) -> str:
    """Rounded up, but below 100 % unless it is 100 %: for what is at most so much."""
    if part >= 1:
        return "100 %"
    for decimals in range(1, 10):
        rounded = ceil(part * 100 * 10**decimals - 1e-9) / 10**decimals
        if rounded < 100:
            return f"{rounded:.{decimals}f} %"
    return "practically 100 %"


def count_of(n: int, thing: str) -> str:
    return f"1 {thing}" if n == 1 else f"{n:,} {thing}s"


def no_folder(name: str) -> str:
    """A file's name without the folders it lies in."""
    return PurePosixPath(name.replace("\\", "/")).name or name


def no_folders(command: str) -> str:
    """A command without the folders of the files in it: they may name people and machines."""
    try:
        arguments = shlex.split(command.replace("\\", "/"))
    except ValueError:  # a quote that does not end
        arguments = command.replace("\\", "/").split()
    return shlex.join(map(_argument, arguments))


def _argument(text: str) -> str:
    option = re.match(r"--[\w-]+=", text)
    start = option.group() if option else ""
    value = text[len(start) :]
    looks_like_a_path = re.match(r"[/~.]|[A-Za-z]:/", value) or re.search(r"/[^/]*\.\w+$", value)
    return start + (no_folder(value) if "/" in value and looks_like_a_path else value)


def _up(value: float, digits: int) -> str:
    """Significant digits, rounded up."""
    if not isfinite(value):
        return "∞"
    unit = 10.0 ** (floor(log10(value)) + 1 - digits)
    return f"{ceil(value / unit - 1e-9) * unit:.{digits}g}" if value < 1000 else f"{ceil(value):,}"


def text_table(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """Rows as lines with a ruled head, the first column to the left, the others to the left or to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *cells in rows:
        padded = [cell.rjust(w) if right else cell.ljust(w) for cell, w in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *padded]).rstrip())
    return [lines[0], "  ".join("─" * w for w in widths), *lines[1:]]


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence; of many the first."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
