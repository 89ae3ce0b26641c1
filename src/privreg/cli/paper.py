"""`privreg paper run` and `report`: from what was typed to a run, and from a run to what is printed."""

import json
import os
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Column, Table

from privreg.errors import DataError
from privreg.estimators.methods import METHODS, REGISTRY

if TYPE_CHECKING:
    from privreg.paper.results import Results
    from privreg.paper.runner import Settings
    from privreg.paper.watch import Watch


def run(
    data: str = typer.Option(
        ..., metavar="DIR|openml", help="Folder of <task>_<name>.parquet files, or openml to fetch the 25 tasks."
    ),
    out: Path = typer.Option(..., metavar="DIR", help="Folder for the results. A stopped run continues from there."),
    k: list[int] = typer.Option([5, 10], metavar="N", help="Number of features to select; may be repeated."),
    trials: int = typer.Option(10, metavar="N", help="Number of random 90/10 splits."),
    epsilon: str = typer.Option("ln3", metavar="E,E", help="Privacy budget ε, or several: 0.3,1,3."),
    delta: float = typer.Option(1e-5, metavar="D", help="Privacy budget δ."),
    methods: str = typer.Option(
        "",
        metavar="NAME,NAME",
        help="Methods to run, or all.",
        show_default="the seven, K-Tukey-strict and PrivateLinearRegression",
    ),
    tasks: str = typer.Option(
        "", metavar="ID,ID", help="Numbers of the tasks to run.", show_default="all that are there"
    ),
    jobs: int = typer.Option(0, metavar="N", help="Number of processes.", show_default="one for each core"),
    seed: int = typer.Option(
        0, metavar="N", help="Seed of the splits and of the noise. The data are public, so a run can be repeated."
    ),
    jitter: bool = typer.Option(False, "--jitter", help="Perturb features by up to 1e-6, as the published runs did."),
    retry: bool = typer.Option(False, "--retry", help="Run trials again that failed before."),
    cache: Path | None = typer.Option(
        None, metavar="DIR", help="Where data sets from OpenML are kept.", show_default="~/.cache/privreg/openml"
    ),
    server: str | None = typer.Option(
        None, metavar="URL", help="Address of another OpenML server.", show_default=False
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as one JSON object."),
) -> None:
    """Run the methods of the paper, and ours, on its data sets. For public data only: test scores are exact."""
    typed = SimpleNamespace(**locals())
    from joblib import cpu_count

    from privreg.paper.runner import run as run_settings
    from privreg.paper.watch import Watch

    settings = _settings(typed)
    watch = Watch(settings.jobs)
    if settings.jobs > cpu_count():
        watch.say(f"--jobs {settings.jobs} is more than the {cpu_count()} cores: they will be slower together")
    try:
        with watch:
            folder, missing = _source(settings, typed, watch)
            results = run_settings(settings, folder, out, _command(typed), missing, watch)
    except KeyboardInterrupt:
        watch.say("stopped. Finished trials are kept: the same command goes on from here.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(results.summary(), ensure_ascii=False))
        return
    Console().print(_overview(results))
    typer.echo(f"Tables, charts and a page: privreg paper report {out}")


def report(
    folder: Path = typer.Argument(..., metavar="DIR", help="Folder of a run."),
    as_json: bool = typer.Option(False, "--json", help="Print the names of the files as one JSON object."),
) -> None:
    """Write tables, charts and an HTML page from the results of a run, even while it is still running."""
    from privreg.paper.report import write_report
    from privreg.paper.results import COMPARED, load

    results = load(folder)
    written = write_report(results, folder)
    if as_json:
        typer.echo(json.dumps({"files": [file.name for file in written]}))
        return
    Console().print(_overview(results))
    for k in results.ks:
        signs = results.signs(k)
        if of := sum(signs["of"][m] for m in COMPARED):
            agree = sum(signs["agree"][m] for m in COMPARED)
            typer.echo(f"k = {k}: {agree} of {of} signs of {', '.join(COMPARED)} agree with the published ones.")
    typer.echo(f"{len(written)} files in {folder}. Open {written[0]}")


def _settings(typed: SimpleNamespace) -> "Settings":
    """The options as meant."""
    from joblib import cpu_count

    from privreg.paper.runner import Settings

    default = [m.name for m in REGISTRY.values() if m.name in METHODS or m.headline]
    methods = default if typed.methods == "" else REGISTRY if typed.methods == "all" else _listed(typed.methods)
    return Settings(
        ks=tuple(dict.fromkeys(typed.k)),
        trials=typed.trials,
        epsilons=tuple(dict.fromkeys(_epsilon(e) for e in _listed(typed.epsilon))),
        delta=typed.delta,
        methods=tuple(dict.fromkeys(methods)),
        tasks=tuple(_task(t) for t in _listed(typed.tasks)),
        seed=typed.seed,
        jitter=typed.jitter,
        jobs=typed.jobs or cpu_count(),
        retry=typed.retry,
    )


def _command(typed: SimpleNamespace) -> str:
    """The command without the folders of this machine."""
    words = ["privreg paper run --data", "openml" if typed.data == "openml" else "DIR"]
    words += [f"--k {k}" for k in typed.k]
    words += [f"--trials {typed.trials} --epsilon {typed.epsilon} --delta {typed.delta:g} --seed {typed.seed}"]
    words += [f"--{name} {value}" for name, value in (("methods", typed.methods), ("tasks", typed.tasks)) if value]
    words += ["--jitter"] if typed.jitter else []
    return " ".join([*words, "--out DIR"])


def _source(settings: "Settings", typed: SimpleNamespace, watch: "Watch") -> tuple[Path, dict[int, str]]:
    """The folder of the data sets, and why some could not be fetched into it."""
    if typed.data != "openml":
        return Path(typed.data), {}
    from privreg.paper.datasets import tasks
    from privreg.paper.openml_data import fetch

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = typed.cache or home / "privreg" / "openml"
    for task in settings.tasks:
        if task not in tasks():
            raise DataError(f"--tasks: {task} is not one of the paper's tasks")
    wanted = [t for t in tasks().values() if not settings.tasks or t.id in settings.tasks]
    problems = fetch(wanted, folder, server=typed.server, progress=watch.say)
    for problem in dict.fromkeys(problems.values()):
        watch.say(problem)
    if len(problems) == len(wanted):
        raise DataError("no data set could be fetched")
    return folder, problems


def _overview(results: "Results") -> Table:
    """The methods in a few figures; R² > 0 is counted on complete data sets."""
    from privreg.paper.results import epsilon_name, positive

    table = Table(Column("method", no_wrap=True), title=f"ε = {epsilon_name(results.epsilon)}, δ = {results.delta:g}")
    counts = {k: (positive(results.medians(k)), len(results.medians(k))) for k in results.ks}
    for k, (_, n) in counts.items():
        table.add_column(f"k = {k}: R² > 0\n(of {n})", justify="right")
    table.add_column("seconds\nin all", justify="right")
    table.add_column("share", justify="right")
    seconds = results.seconds()
    total = sum(seconds.values()) or 1.0
    for method in results.methods:
        found = [str(count.get(method, "–")) for count, _ in counts.values()]
        table.add_row(method, *found, f"{seconds[method]:.1f}", f"{100 * seconds[method] / total:.0f} %")
    return table


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _epsilon(text: str) -> float:
    try:
        return log(3) if text.replace(" ", "") == "ln3" else float(text)
    except ValueError:
        raise ValueError(f"--epsilon: {text!r} is not a number") from None


def _task(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"--tasks: {text!r} is not a task number")
    return int(text)
