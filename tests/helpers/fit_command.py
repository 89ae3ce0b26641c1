"""`privreg fit` on the table of people in tests/cli/conftest.py."""

from commands import run

ROWS = 6000


BUDGET = ("--epsilon", "3", "--delta", "1e-6")


COLUMNS = ("--drop", "name,family", "--category", "town=north,south")


def fit(file, *more, expect=0):
    return run("fit", file, "--target", "pay", *BUDGET, *COLUMNS, *more, expect=expect)
