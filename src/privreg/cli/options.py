"""Options that several commands share. They are parsed here; what they mean is checked in check.py."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from privreg.cli.standard_input import data_path


def _number(given: str | Decimal) -> Decimal:
    """An exact decimal number."""
    text = str(given)
    try:
        value = Decimal(text if text.isascii() and "_" not in text else "NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise typer.BadParameter(f"{text!r} is not a number.")
    return value


def whole_or_auto(text: str) -> int | str:
    """A whole number, or the word auto."""
    if text != "auto" and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise typer.BadParameter(f'{text!r} is neither "auto" nor a whole number of at least 1.')
    return text if text == "auto" else int(text)


Data = Annotated[
    Path,
    typer.Argument(
        help="File with one record per row: CSV, TSV (also compressed), Parquet, Arrow, Excel, Stata, SPSS, SAS or "
        "JSON lines; - for standard input; or many Parquet files: a folder, or 'data/*.parquet'.",
        callback=data_path,
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of CSV or TSV, such as latin-1 or cp1252. Default: UTF-8."),
]
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Sheet of an Excel workbook. Default: the first.", show_default=False)
]
Engine = Annotated[
    str, typer.Option(metavar="auto|dask", help="auto works here; dask lets workers of a cluster read Parquet files.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Dask scheduler, e.g. tcp://host:8786. Default: workers on this machine."),
]
Target = Annotated[str | None, typer.Option(help="Column to predict, if there is no FORMULA.", show_default=False)]
Formula = Annotated[
    str | None,
    typer.Argument(help="Target and terms, e.g. 'log(pay) ~ age + I(age**2) + C(region)'.", show_default=False),
]
Where = Annotated[
    str | None,
    typer.Option(metavar="RULE", help="Use only records that meet a condition, e.g. \"age >= 18 and region != 'X'\"."),
]
Epsilon = Annotated[
    Decimal, typer.Option(parser=_number, metavar="E", help="Privacy budget ε, e.g. 1.", show_default=False)
]
Delta = Annotated[Decimal, typer.Option(parser=_number, metavar="D", help="Privacy budget δ, well below 1/records.")]
NewEpsilon = Annotated[
    Decimal | None, typer.Option("--epsilon", parser=_number, metavar="E", help="New budget ε. Default: as it was.")
]
NewDelta = Annotated[
    Decimal | None, typer.Option("--delta", parser=_number, metavar="D", help="New budget δ. Default: as it was.")
]
Features = Annotated[
    list[str] | None, typer.Option(metavar="COL,COL", help="Columns to use; may be repeated. Default: all others.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL,COL", help="Columns to leave out; may be repeated.")]
Category = Annotated[
    list[str] | None, typer.Option(metavar="COL=a,b,c", help="Declare the levels of a column; may be repeated.")
]
Categories = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help='The same as JSON: {"town": ["a", "b"]}; or dtype: the levels of types are public.'
    ),
]
Range = Annotated[
    list[str] | None,
    typer.Option(metavar="COL=LOW..HIGH", help="A range that is known from outside the data; may be repeated."),
]
Missing = Annotated[
    str, typer.Option(metavar="drop|fill", help="Leave records with a missing value out, or fill the value in.")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", help="What privreg schema, or an earlier model, found out: costs nothing."
    ),
]
Person = Annotated[
    str | None, typer.Option(metavar="COL", help="Column that names people: protects a person instead of a record.")
]
RowsPerPerson = Annotated[int, typer.Option(min=1, help="The most records kept of one person.")]
Purpose = Annotated[str | None, typer.Option(metavar="TEXT", help="What this is for, in the ledger's entry.")]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", metavar="FILE", help="Spend from the budget kept here.")]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the data set in the ledger.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before spending a budget that protects hardly anybody.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
