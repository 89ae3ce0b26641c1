"""The summary of a fit: text where it is printed, HTML where a notebook shows it."""

from collections.abc import Iterator
from dataclasses import dataclass

from privreg._format import one_line, shown, text_table
from privreg.privacy.promise import broken_promise
from privreg.privacy.receipt import Receipt
from privreg.privacy.spent import spent
from privreg.results.release import WARNING, Release
from privreg.results.tables import coefficient_cells, joint_cells, texts, with_error

ESTIMAND = "Coefficients estimate least squares on this table with every column (and the target) clipped to its range."
SHRUNK = "Predictions use coefficients that are shrunk towards 0, which predicts better."
_Rows = list[tuple[str, ...]]  # the first one is the head


@dataclass(frozen=True, repr=False)
class Summary:
    """How well the model fits, its coefficients, joint tests, what to know, and what it cost in one line."""

    release: Release

    def __str__(self) -> str:
        blocks = (block if isinstance(block, str) else "\n".join(_lines(block)) for block in self._blocks())
        return "\n".join(blocks).replace("\n\n\n", "\n\n")

    __repr__ = __str__  # as it is shown without a notebook

    def _repr_html_(self) -> str:
        from privreg.results.cards import summary_card

        return summary_card(self.release)

    def _blocks(self) -> Iterator[str | _Rows]:
        """Sentences and tables."""
        release = self.release
        yield f"{shown(release.target)}: {shown(release.method)}"
        yield from map(one_line, release.notes[:1])
        yield from fit_lines(release)
        yield texts(coefficient_cells(release))
        if release.statistics is not None and release.statistics.joint_tests:
            yield texts(joint_cells(release.statistics))
        yield from estimand(release)
        yield from map(one_line, release.notes[1:])
        yield from (WARNING + one_line(text) for text in release.warnings)
        yield budget_line(release.receipt)


def fit_lines(release: Release) -> list[str]:
    """R² and the residual standard error, if the method tells them."""
    told = release.statistics
    if told is None or told.r2 is None:
        return []
    r2 = with_error(told.r2, told.r2_error)
    return [f"R² {r2}, residual standard error {with_error(told.residual_error, told.residual_error_se)}."]


def estimand(release: Release) -> list[str]:
    """What coefficients estimate, why some are missing, and whether predictions use others."""
    if release.statistics is None or release.statistics.r2 is None or release.together:
        return []
    told = [ESTIMAND]
    if not all(c.determined for c in release.coefficients):
        told.append(
            "Not determined: at this budget, an increase of one standard deviation in the column could raise or lower "
            "the target by more than one standard deviation."
        )
    if release.statistics.shrunk:
        told.append(SHRUNK)
    return told


def budget_line(receipt: Receipt) -> str:
    """What was spent, and whom that protects, in one line."""
    broken, used = broken_promise(receipt), f"Spent {spent(receipt)}."
    return f"{used} Protected: {shown(receipt.unit)}." if broken is None else f"{used} {broken.line}"


def _lines(rows: _Rows) -> list[str]:
    return ["", *text_table(rows), ""]
