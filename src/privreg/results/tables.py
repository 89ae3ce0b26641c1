"""The tables of a release, as rows of text: terminal, summary and report show the same."""

from privreg._format import plain_span, text_table
from privreg.results.release import WARNING, Release

Rows = list[tuple[str, ...]]


def coefficient_table(release: Release) -> Rows:
    """Head, then a row for each coefficient and the intercept. What the method does not tell is left out."""
    errors = any(c.error is not None for c in release.coefficients)
    rows: Rows = [("feature", "coefficient", *(("std. error", "95 % interval", "linear between") if errors else ()))]
    for c in [*release.coefficients, release.intercept]:
        error = "" if c.error is None else f"{c.error:.2g}"
        told = (error, plain_span(c.low, c.high), plain_span(c.linear_from, c.linear_to)) if errors else ()
        rows.append((c.feature, f"{c.value:.5g}", *told))
    return rows


def summary_of(release: Release) -> str:
    """Notes, a table of coefficients and the receipt, as text."""
    told = release.notes + [WARNING + text for text in release.warnings]
    return "\n".join([*told, "", *text_table(coefficient_table(release), right=True), "", str(release.receipt)])
