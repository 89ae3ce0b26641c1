"""R² in two significant digits, as the paper prints it."""

from math import floor, inf, log10


def plain(value: float) -> str:
    """In ASCII: 0.73, -3.4, -820, and -4.5e4 from 10,000 on."""
    if value == 0 or abs(value) == inf:
        return f"{value + 0:g}"
    rounded = float(f"{value:.1e}")
    size = floor(log10(abs(rounded)))
    if -4 <= size < 4:
        return f"{rounded:.{max(1 - size, 0)}f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def pretty(value: float) -> str:
    """For people: with a real minus sign, and −∞."""
    return plain(value).replace("-", "−").replace("inf", "∞")


def latex(value: float) -> str:
    """For LaTeX's math mode. Powers of ten are written with an e to save room."""
    return plain(value).replace("inf", r"\infty").replace("e", r"\mathrm{e}")
