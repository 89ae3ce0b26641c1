"""Black-box audits: how much of the claimed ε can be proved from outputs alone, on the worst neighbours we know.

Each audit has a pair of neighbouring tables on which statistics move as far as they can, or nearly, and claims taken
from the product's own steps and receipts. What does not change between runs (ranks, scores, volumes, sums) is computed
once, by the product, on both tables; then the noise is drawn again and again, by the product's account. A whole fit is
recorded on one table and its outputs are handed to a fit on the other: that gives every step's true statistics on both
after the same earlier outputs. A run draws all steps anew from those, and so is a run of the composed mechanism along
one sequence of earlier outputs.

Every bound holds with 99.9 % confidence. One above its claim is a privacy bug, or that one chance in a thousand.

    python -m audit.blackbox [--runs 200000] [--only NAME] [--full]
"""

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, cast
from unittest.mock import patch

import numpy as np

import privreg.estimators.base
from audit import results
from audit.distinguish import Audit, Claim, Free, along, calls_of, claims_for, draw_tests, fits, log_law, proved, replay
from audit.recording import Call, Recording
from privreg import BoostedAdaSSP, DPKendall, PrivateLinearRegression, SubLasso
from privreg._types import Float64
from privreg.estimators import tukey
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.kernels import moments as moment_kernels
from privreg.kernels.values import FULL
from privreg.mechanisms import count, depth, lengths, mean, median, moments, spread
from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Pick, ProposeTestRelease
from privreg.privacy.noise import Noise, OpenDPNoise, SeededNoise
from privreg.privacy.receipt import ADAPTIVE, Receipt

CONFIDENCE = 0.999
RUNS = 200_000
EPSILON = 3.0
SMALL, LARGE = BOTH = 1e-6, 1e-2  # δ: as it should be, and one whose tail so many runs can see
HUGE = 1e308
_CHUNK = 10_000  # runs that are drawn together


@dataclass(frozen=True)
class Row:
    """What one claim's audit found."""

    mechanism: str
    what: str
    noise: str
    runs: int
    epsilon: float
    delta: float
    bound: float
    tight: float  # bound/epsilon


@dataclass(frozen=True)
class Found:
    """The rows of one audit."""

    rows: list[Row]

    @property
    def excess(self) -> list[Row]:
        """Those that prove a larger ε than was claimed."""
        return [row for row in self.rows if row.bound > row.epsilon]


def _mu_squared() -> float:
    return float(accountant.adaptive_budget(Budget(EPSILON, SMALL)))


# ---- counts, medians, spread, lengths, mean, moments


def audit_count() -> Audit:
    step = count.plan_count(Budget(EPSILON), 1 / 6)  # of a scale above 1, so that an inverted one would show

    def draw(side: int, runs: int, noise: Noise) -> Float64:
        account = Free(noise)  # the output itself is the score: the more records, the higher
        return np.array([[-float(count.lower_count(account, step, side))] for _ in range(runs)])

    return Audit("no record, and one", claims_for("count (Laplace)", [step], [0.0]), draw)


def audit_noisy_count() -> Audit:
    step = count.plan_noisy_count("count", _mu_squared())
    pairs = calls_of(lambda account, n: count.noisy_count(account, step, n), 0, 1)
    return along("no record, and one", pairs, claims_for("count (Gaussian)", [step], BOTH, ADAPTIVE))


def _audit_median(name: str, what: str, epsilon: float, values: Float64, new: float) -> Audit:
    step = median.plan_median("median", epsilon)
    tables = values, np.append(values, new)
    pairs = calls_of(lambda account, values: median.noisy_median(account, step, values), *tables)
    return along(what, pairs, claims_for(name, [step], [0.0]))


def audit_median() -> Audit:
    what = "a record at 0, and another at 2^-16: what lies between gains, and everything else loses"
    return _audit_median("median", what, EPSILON / 2, np.zeros(1), 2.0**-16)


def audit_long_median() -> Audit:
    """Long enough to be picked in two stages."""
    values = np.concatenate([np.arange(150) - 150.0, 2 + np.arange(150) / 2])
    what = "300 records, the upper half closer together, and one above all"
    return _audit_median("median of many", what, EPSILON / 4, values, HUGE)


def audit_spread() -> Audit:
    step = spread.plan_histogram("spread", _mu_squared())
    tables = np.empty(0), np.array([HUGE])
    pairs = calls_of(lambda account, values: spread.noisy_histogram(account, step, values, 0.0), *tables)
    return along("no record, and one", pairs, claims_for("spread (histogram)", [step], BOTH, ADAPTIVE))


def audit_mean() -> Audit:
    step = mean.plan_clipped_sum("mean", _mu_squared())
    tables = np.empty(0), np.array([HUGE])
    pairs = calls_of(lambda account, values: mean.noisy_clipped_sum(account, step, values, 0.0, 1.0), *tables)
    return along("no record, and one beyond the clip", pairs, claims_for("clipped mean", [step], BOTH, ADAPTIVE))


def audit_lengths() -> Audit:
    step = lengths.plan_lengths("lengths", _mu_squared())

    def release(account: Free, values: Float64) -> None:
        lengths.noisy_lengths(account, step, lengths.length_counts(values, 1.0), 1.0, 100.0)

    pairs = calls_of(release, np.empty(0), np.array([HUGE]))
    return along("no record, and one", pairs, claims_for("lengths (histogram)", [step], BOTH, ADAPTIVE))


def audit_moments() -> Audit:
    """Products and gradient at once. The new row lies between the axes, so that entries off the diagonal move too."""
    step = moments.plan_moments("moments", 2, _mu_squared(), moments.parts_for(0.8))

    def release(account: Free, residuals: Float64) -> None:
        columns = np.full((2, residuals.size), FULL, np.int16)
        rows, clips = moment_kernels.rotate(columns, np.eye(2), 1.0), np.ones(1)
        sums = moment_kernels.moment_sums(rows, residuals, clips, step.products)
        moments.release_moments(account, step, sums, 1.0, clips)

    what = "no record, and one with a row of full length and a residual beyond its clip"
    pairs = calls_of(release, np.empty(0), np.array([HUGE]))
    return along(what, pairs, claims_for("moments", [step], BOTH, ADAPTIVE))


# ---- selection


def _kendall_tables() -> tuple[Float64, Float64]:
    """Columns s, a, b and the label.

    b rises with the label, a with s, and neither pair goes with the other. The new record contradicts both: in the
    first round b loses 3/2 and the others gain 1; with s chosen, b loses 5/2 and a gains as much.
    """
    mixed = np.array([5, 4, 3, 2, 1, 0, 8, 7, 6.0])  # half of its pairs go down
    rising = np.arange(9.0)
    one = np.column_stack([mixed, mixed, rising, rising])
    return one, np.vstack([one, [9, -1, 9, -1.0]])


def audit_kendall() -> Audit:
    selector = DPKendall(k=2, epsilon=EPSILON, n_jobs=1)
    plan = cast(list[Pick], selector._plan(selector._budget(), 3))

    def told(table: Float64, first: int) -> list[Call]:
        """The steps of a selection whose first round chooses this column."""
        script = Recording(0)
        script.calls = [Call(step, None, output=at) for step, at in zip(plan, (first, 0), strict=True)]
        with Recording(0, script).running() as recording:
            selector.fit(table[:, :-1], table[:, -1])
        return recording.calls

    calls = [[told(table, first) for first in range(3)] for table in _kendall_tables()]
    laws = [[[log_law(c.statistic, s.scale) for c, s in zip(t, plan, strict=True)] for t in side] for side in calls]

    def draw(side: int, runs: int, noise: Noise) -> Float64:
        account, result = Free(noise), np.empty((runs, 2))
        for i in range(runs):
            at = account.pick(plan[0], calls[side][0][0].statistic)
            then = account.pick(plan[1], calls[side][at][1].statistic)
            first = laws[0][at][0][at] - laws[1][at][0][at]
            result[i] = first, first + laws[0][at][1][then] - laws[1][at][1][then]
        return result

    what = "nine records, and one that contradicts a column's agreement with the label, and that of two columns"
    rounds = [("DPKendall, first round", plan[:1]), ("DPKendall, two rounds", plan)]
    return Audit(what, [claim for name, steps in rounds for claim in claims_for(name, steps, [0.0])], draw)


def audit_sub_lasso() -> Audit:
    table = np.tile([1000.0, 0.0, 1000.0], (66, 1))
    selector = SubLasso(k=1, epsilon=EPSILON, group_size=10, n_jobs=1)
    pairs = fits(selector, table, [0.0, 1e9, 1e9])
    receipt = selector.receipt_
    return along(
        "66 records whose groups vote for one column, and one that turns its group's vote",
        pairs,
        [
            Claim("SubLasso, votes", receipt.steps[1].cost()["epsilon"], first=1),
            Claim("SubLasso, whole", receipt.epsilon, receipt.delta),
        ],
    )


# ---- Tukey


def _models(points: int, far: int, dimension: int, ratio: float) -> tuple[Float64, Float64]:
    """Models with wide gaps below the middle and narrow ones above, `far` of them far below; one goes to the top.

    That raises the depth of the places above the middle, which few draws hit, and lowers that of all others.
    """
    half = points // 2
    one = np.concatenate([-np.arange(1.0, half + 1), ratio * np.arange(1, half + 1)])
    one[half - far : half] = -1e30
    two = one.copy()
    two[half - 1] = ratio * (half + 1)
    return np.repeat(one[:, None], dimension, axis=1), np.repeat(two[:, None], dimension, axis=1)


def _audit_tukey(name: str, what: str, tables: Any, step: ProposeTestRelease) -> Audit:
    calibration = tukey.CALIBRATIONS["strict"]
    account = Free(SeededNoise(np.random.default_rng(0)))
    (pair,) = replay(lambda models: depth.draw_deep(account, step, models, calibration), *tables)
    cost = step.cost()
    return Audit(
        what,
        [
            Claim(f"{name}, pass or fail", float(1 / Fraction(step.scale))),
            Claim(f"{name}, output", cost["epsilon"], cost["delta"]),
        ],
        lambda side, runs, noise: draw_tests(pair, side, runs, noise),
    )


def _draw_step(delta: float, dimension: int) -> ProposeTestRelease:
    return depth.plan_draw("draw", Fraction(EPSILON), delta, dimension, tukey.CALIBRATIONS["strict"])


def _at_the_threshold(points: int, delta: float, dimension: int, ratio: float) -> Audit:
    step = _draw_step(delta, dimension)
    far = tukey.CALIBRATIONS["strict"].t(points) - step.threshold - 2
    what = f"{points} models, one of which goes from far below to the top: the distance reaches the threshold"
    return _audit_tukey(f"Tukey in {dimension}-D", what, _models(points, far, dimension, ratio), step)


def audit_tukey_1d() -> Audit:
    return _at_the_threshold(120, SMALL, 1, 0.03)


def audit_tukey_2d() -> Audit:
    return _at_the_threshold(60, LARGE, 2, 0.15)


def audit_unsafe_tukey() -> Audit:
    far = tukey.CALIBRATIONS["strict"].t(60)
    what = "60 models, one of which decides whether the draw lies far away: only the test's δ protects it"
    return _audit_tukey("Tukey, unsafe models", what, _models(60, far, 1, 0.03), _draw_step(LARGE, 1))


# ---- whole fits


def _audit_fit(name: str, what: str, model: Any, one: Float64, new: Sequence[float]) -> Audit:
    pairs = fits(model, one, new)
    return along(what, pairs, _claims_of(name, model.receipt_))


def _claims_of(name: str, receipt: Receipt) -> list[Claim]:
    """At the δ of the budget, and at one whose tail can be seen."""
    return [Claim(name, receipt.epsilon, receipt.delta), *claims_for(name, receipt.steps, [LARGE], receipt.composition)]


def _audit_adassp(rounds: int) -> Audit:
    return _audit_fit(
        f"BAS, {rounds} rounds",
        "a record at 1e9 with the label 0, and one at 0 with 1e308: orthogonal rows of full length",
        BoostedAdaSSP(EPSILON, SMALL, rounds=rounds, n_jobs=1),
        np.array([[1e9, 0.0]]),
        [0.0, HUGE],
    )


def _halves(records: int) -> Float64:
    """As many records at −1 as at 1, and one between: a median that one record more moves to either side."""
    return np.concatenate([np.full(records // 2, -1.0), [0.3], np.full(records // 2, 1.0)])


def audit_constant() -> Audit:
    values = _halves(30)
    return _audit_fit(
        "flagship, constant",
        "31 records on two sides of a median, and one with the label 1e308",
        PrivateLinearRegression(EPSILON, SMALL, n_jobs=1),
        np.column_stack([values, values]),
        [HUGE, HUGE],
    )


def audit_phases() -> Audit:
    values = _halves(300)
    column = np.random.default_rng(1).permutation(values)
    return _audit_fit(
        "flagship, three phases",
        "301 records with two equal columns, and one of 1e308 that goes with one of them and contradicts the other",
        PrivateLinearRegression(EPSILON, SMALL, k=1, n_jobs=1),
        np.column_stack([column, column, values]),
        [-HUGE, HUGE, HUGE],
    )


def audit_k_tukey() -> Audit:
    """Feature selection, count, test and draw. Seed and table are such that the test is near its threshold."""
    rng = np.random.default_rng(7)
    column, label = rng.normal(size=600), -np.exp(rng.normal(size=600))
    table = np.vstack([np.column_stack([column, column, label]), np.tile([0.0, 0.0, -1e30], (6, 1))])
    model = SelectThenRegress("kendall", "tukey", k=1, epsilon=EPSILON, delta=LARGE, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = fits(model, table, [0.0, 1e3, -1e30], seed=3)
    later = replace(model.receipt_, own=model.receipt_.own[1:])  # without the choice of a feature
    parts = [("K-Tukey", model.receipt_, 0), ("Tukey regression", later, 1)]
    return along(
        "606 records, six of them far below, and one that takes another model there",
        pairs,
        [Claim(name, receipt.epsilon, receipt.delta, first) for name, receipt, first in parts],
    )


def audit_refits() -> Audit:
    """Whole fits, and only what a user sees. The weights of the score are those of the releases behind it."""
    values = np.column_stack([_halves(30), _halves(30)])
    tables = values, np.vstack([values, [HUGE, HUGE]])
    model = PrivateLinearRegression(EPSILON, SMALL, n_jobs=1)

    def fit(side: int, noise: Noise) -> PrivateLinearRegression:
        with patch.object(privreg.estimators.base, "noise_for", lambda _: noise):
            return model.fit(tables[side][:, :-1], tables[side][:, -1])

    receipt = fit(0, SeededNoise(np.random.default_rng(0))).receipt_
    own = {step.name: step for step in receipt.steps}
    counted, middle = own["count the records again"], own["median of the target"]
    claims = _claims_of("flagship, whole refits", receipt)

    def draw(side: int, runs: int, noise: Noise) -> Float64:
        scores = np.empty(runs)
        for i in range(runs):
            fit(side, noise)
            above = np.sign(model.intercept_ - 0.3) * middle.cost()["epsilon"] / 2
            scores[i] = -model.n_records_ * float(counted.mu_squared or 0) - above
        return np.repeat(scores[:, None], len(claims), axis=1)

    what = "as in constant mode, but each run is a whole fit, and only n_records_ and intercept_ are looked at"
    return Audit(what, claims, draw, one_in=10)


AUDITS: dict[str, Callable[[], Audit]] = {
    "count": audit_count,
    "noisy count": audit_noisy_count,
    "kendall": audit_kendall,
    "sublasso": audit_sub_lasso,
    "median": audit_median,
    "long median": audit_long_median,
    "spread": audit_spread,
    "lengths": audit_lengths,
    "mean": audit_mean,
    "moments": audit_moments,
    "tukey 1-D": audit_tukey_1d,
    "tukey 2-D": audit_tukey_2d,
    "tukey unsafe": audit_unsafe_tukey,
    "k-tukey": audit_k_tukey,
    "bas 5": lambda: _audit_adassp(5),
    "bas 100": lambda: _audit_adassp(100),
    "flagship constant": audit_constant,
    "flagship phases": audit_phases,
    "flagship refits": audit_refits,
}
# With OpenDP these take long, and draw nothing that others do not: only with --full.
_SLOW = {
    "sublasso",
    "long median",
    "tukey 2-D",
    "tukey unsafe",
    "k-tukey",
    "bas 100",
    "flagship constant",
    "flagship refits",
}


# ---- running them


def run(
    name: str,
    noise: str = "seeded",
    runs: int = 20_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    pool: ProcessPoolExecutor | None = None,
) -> Found:
    """One audit, a row for each of its claims; in this process unless there is a pool.

    The pilot runs, a fifth more, only choose which event to look at, so their noise is always the seeded one.
    """
    audit = AUDITS[name]()
    runs = -(-runs // audit.one_in)
    samples = [("seeded", 0, runs // 5), ("seeded", 1, runs // 5), (noise, 0, runs), (noise, 1, runs)]
    streams = np.random.SeedSequence([seed, list(AUDITS).index(name)]).spawn(len(samples))
    if pool is None:
        scores = [
            np.concatenate([_draw(audit, *part) for part in _parts(*s)]) for s in zip(samples, streams, strict=True)
        ]
    else:
        waiting = [
            [pool.submit(_draw_elsewhere, name, *part) for part in _parts(*s)]
            for s in zip(samples, streams, strict=True)
        ]
        scores = [np.concatenate([future.result() for future in futures]) for futures in waiting]
    rows = []
    for i, claim in enumerate(audit.claims):
        own = [sample[:, i] for sample in scores]
        bound = proved(own[:2], own[2:], claim.delta, confidence)
        found = (noise, runs, claim.epsilon, claim.delta, bound, bound / claim.epsilon)
        rows.append(Row(claim.mechanism, audit.what, *found))
    return Found(rows)


def _parts(sample: tuple[str, int, int], seed: np.random.SeedSequence) -> list[tuple[str, int, int, Any]]:
    """Runs that are drawn together, each part with its own seed, however many processes there are."""
    noise, side, runs = sample
    sizes = [min(_CHUNK, runs - first) for first in range(0, runs, _CHUNK)]
    return [(noise, side, size, own) for size, own in zip(sizes, seed.spawn(len(sizes)), strict=True)]


def _draw(audit: Audit, noise: str, side: int, runs: int, seed: np.random.SeedSequence) -> Float64:
    return audit.draw(side, runs, SeededNoise(np.random.default_rng(seed)) if noise == "seeded" else OpenDPNoise())


_built = cache(lambda name: AUDITS[name]())


def _draw_elsewhere(name: str, *part: Any) -> Float64:
    return _draw(_built(name), *part)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audits, keep what they found, and return 1 if a bound is above its claim."""
    parser = argparse.ArgumentParser(prog="python -m audit.blackbox", description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="on each of the two tables")
    parser.add_argument("--only", choices=list(AUDITS), help="one audit; the file of results is left alone")
    parser.add_argument("--full", action="store_true", help="OpenDP's noise for all, which takes much longer")
    asked = parser.parse_args(arguments)
    started, rows, wrong = time.perf_counter(), list[Row](), list[Row]()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for name in [asked.only] if asked.only else AUDITS:
            for kind in ("seeded", "OpenDP") if asked.full or name not in _SLOW else ("seeded",):
                found = run(name, kind, asked.runs, pool=pool)
                rows, wrong = rows + found.rows, wrong + found.excess
                print(*(_line(row, time.perf_counter() - started) for row in found.rows), sep="\n", flush=True)
    print(f"{len(rows)} bounds, {len(wrong)} above the claim")
    if not asked.only:
        findings = {"runs": asked.runs, "confidence": CONFIDENCE, "rows": [asdict(row) for row in rows]}
        options = f" --runs {asked.runs}" * (asked.runs != RUNS) + " --full" * asked.full
        results.write("blackbox", "python -m audit.blackbox" + options, time.perf_counter() - started, findings)
    return int(bool(wrong))


def _line(row: Row, seconds: float) -> str:
    told = f"ε ≥ {row.bound:.3f} of {row.epsilon:.3f} at δ = {row.delta:g} ({row.tight:.0%})"
    return f"{seconds:5.0f} s  {row.mechanism:34} {row.noise:7} {row.runs:7,} runs  {told}"


if __name__ == "__main__":
    sys.exit(main())
