"""`privreg paper run` and `report`. The work is done in paper.py."""

from pathlib import Path

import typer

from privreg.cli.messages import Command

app = typer.Typer(help="Rerun the evaluation of the paper and read it beside the published results.")


@app.command(cls=Command)
def run(
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
    from privreg.cli.paper import Options
    from privreg.cli.paper import run as run_paper

    options = Options(data, out, k, trials, epsilon, delta, methods, tasks, jobs, seed, jitter, retry, cache, server)
    run_paper(options, as_json)


@app.command(cls=Command)
def report(
    folder: Path = typer.Argument(..., help="The folder of a run."),
    as_json: bool = typer.Option(False, "--json", help="Print the names of the files as one JSON object."),
) -> None:
    """Tables, charts and an HTML page from the results of a run, also while it is going on."""
    from privreg.cli.paper import report as report_paper

    report_paper(folder, as_json)
