"""The history of a ledger as CSV, for spreadsheets. Amounts are exact; texts are made safe to open and to print."""

import csv
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from io import StringIO
from typing import Any

from privreg._format import one_line
from privreg.privacy.ledger.lines import Amendment, Entry
from privreg.privacy.ledger.status import GRID

# What was spent and what was budgeted have columns of their own, so that a column can be added up.
_TEXTS = ("time", "dataset", "who", "what", "purpose", "reason", "unit", "state", "fingerprint")
_AMOUNTS = ("epsilon", "delta", "mu_squared", "extra_delta")
_BUDGETS = ("old_budget_epsilon", "old_budget_delta", "budget_epsilon", "budget_delta")
_FORMULA = tuple(
    "=+-@＝＋－＠'"
)  # a spreadsheet may run what begins so; ' itself, so that one ' can be taken off again


def as_text(lines: Iterable[Entry | Amendment]) -> str:
    """A head, and one line for each entry and amendment. What does not apply is empty."""
    out = StringIO()
    writer = csv.DictWriter(out, ["kind", "number", *_TEXTS, *_AMOUNTS, *_BUDGETS], restval="", lineterminator="\n")
    writer.writeheader()
    for line in lines:
        texts = {name: _safe(getattr(line, name, None) or "") for name in _TEXTS}
        writer.writerow(texts | {"number": line.number} | _amounts(line))
    return out.getvalue()


def _amounts(line: Entry | Amendment) -> dict[str, Any]:
    if isinstance(line, Entry):
        mu_squared = "" if line.mu_squared is None else _exact(line.mu_squared)
        amounts = line.epsilon, line.delta, mu_squared, line.extra_delta
        return {"kind": "entry", **dict(zip(_AMOUNTS, amounts, strict=True))}
    budgets = line.old_epsilon, line.old_delta, line.epsilon, line.delta
    return {"kind": "amendment", **dict(zip(_BUDGETS, budgets, strict=True))}


def _exact(mu_squared: Fraction) -> str:
    """A whole number of 1/GRID in decimal digits: there are at most 400 of them."""
    digits = Context(prec=1000)
    exact = digits.divide(Decimal(int(mu_squared * GRID)), Decimal(GRID))
    return f"{digits.normalize(exact):f}"


def _safe(text: str) -> str:
    """On one line, without control characters, and no formula."""
    text = one_line(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
