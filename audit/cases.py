"""What is recorded and replayed: every estimator, in the regimes in which it does different things, and commands."""

from collections.abc import Callable
from typing import Any

import numpy as np

from audit import texts
from audit.fits import (
    FORMULA,
    FORMULA_COLUMNS,
    SOME_COLUMNS,
    WHERE,
    Case,
    Released,
    fit_by_time,
    fit_dask,
    fit_estimator,
    fit_files,
    fit_formula,
    fit_lists,
    fit_texts,
    fit_texts_in_dask,
    fit_with_public_rows,
    fit_with_schema,
    known_schema,
    run_command,
    run_text_command,
)
from audit.neighbours import Cells, make_alike_table, make_hard_table, make_table, make_zeros_and_ones_table
from audit.odd import FAR, LINES, NEW_PEOPLE, PEOPLE, ROWS, odd_cell, odd_neighbour, people_table
from audit.texts import Texts, make_texts, text_neighbour
from privreg import BoostedAdaSSP, DPKendall, PrivateLinearRegression, SchemaReader, SubLasso, TukeyRegression
from privreg.estimators.select_then_regress import SelectThenRegress

Span = tuple[int, int]

_PARTS = "features are chosen, then a model is fitted to them"


def _case(
    what: str,
    make: Callable[[], Any],
    *,
    n: Span,
    d: Span,
    share: float = 1.0,
    rows: int = 1,
    kind: str = "float64",
    fit: Callable[[Any, Cells], Released] | None = None,
    **table: bool,
) -> Case:
    def draw(rng: np.random.Generator) -> Cells:
        return make_table(rng, int(rng.integers(n[0], n[1] + 1)), int(rng.integers(d[0], d[1] + 1)), **table)

    def run(cells: Cells) -> Released:
        return fit_estimator(make(), cells, kind) if fit is None else fit(make(), cells)

    return Case(what, draw, run, share, rows)


_SEEDED: dict[str, Any] = {"n_jobs": 1, "random_state": 1}


def _flagship(epsilon: float, delta: float, **options: Any) -> Callable[[], PrivateLinearRegression]:
    return lambda: PrivateLinearRegression(epsilon, delta, **options, **_SEEDED)


def _two_parts(selection: str, regression: str, epsilon: float, **more: Any) -> Callable[[], SelectThenRegress]:
    return lambda: SelectThenRegress(selection, regression, 2, epsilon, 1e-2, **more, **_SEEDED)


_ODD_PEOPLE = people_table(PEOPLE, NEW_PEOPLE)
_PEOPLE_BY_TIME = people_table(range(50), (FAR, -FAR, 10**11))

NUMBERS = {
    "PrivateLinearRegression": _case("all columns", _flagship(3, 1e-3), n=(100, 400), d=(1, 5), share=3),
    "PrivateLinearRegression, screening": _case(
        "columns are chosen", _flagship(1, 1e-3), n=(200, 300), d=(8, 12), share=2
    ),
    "PrivateLinearRegression, k": _case("two columns", _flagship(5, 1e-2, k=2), n=(100, 300), d=(3, 6), share=2),
    "PrivateLinearRegression, long tails": _case(
        "many records, and rows beyond a wide radius", _flagship(8, 1e-2), n=(2000, 3000), d=(2, 3), share=0.5
    ),
    "PrivateLinearRegression, few records": _case("a constant", _flagship(0.2, 1e-6), n=(0, 40), d=(1, 4)),
    "PrivateLinearRegression, categories": _case(
        "a data frame with declared levels", _flagship(3, 1e-3), n=(50, 300), d=(1, 3), levels=True
    ),
    "PrivateLinearRegression, people": _case(
        "one person more or less, of whom two records are kept",
        _flagship(5, 1e-2, rows_per_person=2), n=(150, 400), d=(1, 3), share=1.5, rows=2, people=True,
    ),
    "PrivateLinearRegression, single precision": _case(
        "an array of float32", _flagship(3, 1e-3), n=(50, 200), d=(1, 3), share=0.5, kind="float32"
    ),
    "DPKendall": _case("three rounds", lambda: DPKendall(3, 1, **_SEEDED), n=(0, 60), d=(4, 7), share=3),
    "DPKendall, categories": _case(
        "a data frame with declared levels", lambda: DPKendall(2, 1, 1e-6, **_SEEDED), n=(0, 60), d=(2, 4), levels=True
    ),
    "DPKendall, all columns": _case(
        "nothing to choose", lambda: DPKendall(9, 1, **_SEEDED), n=(0, 60), d=(2, 4), share=0.3
    ),
    "SubLasso": _case("groups of k records", lambda: SubLasso(2, 4, **_SEEDED), n=(0, 80), d=(3, 6), share=3),
    "SubLasso, groups of d": _case(
        "groups of as many records as columns", lambda: SubLasso(2, 4, group_size="d", **_SEEDED), n=(20, 80), d=(3, 6)
    ),
    "SubLasso, delta": _case(
        "more rounds than columns with a vote", lambda: SubLasso(3, 2, 1e-4, **_SEEDED), n=(20, 80), d=(4, 6), share=0.5
    ),
    "TukeyRegression": _case(
        "the test passes or fails",
        lambda: TukeyRegression(20, 1e-2, group_size=4, **_SEEDED), n=(150, 300), d=(1, 3), share=3,
    ),
    "TukeyRegression, known count": _case(
        "the number of records comes from elsewhere",
        lambda: TukeyRegression(25, 1e-2, n_records=200, **_SEEDED), n=(150, 300), d=(1, 2),
    ),
    "TukeyRegression, large delta": _case(
        "a draw that is private by its test only",
        lambda: TukeyRegression(3, 0.05, group_size=2, **_SEEDED), n=(100, 200), d=(1, 1),
    ),
    "TukeyRegression, few records": _case(
        "too few models for a release", lambda: TukeyRegression(1, 1e-6, **_SEEDED), n=(0, 60), d=(1, 3), share=0.5
    ),
    "BoostedAdaSSP": _case(
        "five rounds", lambda: BoostedAdaSSP(1, 1e-5, rounds=5, **_SEEDED), n=(0, 60), d=(1, 6), share=2
    ),
    "BoostedAdaSSP, clips": _case(
        "other clips",
        lambda: BoostedAdaSSP(1, 1e-5, rounds=5, clip_x=7, clip_y=250, **_SEEDED), n=(0, 60), d=(1, 4), share=0.5,
    ),
    "BoostedAdaSSP, as published": _case(
        "a hundred rounds, the reference ridge",
        lambda: BoostedAdaSSP(1, 1e-5, ridge="reference", **_SEEDED), n=(0, 60), d=(1, 4), share=0.5,
    ),
    "K-Tukey": _case(_PARTS, _two_parts("kendall", "tukey", 25), n=(150, 300), d=(3, 5), share=1.5, gaps=False),
    "L-Tukey": _case(_PARTS, _two_parts("sublasso", "tukey", 25), n=(150, 300), d=(3, 5), share=1.5, gaps=False),
    "K-BAS": _case(_PARTS, _two_parts("kendall", "adassp", 3), n=(10, 60), d=(3, 5), share=0.5, gaps=False),
    "L-BAS": _case(_PARTS, _two_parts("sublasso", "adassp", 3), n=(10, 60), d=(3, 5), share=0.5, gaps=False),
    "privreg fit": Case(
        "the command on a CSV file, with model, report and ledger",
        lambda rng: make_table(rng, int(rng.integers(100, 300)), int(rng.integers(1, 4)), levels=bool(rng.integers(2))),
        run_command,
        0.3,
    ),
    "privreg fit, people": Case(
        "the command with --person and --json",
        lambda rng: make_table(rng, int(rng.integers(100, 300)), 2, people=True),
        lambda cells: run_command(cells, "--rows-per-person", "2", "--json"),
        0.2,
        rows=2,
    ),
    "PrivateLinearRegression, on samples": _case(
        "two columns, each chosen on a sample of the records",
        _flagship(5, 1e-2, k=2, max_rows_for_selection=80), n=(100, 300), d=(3, 6), share=1.5,
    ),
    "PrivateLinearRegression, Parquet": _case(
        "files that stay on disk", _flagship(3, 1e-3), n=(0, 300), d=(1, 3), share=0.5, fit=fit_files
    ),
    "PrivateLinearRegression, k, Parquet": _case(
        "files with a category, columns are chosen",
        _flagship(5, 1e-2, k=2), n=(100, 300), d=(2, 4), share=0.5, levels=True, fit=fit_files,
    ),
    "privreg fit, odd lines": Case(
        "the command on a CSV file with a line that is no record",
        lambda rng: make_table(rng, int(rng.choice([0, 0, 3, 150])), 2, levels=bool(rng.integers(2))),
        run_command,
        0.3,
        neighbour=odd_neighbour(LINES),
    ),
    "PrivateLinearRegression, lists": Case(
        "lists, one row of which is no row",
        lambda rng: make_table(rng, int(rng.integers(3, 200)), int(rng.integers(2, 4))),
        lambda cells: fit_lists(_flagship(3, 1e-3)(), cells),
        neighbour=odd_neighbour(ROWS),
    ),
    "PrivateLinearRegression, odd people": Case(
        "people with identifiers that Python takes for the same",
        _ODD_PEOPLE[0],
        lambda cells: fit_estimator(_flagship(5, 1e-2, rows_per_person=2)(), cells),
        rows=2,
        neighbour=_ODD_PEOPLE[1],
    ),
    "PrivateLinearRegression, people by time": Case(
        "people told apart by points in time, one of them far away",
        _PEOPLE_BY_TIME[0],
        lambda cells: fit_by_time(_flagship(5, 1e-2, rows_per_person=2)(), cells),
        0.5,
        rows=2,
        neighbour=_PEOPLE_BY_TIME[1],
    ),
    "PrivateLinearRegression, Dask": Case(
        "a Dask frame, one cell of which has another type",
        lambda rng: make_table(rng, int(rng.integers(60, 200)), 1),
        lambda cells: fit_dask(_flagship(5, 1e-2, rows_per_person=2)(), cells),
        0.15,
        rows=2,
        neighbour=odd_cell(("x", "flag", "town", "who", "y")),
    ),
}  # fmt: skip


def _text_case(
    what: str,
    make: Callable[[], Any],
    *,
    n: Span = (100, 400),
    share: float = 1.0,
    rows: int = 1,
    columns: tuple[str, ...] = (),
    fit: Callable[..., Released] = fit_texts,
    **how: bool,
) -> Case:
    """A fit to a table of text. With `rows` above one its records belong to people, of whom so many are kept."""

    def draw(rng: np.random.Generator) -> Texts:
        return make_texts(rng, int(rng.integers(n[0], n[1] + 1)), people=rows > 1, columns=columns)

    return Case(what, draw, lambda table: fit(make(), table, **how), share, rows, text_neighbour, texts.KINDS)


def _text_command(what: str, *given: str, share: float = 0.4, rows: int = 1, columns: tuple[str, ...] = ()) -> Case:
    def draw(rng: np.random.Generator) -> Texts:
        return make_texts(rng, int(rng.integers(100, 400)), people=rows > 1, columns=columns)

    return Case(what, draw, lambda table: run_text_command(table, *given), share, rows, text_neighbour, texts.KINDS)


def _table_with_schema(rng: np.random.Generator) -> Texts:
    known_schema()
    return make_texts(rng, int(rng.integers(100, 400)), columns=SOME_COLUMNS)


_TWO: dict[str, Any] = {"rows_per_person": 2}
_FILL: dict[str, Any] = {"missing": "fill"}

TEXTS = {
    "PrivateLinearRegression, text": _text_case(
        "a data frame of objects, text and categories", _flagship(8, 1e-2), share=3
    ),
    "PrivateLinearRegression, text, fill": _text_case(
        "the same, and missing values are filled in", _flagship(8, 1e-2, **_FILL), share=2
    ),
    "PrivateLinearRegression, text, k": _text_case(
        "the same, and two columns or levels are chosen", _flagship(8, 1e-2, k=2), share=1
    ),
    "PrivateLinearRegression, text, few records": _text_case(
        "too few records to tell what a column holds", _flagship(1, 1e-4), n=(0, 60), share=0.5
    ),
    "PrivateLinearRegression, text, people": _text_case(
        "one person more or less, with equal or different new values", _flagship(12, 1e-2, **_TWO), share=2, rows=2
    ),
    "PrivateLinearRegression, text, people, fill": _text_case(
        "the same, and missing values are filled in", _flagship(12, 1e-2, **_TWO, **_FILL), rows=2
    ),
    "PrivateLinearRegression, text, Parquet": _text_case(
        "files with text and a category", _flagship(8, 1e-2), files=True
    ),
    "PrivateLinearRegression, text, Parquet, people": _text_case(
        "files with text, and people", _flagship(12, 1e-2, **_TWO, **_FILL), share=0.5, rows=2, files=True
    ),
    "PrivateLinearRegression, text, Dask": _text_case(
        "a Dask frame of objects", _flagship(8, 1e-2), share=0.15, fit=fit_texts_in_dask
    ),
    "PrivateLinearRegression, text, Dask, people": _text_case(
        "a Dask frame of objects, and people", _flagship(12, 1e-2, **_TWO), share=0.1, rows=2, fit=fit_texts_in_dask
    ),
    "PrivateLinearRegression, schema": Case(
        "a schema that was released before",
        _table_with_schema,
        lambda table: fit_with_schema(_flagship(8, 1e-2)(), table),
        neighbour=text_neighbour,
        kinds=texts.KINDS,
    ),
    "PrivateLinearRegression, formula": _text_case(
        "a formula with products and computed columns, and a filter",
        _flagship(12, 1e-2), share=2, columns=FORMULA_COLUMNS, fit=fit_formula,
    ),
    "PrivateLinearRegression, formula, fill, people": _text_case(
        "the same for people, and missing values are filled in",
        _flagship(16, 1e-2, **_TWO, **_FILL), rows=2, columns=FORMULA_COLUMNS, fit=fit_formula,
    ),
    "PrivateLinearRegression, formula, Parquet, people": _text_case(
        "the same in files", _flagship(16, 1e-2, **_TWO), share=0.5, rows=2, columns=FORMULA_COLUMNS,
        fit=fit_formula, files=True,
    ),
    "K-BAS, formula": _text_case(
        "reading, then " + _PARTS, _two_parts("kendall", "adassp", 40), share=0.5, columns=FORMULA_COLUMNS,
        fit=fit_formula,
    ),
    "SchemaReader": _text_case("a table is read, and nothing more", lambda: SchemaReader(4, 1e-2, **_SEEDED), share=2),
    "SchemaReader, fill, people": _text_case(
        "the same with centres, and people", lambda: SchemaReader(8, 1e-2, **_TWO, **_FILL, **_SEEDED), rows=2
    ),
    "DPKendall, text": _text_case("reading, then three rounds", lambda: DPKendall(3, 20, 1e-2, **_SEEDED)),
    "DPKendall, text, people": _text_case(
        "the same for people", lambda: DPKendall(2, 30, 1e-2, **_TWO, **_FILL, **_SEEDED), rows=2
    ),
    "SubLasso, text": _text_case("reading, then votes", lambda: SubLasso(2, 20, 1e-2, **_FILL, **_SEEDED)),
    "SubLasso, text, people": _text_case(
        "the same for people", lambda: SubLasso(2, 30, 1e-2, **_TWO, **_SEEDED), share=0.5, rows=2
    ),
    "TukeyRegression, text": _text_case(
        "reading, then a test", lambda: TukeyRegression(30, 1e-2, group_size=6, **_FILL, **_SEEDED)
    ),
    "TukeyRegression, text, people": _text_case(
        "the same for people", lambda: TukeyRegression(60, 1e-2, group_size=6, **_TWO, **_SEEDED), share=0.5, rows=2
    ),
    "BoostedAdaSSP, text": _text_case(
        "reading, then five rounds", lambda: BoostedAdaSSP(20, 1e-2, rounds=5, **_FILL, **_SEEDED)
    ),
    "BoostedAdaSSP, text, people": _text_case(
        "the same for people", lambda: BoostedAdaSSP(30, 1e-2, rounds=5, **_TWO, **_SEEDED), share=0.5, rows=2
    ),
    "K-Tukey, text": _text_case("reading, then " + _PARTS, _two_parts("kendall", "tukey", 40, **_FILL)),
    "L-BAS, text": _text_case("reading, then " + _PARTS, _two_parts("sublasso", "adassp", 30), share=0.5),
    "K-BAS, text, people": _text_case(
        "the same for people", _two_parts("kendall", "adassp", 40, **_TWO), share=0.5, rows=2
    ),
    "L-Tukey, text, people": _text_case(
        "the same for people", _two_parts("sublasso", "tukey", 60, **_TWO, **_FILL), share=0.5, rows=2
    ),
    "privreg fit, text": _text_command("the command on a CSV file with text", "fit"),
    "privreg fit, text, fill": _text_command("the same with --missing fill", "fit", "--missing", "fill", share=0.3),
    "privreg fit, text, people": _text_command(
        "the same with --person and --json", "fit", "--rows-per-person", "2", "--json", share=0.3, rows=2
    ),
    "privreg fit, text, by a plan": _text_command(
        "the same with --method", "fit", "--method", "K-BAS", "--k", "2", share=0.2
    ),
    "privreg fit, formula": _text_command(
        "the command with a formula and a filter", "fit", FORMULA, "--where", WHERE, share=0.4, columns=FORMULA_COLUMNS
    ),
    "privreg schema": _text_command("the command that only reads", "schema", share=0.4),
    "privreg schema, people": _text_command(
        "the same with --person and --missing fill", "schema", "--rows-per-person", "2", "--missing", "fill",
        share=0.3, rows=2,
    ),
}  # fmt: skip

HARD = {
    "PrivateLinearRegression, hard rows": Case(
        "columns that nearly say the same, residuals with a heavy tail, rows far from all others",
        lambda rng: make_hard_table(rng, int(rng.integers(200, 600)), int(rng.integers(2, 5))),
        lambda cells: fit_estimator(_flagship(6, 1e-2)(), cells),
        1.5,
    ),
}

PUBLIC = {
    "PrivateLinearRegression, public rows": _case(
        "public rows tell about all columns",
        _flagship(3, 1e-3), n=(100, 400), d=(1, 5), share=1.5, fit=fit_with_public_rows,
    ),
    "PrivateLinearRegression, public rows, k": _case(
        "public rows tell about two columns or levels that are chosen",
        _flagship(5, 1e-2, k=2), n=(100, 300), d=(2, 5), levels=True, fit=fit_with_public_rows,
    ),
}  # fmt: skip

SIDES = {
    "PrivateLinearRegression, sides": _case(
        "columns are chosen by sides", _flagship(5, 1e-2, k=3), n=(150, 300), d=(5, 9), share=2
    ),
    "PrivateLinearRegression, sides of levels": _case(
        "columns and declared levels are chosen by sides", _flagship(5, 1e-2, k=3), n=(150, 300), d=(4, 6), levels=True
    ),
}

TOGETHER = {
    "PrivateLinearRegression, together": Case(
        "columns that are alike are used together",
        lambda rng: make_alike_table(rng, int(rng.integers(300, 330)), int(rng.integers(180, 190))),
        lambda cells: fit_estimator(_flagship(1.6, 1e-2)(), cells),
        0.5,
    ),
}

LITTLE = {
    "PrivateLinearRegression, zeros and ones": Case(
        "few records whose target is 0 or 1, or nearly always",
        lambda rng: make_zeros_and_ones_table(rng, int(rng.integers(30, 120)), int(rng.integers(1, 4))),
        lambda cells: fit_estimator(_flagship(3, 1e-3)(), cells),
        2,
    ),
}

CASES = NUMBERS | TEXTS | HARD | PUBLIC | SIDES | TOGETHER | LITTLE
