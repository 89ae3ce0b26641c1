"""Options that several commands share. They are parsed here; what they mean is checked in check.py."""

import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from privreg.cli.help import COMPUTING, DATA, LEDGER, MODEL, OUTPUT, PRIVACY
from privreg.cli.standard_input import data_path


def _number(given: str | Decimal) -> Decimal:
    """An exact decimal number."""
    text = str(given)
    try:
        value = Decimal(text if text.isascii() and "_" not in text else "NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        point = "; use a decimal point" if re.fullmatch(r"\d*,\d+", text) else ""
        raise typer.BadParameter(f"{text!r} is not a number{point}")
    return value


def whole_or_auto(text: str) -> int | str:
    """A whole number, or the word auto."""
    if text != "auto" and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise typer.BadParameter(f'{text!r} is neither "auto" nor a whole number of at least 1')
    return text if text == "auto" else int(text)


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with one record per row: CSV, TSV (also compressed), Parquet, Arrow, Excel, Stata, SPSS, SAS or "
        "JSON lines. Use - for standard input, and a folder or 'data/*.parquet' for many Parquet files.",
        callback=data_path,
        show_default=False,
    ),
]
Formula = Annotated[
    str | None,
    typer.Argument(
        metavar="FORMULA",
        help="Target and terms instead of --target, for example 'log(pay) ~ age + I(age**2) + C(region)'.",
        show_default=False,
    ),
]

# ---- the model

Target = Annotated[
    str | None, typer.Option(metavar="COL", help="Column to predict.", show_default=False, rich_help_panel=MODEL)
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL,COL",
        help="Columns to use; may be repeated.",
        show_default="all",
        rich_help_panel=MODEL,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL,COL", help="Columns to leave out; may be repeated.", show_default=False, rich_help_panel=MODEL
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Use only the records that meet a condition, for example \"age >= 18 and region != 'X'\".",
        show_default="all records",
        rich_help_panel=MODEL,
    ),
]

# ---- privacy

Epsilon = Annotated[
    Decimal,
    typer.Option(
        parser=_number,
        metavar="E",
        help="Privacy budget ε, usually between 0.1 and 3. Smaller is more private and less accurate.",
        show_default=False,
        rich_help_panel=PRIVACY,
    ),
]
Delta = Annotated[
    Decimal,
    typer.Option(
        parser=_number,
        metavar="D",
        help="Privacy budget δ, far below 1 / number of records.",
        rich_help_panel=PRIVACY,
    ),
]
TotalEpsilon = Annotated[
    Decimal,
    typer.Option("--epsilon", parser=_number, metavar="E", help="Total of ε, over all fits.", show_default=False),
]
TotalDelta = Annotated[
    Decimal,
    typer.Option("--delta", parser=_number, metavar="D", help="Total of δ, over all fits.", show_default=False),
]
NewEpsilon = Annotated[
    Decimal | None,
    typer.Option("--epsilon", parser=_number, metavar="E", help="New total of ε.", show_default="unchanged"),
]
NewDelta = Annotated[
    Decimal | None,
    typer.Option("--delta", parser=_number, metavar="D", help="New total of δ.", show_default="unchanged"),
]
Person = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column that identifies people. Protects a person with all their records instead of one record.",
        show_default=False,
        rich_help_panel=PRIVACY,
    ),
]
RowsPerPerson = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="Use at most N records of each person.", rich_help_panel=PRIVACY),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Do not ask before spending a budget that protects hardly anybody.",
        rich_help_panel=PRIVACY,
    ),
]

# ---- the ledger

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Spend from the total budget that this ledger keeps.",
        show_default=False,
        rich_help_panel=LEDGER,
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Name of the data set in the ledger.", show_default=False, rich_help_panel=LEDGER
    ),
]
Purpose = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="What this is for; kept in the ledger.", show_default=False, rich_help_panel=LEDGER
    ),
]

# ---- what is known about the table

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="Reuse what privreg schema, or the fit of this model file, found out about the columns. Costs nothing.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="drop|fill",
        help="Leave out records with a missing value, or fill the value in.",
        rich_help_panel=DATA,
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL=A,B,C",
        help="Levels of a column that are known from outside the data; may be repeated.",
        show_default="found privately",
        rich_help_panel=DATA,
    ),
]
Categories = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='Levels of several columns, as JSON: {"town": ["a", "b"]}. Write dtype to take the levels of '
        "categorical types as public.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Range = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL=LOW..HIGH",
        help="Range of a column that is known from outside the data; may be repeated.",
        show_default="found privately",
        rich_help_panel=DATA,
    ),
]
Public = Annotated[
    Path | None,
    typer.Option(
        "--public",
        metavar="FILE",
        help="Rows that are no secret, with the columns of DATA. Centres, spreads and correlations of columns come "
        "from them and cost nothing. A part of DATA is not public.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a CSV or TSV file, such as latin-1 or cp1252.",
        show_default="UTF-8",
        rich_help_panel=DATA,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of an Excel workbook.", show_default="the first", rich_help_panel=DATA),
]

# ---- where it runs

Engine = Annotated[
    str,
    typer.Option(
        metavar="auto|dask",
        help="Compute on this machine, or let the workers of a Dask cluster read Parquet files.",
        rich_help_panel=COMPUTING,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Dask scheduler, for example tcp://host:8786.",
        show_default="workers on this machine",
        rich_help_panel=COMPUTING,
    ),
]

# ---- what is printed and written

Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the model, as JSON.", show_default=False, rich_help_panel=OUTPUT),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a report, as one HTML page.", show_default=False, rich_help_panel=OUTPUT),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist already.", rich_help_panel=OUTPUT)]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Also print where the budget went, all notes and all joint tests.",
        rich_help_panel=OUTPUT,
    ),
]
Steps = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also print where the budget went.", rich_help_panel=OUTPUT),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.", rich_help_panel=OUTPUT)]
