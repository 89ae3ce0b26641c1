"""The `privreg` command: parses and prints. The work is done elsewhere, and imported only when needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

app = typer.Typer(
    name="privreg",
    help="Differentially private linear regression without data bounds or tuning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@contextmanager
def one_line(command: str) -> Iterator[None]:
    """What is wrong with the input in one line, not as a traceback."""
    from privreg.errors import PrivregError

    try:
        yield
    except (ValueError, PrivregError) as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    else:
        return
    typer.echo(f"privreg {command}: {message}", err=True)
    raise typer.Exit(2)


def _version(asked: bool) -> None:
    if asked:
        from privreg import __version__

        typer.echo(f"privreg {__version__}")
        raise typer.Exit


paper = typer.Typer(help="Rerun the evaluation of the paper and read it beside the published results.")
app.add_typer(paper, name="paper", no_args_is_help=True)


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Differentially private linear regression without data bounds or tuning."""


@app.command()
def demo() -> None:
    """Choose the most telling measurements of 442 diabetes patients, privately, and show what it cost."""
    from privreg.demo import run

    run()


@app.command()
def plan(
    rows: int = typer.Option(..., help="Number of records in the table, roughly.", min=0),
    columns: int = typer.Option(..., help="Number of feature columns, one for each level of a category.", min=1),
    epsilon: float = typer.Option(..., help="The privacy budget ε."),
    delta: float = typer.Option(1e-6, help="The privacy budget δ."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """What accuracy to expect from a budget, before anything is spent. Reads no data."""
    import json

    from privreg.planner import plan as simulate
    from privreg.progress import bar

    with one_line("plan"), bar("simulating") as advance:
        outlook = simulate(rows, columns, epsilon, delta, progress=advance)
    typer.echo(json.dumps(outlook.to_dict()) if as_json else str(outlook))


@paper.command("run")
def paper_run(
    data: str = typer.Option(..., help='A folder of <task>_<name>.parquet files, or "openml" to fetch the 25 tasks.'),
    out: Path = typer.Option(..., help="Folder for the results. A run that was stopped goes on from there."),
    k: list[int] = typer.Option([5, 10], help="Number of features to select; may be repeated."),
    trials: int = typer.Option(10, help="Random 90/10 splits."),
    epsilon: str = typer.Option("ln3", help="Privacy budget ε, or several with commas: 0.3,1,3."),
    delta: float = typer.Option(1e-5, help="Privacy budget δ."),
    methods: str = typer.Option("", help='Methods with commas, or "all". Default: the seven, K-Tukey-strict and ours.'),
    tasks: str = typer.Option("", help="Task numbers with commas. Default: all that are there."),
    jobs: int = typer.Option(0, help="Processes. Default: one for each core."),
    seed: int = typer.Option(0, help="For the splits and the noise: the data are public, and a run can be repeated."),
    jitter: bool = typer.Option(False, "--jitter", help="Perturb features by up to 1e-6, as the published runs did."),
    retry: bool = typer.Option(False, "--retry", help="Run trials again that failed before."),
    cache: Path | None = typer.Option(None, help="Where data sets from OpenML are kept."),
    server: str | None = typer.Option(None, help="Address of another OpenML server."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as one JSON object."),
) -> None:
    """Run the paper's methods, and ours, on its data sets. For public data only: test scores are exact."""
    with one_line("paper run"):
        from privreg.paper.command import Options, run

        options = Options(
            data, out, k, trials, epsilon, delta, methods, tasks, jobs, seed, jitter, retry, cache, server
        )
        run(options, as_json)


@paper.command("report")
def paper_report(
    folder: Path = typer.Argument(..., help="The folder of a run."),
    as_json: bool = typer.Option(False, "--json", help="Print the names of the files as one JSON object."),
) -> None:
    """Tables, charts and an HTML page from the results of a run, also while it is going on."""
    with one_line("paper report"):
        from privreg.paper.command import report

        report(folder, as_json)
