"""`privreg paper`: from what was typed to a run, and from a run to what is printed."""

import json
import os
from dataclasses import dataclass
from math import log
from pathlib import Path

import typer
from joblib import cpu_count
from rich.console import Console
from rich.table import Column, Table

from privreg.errors import DataError
from privreg.estimators.methods import METHODS, REGISTRY
from privreg.paper.datasets import tasks
from privreg.paper.results import COMPARED, Results, epsilon_name, load, positive
from privreg.paper.runner import Settings
from privreg.paper.runner import run as run_settings
from privreg.paper.watch import Watch


@dataclass(frozen=True)
class Options:
    """As typed."""

    data: str
    out: Path
    k: list[int]
    trials: int
    epsilon: str
    delta: float
    methods: str
    tasks: str
    jobs: int
    seed: int
    jitter: bool
    retry: bool
    cache: Path | None
    server: str | None

    def settings(self) -> Settings:
        """As meant."""
        default = [m.name for m in REGISTRY.values() if m.name in METHODS or m.headline]
        methods = default if self.methods == "" else REGISTRY if self.methods == "all" else _listed(self.methods)
        return Settings(
            ks=tuple(dict.fromkeys(self.k)),
            trials=self.trials,
            epsilons=tuple(dict.fromkeys(_epsilon(e) for e in _listed(self.epsilon))),
            delta=self.delta,
            methods=tuple(dict.fromkeys(methods)),
            tasks=tuple(_task(t) for t in _listed(self.tasks)),
            seed=self.seed,
            jitter=self.jitter,
            jobs=self.jobs or cpu_count(),
            retry=self.retry,
        )

    def command(self) -> str:
        """The command without the folders of this machine."""
        words = ["privreg paper run --data", "openml" if self.data == "openml" else "DIR"]
        words += [f"--k {k}" for k in self.k]
        words += [f"--trials {self.trials} --epsilon {self.epsilon} --delta {self.delta:g} --seed {self.seed}"]
        words += [f"--{name} {value}" for name, value in (("methods", self.methods), ("tasks", self.tasks)) if value]
        words += ["--jitter"] if self.jitter else []
        return " ".join([*words, "--out DIR"])


def run(options: Options, as_json: bool) -> None:
    """Run, and print what came out."""
    settings = options.settings()
    watch = Watch(settings.jobs)
    if settings.jobs > cpu_count():
        watch.say(f"--jobs {settings.jobs} is more than the {cpu_count()} cores: they will be slower together")
    try:
        with watch:
            folder, missing = _source(settings, options, watch)
            results = run_settings(settings, folder, options.out, options.command(), missing, watch)
    except KeyboardInterrupt:
        watch.say("stopped. Finished trials are kept: the same command goes on from here.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(results.summary(), ensure_ascii=False))
        return
    Console().print(_overview(results))
    typer.echo(f"Tables, charts and a page: privreg paper report {options.out}")


def report(folder: Path, as_json: bool) -> None:
    """Write the report, and say where."""
    from privreg.paper.report import write_report

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


def _source(settings: Settings, options: Options, watch: Watch) -> tuple[Path, dict[int, str]]:
    """The folder of the data sets, and why some could not be fetched into it."""
    if options.data != "openml":
        return Path(options.data), {}
    from privreg.paper.openml_data import fetch

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = options.cache or home / "privreg" / "openml"
    for task in settings.tasks:
        if task not in tasks():
            raise DataError(f"--tasks: {task} is not one of the paper's tasks")
    wanted = [t for t in tasks().values() if not settings.tasks or t.id in settings.tasks]
    problems = fetch(wanted, folder, server=options.server, progress=watch.say)
    for problem in dict.fromkeys(problems.values()):
        watch.say(problem)
    if len(problems) == len(wanted):
        raise DataError("no data set could be fetched")
    return folder, problems


def _overview(results: Results) -> Table:
    """The methods in a few figures; R² > 0 is counted on complete data sets."""
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
