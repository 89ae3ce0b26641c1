"""`PrivateLinearRegression` on the paper's data sets, and what each part of it is worth; writes results/flagship/.

    python benchmarks/flagship.py DATA [--trials N] [--ablations N] [--only TEXT ...]

DATA holds `<task>_<name>.parquet` files with the column to predict in `target`. The paper's protocol: random 90/10
splits, δ = 1e-5, median test R² for each data set. What counts is the mean over data sets of R²/R² of least squares,
clipped to [−1, 1]. Files whose names end in PARTIAL or NUMONLY are not the paper's data sets: means are given with and
without them. Noise is seeded, from the same discrete laws as the private one, so that a run can be repeated.

An ablation changes one thing. Its effect is the change of the mean, given with the smallest and largest effect found
when each data set is left out in turn, so that no single one can carry it. With --only, the changes whose names hold
one of the TEXTs are measured, and only their rows are written. An oracle is told for nothing what the
method has to pay for: what it gains is the most that a better way to find this out could.
"""

import argparse
import csv
import json
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg import NonDP, PrivateLinearRegression
from privreg.data.tables import Table
from privreg.paper.datasets import load, marked
from privreg.report.charts import svg
from results_charts import draw_datasets, flagship_scores

RESULTS = Path(__file__).resolve().parents[1] / "results" / "flagship"
EPSILONS = (math.log(3), 0.3, 0.1)
DELTA = 1e-5

Patch = Callable[[], None]

FIT = PrivateLinearRegression.fit


def ablations() -> dict[str, Patch]:
    """What to change, by name. Each is applied in a process of its own."""
    from privreg.estimators.private_linear import choosing, finish, fitting, phases, scales, schedule, target, together
    from privreg.estimators.private_linear.design import Centre
    from privreg.estimators.private_linear.model import WinsorisedModel
    from privreg.estimators.private_linear.state import Setting
    from privreg.mechanisms import spread
    from privreg.mechanisms.screening import screening_scores

    def constants(**values: Any) -> Patch:
        modules = (choosing, finish, fitting, phases, scales, schedule, target, together, spread)
        homes = [(module, name) for name in values for module in modules if hasattr(module, name)]
        assert {name for _, name in homes} == set(values), values

        def patch() -> None:
            for module, name in homes:
                setattr(module, name, values[name])

        return patch

    def predict_unclipped(self: WinsorisedModel, table: Table) -> NDArray[np.float64]:
        coefficients = self.in_units(len(table)) @ self.theta
        result = np.full(table.n_rows, coefficients[-1] + self.target.centre)
        for j in np.flatnonzero(coefficients[:-1]):
            result += coefficients[j] * table[int(j)]
        return result

    def choose_exactly(account: Any, events: list[Any], pairs: Any, n_records: int) -> NDArray[np.int64]:  # noqa: ARG001
        return np.argsort(-screening_scores(pairs, n_records), kind="stable")[: len(events)]

    def choose_sides_exactly(account: Any, events: list[Any], sums: Any) -> NDArray[np.int64]:  # noqa: ARG001
        return np.argsort(-np.abs(sums), kind="stable")[: len(events)]

    def centre_exactly(setting: Setting) -> dict[int, Centre]:
        scale = [scales._public_scale(setting, setting.engine, j) for j in range(len(setting.engine))]  # type: ignore[arg-type]
        return {j: Centre(found.scale.centre, level=False) for j, found in enumerate(scale)}

    def scale_exactly(setting: Setting, columns: list[int], known: Any) -> list[Any]:  # noqa: ARG001
        return [scales._public_scale(setting, setting.engine, j) for j in columns]  # type: ignore[arg-type]

    def know_columns(self: PrivateLinearRegression, X: Any, y: Any) -> Any:
        return FIT(self, X, y, public=X.copy())

    def never_by_sides(*about: Any, **more: Any) -> schedule.Schedule:
        return schedule.make_schedule(*about, **(more | {"sampled": True}))

    halves, few, many = (0.5, 0.5), schedule.FEW_PHASES, schedule.MANY_PHASES
    choices = {"SELECTION": 1e-9, "SIDES": 1e-9, "screen": choose_exactly, "choose_by_sides": choose_sides_exactly}
    known = {"MEDIANS": 1e-9, "HISTOGRAMS": 1e-9, "COLUMN_SCALES": (0, 0.4), "CENTRES": (0, 0.25)}
    known |= {"find_scales": scale_exactly, "find_centres": centre_exactly}
    return {
        "ORACLE, not private: exact choice of columns": constants(**choices),
        "ORACLE, not private: exact scales of columns": constants(**known),
        "ORACLE, not private: exact choice and scales": constants(**choices, **known),
        "ORACLE, not private: scales and products known": lambda: setattr(PrivateLinearRegression, "fit", know_columns),
        "zCDP instead of Gaussian DP": in_zcdp,
        "two phases, all columns chosen by the target": constants(FEW_PHASES=halves, MANY_PHASES=halves, LATER=0.0),
        "all columns chosen by the target": constants(LATER=0.0),
        "columns always chosen by ranks": lambda: setattr(fitting, "make_schedule", never_by_sides),
        "histograms of columns read one by one": constants(FEWEST_POOLED=np.inf),
        "picks charged as if nothing were left after them": pick_alone,
        "the last step shrunk by its own noise alone": lambda: setattr(
            finish, "noise_before", lambda _, state: np.zeros(state.width)
        ),
        "medians get as much as when picks were dearer": constants(
            MEDIANS=0.05, CENTRES=(250, 0.25), TARGET_MEDIAN=(25, 0.01, 0.30)
        ),
        "the target's histogram never above 0.02 at large S": constants(TARGET_HISTOGRAM=(80, 0.02, 0.25)),
        "k = 5": constants(MOST_COLUMNS=5),
        "columns that are alike never used together": constants(MANY_MORE=np.inf),
        "never all columns unless all can be carried": constants(NEARLY_ALL=1.0),
        "limits of columns that do not grow": constants(NARROW=0.0),
        "wide limits": lambda: setattr(Setting, "wide", property(lambda _: True, lambda *_: None)),
        "the target's limit 8 deviations instead of 6": constants(TARGET_LIMIT=8.0),
        "the target's limit never above 6 deviations": constants(TARGET_SIZE=np.inf),
        "predictions not winsorised": lambda: setattr(WinsorisedModel, "predict", predict_unclipped),
        "no mean of the target": constants(TARGET_MEAN=(1, 1e-9, 1e-9), noisy_clipped_sum=lambda *_: 0.0),
        "constant below S = 60 instead of 40": constants(SMALLEST_SIZE=60),
        "as many columns at small S as the power of 2/3 gives": constants(SCARCE=np.inf),
        "scales of columns get no more at small S": constants(COLUMN_SCALES=(60, 0.4)),
        "radius not adapted": constants(SMALLEST_SQUARE=1.0),
        "radius never wider than in the first phase": constants(WIDEST=phases.RADIUS),
        "the first phase's clip at every size": constants(CLIP_SIZE=np.inf),
        "clips by lengths of residuals at every size": constants(CLIP_SIZE=0),
        "the last clip a quantile, never balanced": constants(CROWDED=0.0),
        "the last clip balanced, however many columns": constants(CROWDED=np.inf),
        "residuals never clipped below the 0.98 quantile": constants(CLIP_LEVEL=(0, 0.98, 0.98)),
        "shares of few columns for many, too": constants(MANY_PHASES=few, MANY_PRODUCTS=schedule.FEW_PRODUCTS),
        "shares of many columns for few, too": constants(FEW_PHASES=many, FEW_PRODUCTS=schedule.MANY_PRODUCTS),
        "hardly anything for products in the last phase": constants(LAST_PRODUCTS=0.001),
        "hardly anything for R² and residual error": constants(QUALITY=1e-6),
        "best window believed from 4.0 deviations instead of 4.5": constants(PLAUSIBLE=4.0),
        "ridge 0.2 instead of 0.8": constants(RIDGE=0.2),
        "0.20 for selection by ranks instead of 0.25": constants(SELECTION=0.20),
        "0.20 for selection by sides instead of 0.15": constants(SIDES=0.20),
        "windows kept from 4.5 instead of 5.5 deviations": constants(SURE=4.5),
        "no caution in shrinking": constants(CAUTION=0.0),
    }


def pick_alone() -> None:
    """Every pick costs π/8 of its squared range."""
    from privreg.estimators.private_linear.state import Early, Setting
    from privreg.privacy.events import pick_epsilon

    Setting.early = lambda self, part, _: Early(pick_epsilon(self.share(part)), 0.0)  # type: ignore[assignment, method-assign]


def in_zcdp() -> None:
    """Account by zCDP, in units of μ² = 2ρ: a pick of ε costs ε²/4; converted by the Rényi bound."""
    from privreg.privacy import accountant, events

    def budget(wanted: accountant.Budget) -> Fraction:
        least = accountant._least_noise(
            lambda x: accountant._concentrated(1 / Fraction(x) ** 2 / 2, Fraction(wanted.delta)), wanted
        )
        return 1 / Fraction(least) ** 2

    pick_alone()
    events.PI_OVER_8 = Fraction(1, 4)
    accountant.adaptive_budget = budget  # type: ignore[assignment]


def run(task: tuple[Path, str | None, int]) -> tuple[str, dict[str, list[float]]]:
    """Test R² of each trial, by ε, for one data set under one change; of least squares too if nothing is changed."""
    file, change, trials = task
    warnings.simplefilter("ignore")
    if change is not None:
        ablations()[change]()
    data = load(file)
    X, y = data.X, data.y
    scores: dict[str, list[float]] = {f"{e:.4g}": [] for e in EPSILONS}
    if change is None:
        scores["OLS"] = []
    for trial in range(trials):
        train, test = data.split(np.random.default_rng(trial))
        for epsilon in EPSILONS:
            model = PrivateLinearRegression(epsilon, DELTA, n_jobs=1, random_state=1000 + trial)
            scores[f"{epsilon:.4g}"].append(model.fit(X[train], y[train]).score(X[test], y[test]))
        if change is None:
            scores["OLS"].append(NonDP().fit(X[train], y[train]).score(X[test], y[test]))
    return file.stem, scores


def ratios(medians: dict[str, dict[str, float]], ols: dict[str, float], epsilon: str) -> dict[str, float]:
    return {name: float(np.clip(row[epsilon] / ols[name], -1, 1)) for name, row in medians.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--ablations", type=int, default=10, help="trials of each ablation; 0 for none")
    parser.add_argument(
        "--only", metavar="TEXT", nargs="+", help="only the changes whose names hold this; others stay as they are"
    )
    args = parser.parse_args()
    files = sorted(args.data.glob("*.parquet"), key=lambda f: -f.stat().st_size)
    changes = (
        [c for c in ablations() if args.only is None or any(text in c for text in args.only)] if args.ablations else []
    )
    runs: dict[Any, dict[str, dict[str, list[float]]]] = {}
    for change, count in [
        (None, args.trials if args.only is None else args.ablations),
        *((c, args.ablations) for c in changes),
    ]:
        with ProcessPoolExecutor() as pool:  # a pool for each change, so that none outlives its own
            runs[change] = dict(pool.map(run, [(f, change, count) for f in files]))
        print(change or "the method as it is", flush=True)
    if args.only is not None:
        trials: dict[str, dict[str, list[float]]] = runs.pop(None)
        ols = {name: float(np.median(row["OLS"])) for name, row in trials.items()}
        write_ablations(trials, runs, ols, [f"{e:.4g}" for e in EPSILONS], args.ablations)
        return
    write_tables(runs.pop(None), runs, {f.stem for f in files if not marked(f)}, args.ablations)


def write_tables(
    trials: dict[str, dict[str, list[float]]],
    ablated: dict[Any, dict[str, dict[str, list[float]]]],
    whole: set[str],
    few: int,
) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    keys = [f"{e:.4g}" for e in EPSILONS]
    medians = {name: {k: float(np.median(v)) for k, v in row.items()} for name, row in sorted(trials.items())}
    ols = {name: row["OLS"] for name, row in medians.items()}
    with (RESULTS / "datasets.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["data set", "complete", "OLS", *(f"{s} {k}" for k in keys for s in ("median", "q25", "q75"))])
        for name, row in sorted(trials.items()):
            cells = [f"{q:.4f}" for k in keys for q in np.quantile(row[k], [0.5, 0.25, 0.75])]
            table.writerow([name, name in whole, f"{ols[name]:.4f}", *cells])
    summary: dict[str, Any] = {"delta": DELTA, "trials": len(next(iter(trials.values()))["OLS"]), "epsilon": {}}
    for k in keys:
        parts = ratios(medians, ols, k)
        summary["epsilon"][k] = {
            "data sets": len(parts),
            "R² > 0": sum(row[k] > 0 for row in medians.values()),
            "mean ratio": float(np.mean(list(parts.values()))),
            "mean ratio, complete": float(np.mean([v for n, v in parts.items() if n in whole])),
            "lowest median": min((row[k], name) for name, row in medians.items()),
        }
    (RESULTS / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(summary, indent=1, ensure_ascii=False))
    (RESULTS / "datasets.svg").write_bytes(svg(draw_datasets(flagship_scores(RESULTS))))
    if ablated:
        write_ablations(trials, ablated, ols, keys, few)


def write_ablations(
    trials: dict[str, dict[str, list[float]]],
    ablated: dict[str, dict[str, dict[str, list[float]]]],
    ols: dict[str, float],
    keys: list[str],
    few: int,
) -> None:
    """Effect of each change on the mean ratio, over the same splits, with its range when a data set is left out.

    Rows of other changes that are in the file stay.
    """
    base = {name: {k: float(np.median(row[k][:few])) for k in keys} for name, row in trials.items()}
    if oracles := {change: found for change, found in ablated.items() if change.startswith("ORACLE")}:
        write_oracles(oracles, keys)
    file, rows = RESULTS / "ablations.csv", {}
    if file.exists():
        with file.open(newline="") as old:
            rows = {row[0]: row[1:] for row in list(csv.reader(old))[1:]}
    for change, found in ablated.items():
        medians = {name: {k: float(np.median(row[k])) for k in keys} for name, row in found.items()}
        rows[change] = []
        for k in keys:
            before, after = ratios(base, ols, k), ratios(medians, ols, k)
            rows[change] += effect_cells([[after[name] - before[name]] for name in sorted(before)])
        print(change, rows[change])
    with file.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["change", *(f"{s} {k}" for k in keys for s in ("effect", "least", "most", "better", "worse"))])
        table.writerows([change, *rows[change]] for change in ablations() if change in rows)


def effect_cells(effects: list[list[float]]) -> list[str]:
    """Of the effects on each table: their mean, its range as one table is left out, how many are better and worse."""
    each = np.concatenate(effects)
    sums, counts = (np.array([f(table) for table in effects]) for f in (sum, len))
    without = (sums.sum() - sums) / (counts.sum() - counts)
    told = [f"{value:+.4f}" for value in (each.mean(), without.min(), without.max())]
    return [*told, str((each > 0.01).sum()), str((each < -0.01).sum())]


def write_oracles(found: dict[str, dict[str, dict[str, list[float]]]], keys: list[str]) -> None:
    """Median R² of each data set under each oracle."""
    with (RESULTS / "oracles.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["oracle", "data set", *keys])
        for change, rows in found.items():
            for name, row in sorted(rows.items()):
                table.writerow([change, name, *(f"{np.median(row[k]):.4f}" for k in keys)])


if __name__ == "__main__":
    main()
