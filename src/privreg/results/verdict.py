"""The verdict on a fit: may its model be used, and what was promised to whom. From a `Release` alone."""

from privreg._format import about, listed, number, shown, supported
from privreg.privacy.promise import Verdict, bounds, broken_promise
from privreg.privacy.weak import weak_points
from privreg.results.release import MOSTLY_NOISE, NO_CENTRE, NO_NUMBERS, NO_RECORDS, Release

_SIDE = 1.959964  # standard errors to either side: a 95 % interval

_LARGE = 0.9  # an interval of R² from 0 to this tells nothing
_WIDE = 0.4  # a wider one leaves it uncertain how well the model predicts
_SMALL = 0.1  # a model that explains less than this, if anything, is not told apart from a constant by a noisy fit
_HELP = "What helps: more records, a larger ε, or fewer columns. privreg plan says how much."


def verdict(release: Release) -> Verdict:
    """What must be known first. A broken promise comes before accuracy."""
    broken = broken_promise(release.receipt)
    if broken is not None:
        return Verdict(broken.state, broken.word, broken.text, (*broken.reasons, *release.warnings))
    found = _usable(release)
    weak = weak_points(*bounds(release.receipt))
    if not weak:
        return found
    if found.state == "good":
        return Verdict("care", "Usable with care", found.text, tuple(weak))
    return Verdict(found.state, found.word, found.text, (*weak, *found.reasons))


def accuracy(release: Release) -> str | None:
    """R² with its 95 % interval; None if the method does not measure it, or noise hides it."""
    ends = r2_words(release)
    return None if ends is None else f"{ends[0]} ({ends[1]})"


def r2_words(release: Release) -> tuple[str, str] | None:
    """R², and its 95 % interval; None if the method does not measure it, or noise hides it."""
    ends = r2_interval(release)
    if ends is None or release.statistics is None or tells_nothing(ends):
        return None
    error = release.statistics.r2_error
    low, high = (supported(end, error) for end in ends)
    return f"R² {supported(release.statistics.r2, error)}", f"95 % interval {low} to {high}"


def r2_interval(release: Release) -> tuple[float, float] | None:
    """Ends of the 95 % interval of R²; no R² is above 1."""
    told = release.statistics
    if told is None or told.r2 is None or told.r2_error is None:
        return None
    return told.r2 - _SIDE * told.r2_error, min(told.r2 + _SIDE * told.r2_error, 1.0)


def tells_nothing(ends: tuple[float, float]) -> bool:
    """Whether R² may be anything, as far as its interval tells."""
    return ends[0] <= 0 and ends[1] >= _LARGE


def typical_error(release: Release) -> str | None:
    """How far predictions are off; None if the method does not measure it."""
    told = release.statistics
    if told is None or told.residual_error is None:
        return None
    return f"Predictions are typically off by {supported(told.residual_error, told.residual_error_se)}."


def records(release: Release) -> str | None:
    """Their number, as far as it was released."""
    return None if release.records is None else f"about {about(release.records)}"


def not_determined(release: Release) -> list[str]:
    """Features of the model whose coefficients the budget does not determine."""
    return [c.feature for c in release.coefficients if not c.determined]


def _usable(release: Release) -> Verdict:
    if not release.coefficients:
        return _constant(release)
    ends, hidden, reasons = r2_interval(release), not_determined(release), list(release.warnings)
    if hidden and not release.together:
        reasons.append(f"Too little data at this budget to determine the coefficient of {listed(hidden, 6)}.")
    if ends is None:
        text = f"{release.method} does not measure how well it predicts."
        advice = "Before relying on it, test it on records that are not secret."
        return Verdict("care", "Accuracy unknown", text, (*reasons, advice))
    if tells_nothing(ends):
        return _unknown(reasons, some=len(hidden) < len(release.coefficients))
    told = release.statistics
    assert told is not None
    assert told.r2 is not None
    if told.r2 <= 0:
        text = f"as far as can be told, it explains nothing of the variation in {shown(release.target)}."
        return Verdict("bad", "Not usable", text, (*reasons, _HELP))
    if ends[0] <= 0 and ends[1] < _SMALL and MOSTLY_NOISE in release.warnings:
        text = "there is no sign that it predicts better than a constant."
        return Verdict("bad", "Not usable", text, (*reasons, _HELP))
    if doubt := _doubt(ends):
        reasons.append(doubt)
    text = f"it explains {_share(told.r2)} of the variation in {shown(release.target)}."
    return Verdict("care", "Usable with care", text, tuple(reasons)) if reasons else Verdict("good", "Usable", text)


def _constant(release: Release) -> Verdict:
    """No number for a constant that may be far off."""
    helps = () if {NO_NUMBERS, NO_RECORDS}.intersection(release.warnings) else (_HELP,)
    value = "" if NO_CENTRE in release.warnings else f", {number(release.intercept.slope)} for every row"
    text = f"at this budget the data support only a constant{value}."
    return Verdict("bad", "Not usable", text, (*release.warnings, *helps))


def _unknown(reasons: list[str], *, some: bool) -> Verdict:
    """If the noise hides how well the model predicts. `some`: at least one coefficient is determined."""
    if not some:
        text = "the noise is too large to tell its coefficients, or how well it predicts."
        return Verdict("bad", "Not usable", text, (*reasons, _HELP))
    text = "the noise is too large to tell how well it predicts."
    advice = "The coefficients have their own intervals. Before relying on predictions, test them on public records."
    return Verdict("care", "Accuracy unknown", text, (*reasons, advice))


def _doubt(ends: tuple[float, float]) -> str | None:
    """What the interval of R² leaves open."""
    if ends[0] <= 0:
        return "How well it predicts is uncertain: the interval of R² includes 0."
    if ends[1] - ends[0] > _WIDE:
        return "How well it predicts is uncertain: the interval of R² is wide."
    return None


def _share(r2: float) -> str:
    """R² as a share of the variance, at most all of it."""
    part = 100 * min(max(r2, 0.0), 1.0)
    return "less than 1 %" if part < 1 else f"about {part:.0f} %"
