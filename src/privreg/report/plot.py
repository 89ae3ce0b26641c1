"""A chart of a model's coefficients for a notebook or a paper, on axes of matplotlib's."""

from typing import Any

from privreg._format import shortened
from privreg.estimators.private_linear.readable import ReadableModel
from privreg.report import charts
from privreg.report.coefficients import effect
from privreg.results.release import release_of

_WIDTH = 7.5  # inches


def plot_coefficients(model: ReadableModel, ax: Any = None) -> Any:
    """Draw the estimates of a fitted model with 95 % intervals, the largest first, and return the axes.

    Numbers are drawn for a step of one standard deviation, levels against their reference, so that they can be
    compared. A dot is hollow if its interval includes 0. Coefficients that the budget does not determine are not
    drawn. `ax` are axes to draw on; by default those of a new figure.
    """
    release = release_of(model)
    effects = charts.largest([effect(c) for c in release.coefficients])
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(_WIDTH, charts.height(effects)), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
    charts.draw_effects(ax, effects, f"change in {shortened(release.target, 24)}")
    return ax
