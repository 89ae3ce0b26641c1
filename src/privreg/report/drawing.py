"""How every chart looks, and how it becomes a file."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#222222"


@contextmanager
def style() -> Iterator[None]:
    """matplotlib as it comes, whatever the user has set, and the same file from the same numbers."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.hashsalt": "privreg",
                "svg.fonttype": "none",
                "font.size": 9.5,
                "axes.titlesize": 9.5,
                "xtick.labelsize": 9,
                "ytick.labelsize": 9.5,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "text.color": INK,
            }
        )
        yield


@style()
def svg(figure: "Figure") -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


@style()
def png(figure: "Figure") -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=150)
    return out.getvalue()
