"""Names and numbers as a person reads them."""

from math import inf, log
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from privreg import _format as words
from privreg.cli.fit import fit


def test_numbers():
    assert [words.number(v) for v in (0.0, -0.0, 0.49762, 1990.0, -43523.4, 123456.0, 4.6e-06, 1e12, inf)] == [
        *("0", "0", "0.49762", "1,990", "−43,523", "123,460", "4.6e-6", "1e12", "∞")
    ]
    assert words.number(-4.6e-6) == "−4.6e-6"
    assert words.number(570.4, 2) == "570"
    assert words.number(999.99996) == "1,000"
    assert words.supported(1234.56, 1.2) == "1,234.6"
    assert words.epsilon_delta(1.0, 1e-6) == "ε = 1, δ = 1e-6"
    assert words.tenths_percent(792) == "79.2 %"
    assert words.tenths_percent(0) == "< 0.1 %"
    assert words.span(None, 1.0) == ""
    assert words.span(-1.0, 2.5) == "−1 … 2.5"


@pytest.mark.parametrize(
    ("value", "error", "text", "error_text"),
    [
        (0.51658, 0.0121, "0.517", "0.012"),
        (0.8, 0.0961, "0.800", "0.096"),
        (0.7324, 0.0996, "0.73", "0.10"),
        (-43523.4, 570.0, "−43,520", "570"),
        (-0.003, 12.0, "0", "12"),
        (1.5e-5, 2.3e-6, "1.5e-5", "2.3e-6"),
        (1.23456e12, 3.3e9, "1.2346e12", "3.3e9"),
        (1.797e308, 1e308, "1.8e308", "1e308"),  # rounding it would overflow
        (2.0, inf, "2", "∞"),
        (2.0, 0.0, "2", "0"),
        (inf, 1.0, "∞", "1.0"),
    ],
)
def test_as_many_digits_as_the_error_supports(value, error, text, error_text):
    assert (words.supported(value, error), words.supported(error, error)) == (text, error_text)
    assert words.supported(value, None) == words.number(value)
    assert words.supported(None, error) == ""


def test_statistics():
    assert [words.z_value(v) for v in (-1.955, 0.0, -0.001, 229.318, 1229.318, 123456.7, None, inf)] == [
        *("−1.96", "0.00", "0.00", "229.32", "1,229.32", "123,500", "", "")
    ]
    assert [words.pvalue(v) for v in (0.04349, 0.00099, 1e-300, 1.0, None)] == [
        "0.043",
        "< 0.001",
        "< 0.001",
        "1.000",
        "",
    ]


def test_tables_as_text():
    rows = [("name", "n"), ("a", "10"), ("bc", "9")]
    assert words.text_table(rows) == ["name   n", "────  ──", "a     10", "bc     9"]
    assert words.text_table(rows, left=2) == ["name  n", "────  ──", "a     10", "bc    9"]


def test_a_row_is_one_line():
    assert words.text_table([("name",), ("a\x1b[31m\nb",)])[2:] == ["a�[31m b"]


def test_bounds_are_rounded_up():
    assert words.odds_factor(1.0) == "2.72"
    assert words.odds_factor(log(3)) == "3"
    assert words.odds_factor(1e-9) == "1.01"
    assert words.odds_factor(8.0) == "2,981"
    assert words.odds_factor(5000.0) == "10^2172"
    assert words.percent(0.731058) == "73.2 %"
    assert words.percent(0.5) == "50.0 %"
    assert words.percent(0.99995) == "99.995 %"
    assert words.percent(1 - 1e-15) == "practically 100 %"
    assert words.percent(1.0) == "100 %"
    assert words.one_in(1e-6) == "about one in 1,000,000"
    assert words.one_in(3e-5) == "about one in 33,300"
    assert words.one_in(1e-20) == "less than one in 10^20"
    assert words.one_in(1e-310) == "less than one in 10^310"  # 1 / 1e-310 is beyond float64
    assert words.one_in(5e-324) == "less than one in 10^323"


def test_no_folder_is_shown():
    assert words.no_folder("C:\\Users\\bob\\pay.csv") == "pay.csv"
    assert words.no_folder("health") == "health"
    for typed, seen in {
        "privreg fit a/b.csv": "privreg fit b.csv",
        "privreg fit ~/x --target km/h": "privreg fit x --target km/h",
        "privreg fit C:\\Users\\bob\\pay.csv": "privreg fit pay.csv",
        "privreg fit '/al ice/pay 1.csv' --report=/tmp/r.html": "privreg fit 'pay 1.csv' --report=r.html",
        "privreg fit /a/b.csv 'open": "privreg fit b.csv ''\"'\"'open'",
        "privreg fit data/bobs_study --target y --schema ../s/x": "privreg fit bobs_study --target y --schema x",
        "privreg fit --json data/bob 'y ~ a/b' --out=bob/m": "privreg fit --json bob 'y ~ a/b' --out=m",
        "privreg fit bob~1/study --target=km/h --where 'a/b > 1'": "privreg fit study --target=km/h --where 'a/b > 1'",
        "privreg fit x.csv --ledger bob/books --dataset a/b": "privreg fit x.csv --ledger books --dataset a/b",
    }.items():
        assert words.no_folders(typed) == seen


def test_every_path_of_a_fit_is_known_as_one():
    """What is listed as text is not a path, and all that has no value is listed."""
    hints = {name: kind for name, kind in get_type_hints(fit, include_extras=True).items() if name != "return"}
    kinds = {_option(name, kind): get_args(kind)[0] for name, kind in hints.items()}
    paths = {name for name, kind in kinds.items() if kind in (Path, Path | None)}
    assert {"--out", "--report", "--ledger", "--schema", "--categories"} <= paths
    assert not paths & words.TEXT_OPTIONS
    assert set(kinds) >= words.TEXT_OPTIONS
    assert {name for name, kind in kinds.items() if kind is bool} == words.FLAGS


def _option(name, kind):
    """As it is typed."""
    about = get_args(kind)[1]  # typer keeps the first of the names as the default
    given = [each for each in (about.default, *(about.param_decls or ())) if str(each).startswith("--")]
    return given[0] if given else f"--{name.replace('_', '-')}"


def test_names_that_cannot_be_printed():
    assert words.shown("a\nb\tc") == "a b c"
    assert words.shown("x\x00\u202e\ud800y") == "x���y"


def test_plain_numbers():
    assert words.plain_number(12345.678, words.decimals_of(6.2)) == "12345.7"
    assert words.plain_number(-12345.678, words.decimals_of(620.0)) == "-12350"
    assert words.plain_number(-0.001, 1) == "0.0"
    assert words.plain_number(12345.678, words.decimals_of(None)) == "12346"
    assert words.plain_number(float("nan"), 2) == "nan"
