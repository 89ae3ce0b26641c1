"""Expressions: what people type is read as they mean it, nothing typed is run, and a value is one record's alone."""

import math
import operator
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privreg import FormulaError
from privreg.data.evaluate import Records, passes, values_of
from privreg.data.expressions import FUNCTIONS, Expression, read_condition, read_expression
from privreg.data.formula import parsed, read_formula
from privreg.data.raw import Raw, raw_of, type_of
from privreg.data.tables import read_frame
from privreg.data.words import words_of, written
from privreg.kernels.functions import NAMES, applied, power


def read(text, columns=None):
    return read_expression(words_of(text, "formula"), "formula", columns)


def tree(text):
    return read(text).tree


def number(text, **record):
    """The value of an expression for one record of numbers."""
    cells = {name: Raw("number", np.array([value], float)) for name, value in record.items()}
    return float(values_of(tree(text), Records(1, cells.__getitem__, lambda name: cells[name].values))[0])


def kept(text, frame):
    """Which rows of a frame meet a condition."""
    series = dict(zip(frame.columns, read_frame(frame).iter_columns(), strict=True))
    cells = {name: raw_of(column, type_of(column)) for name, column in series.items()}
    return passes(read_condition(text, list(frame.columns)).tree, cells.__getitem__, len(frame)).tolist()


# ---------------------------------------------------------------- what people type


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x^2", "x**2"),
        ("-x^2", "-(x**2)"),
        ("2^-1*x", "0.5*x"),
        ("x^2^3", "x**8"),
        ("np.log(x)", "log(x)"),
        ("numpy.exp(x)", "exp(x)"),
        ("I(x)", "x"),
        ("{x + 1}", "(x + 1)"),
        ("`x`", "x"),
        ("+x", "x"),
        ("a & b | c", "(a and b) or c"),
        ("a && b || c", "(a and b) or c"),
        ("!a == b", "not (a == b)"),
        ("!a & b", "(not a) and b"),
        ("x %in% c('a', 'b')", "x in ['a', 'b']"),
        ("x in ('a', 'b')", "x in ['a', 'b']"),
        ("x in 'a'", "x == 'a'"),
        ("'a' == x", "x == 'a'"),
        ('x == "a"', "x == 'a'"),
        ("x != 'a'", "not x in ['a']"),
        ("x not in ['a']", "x != 'a'"),
        ("a == TRUE", "a == True"),
        ("a == FALSE", "not a == true"),
        ("a != False", "a == TRUE"),
        ("is.na(x)", "missing(x)"),
        ("is.null(x)", "missing(x)"),
        ("1 < x <= 3", "1 < x and x <= 3"),
        ("'2020-01-31' < when", "when > '2020-01-31'"),
        ("  x  +\n 1 ", "x+1"),
        ("1e3*x", "1000*x"),
        (".5*x", "0.5 * x"),
        ("5.*x", "5*x"),
    ],
)
def test_the_spellings_of_r_and_python_mean_the_same(text, same):
    assert tree(text) == tree(same)


@pytest.mark.parametrize("name", ["net.pay", "net.pay.2020", "x.", "x_1", "_x", "été", "年齢", "C", "I", "log", "None"])
def test_names_that_need_no_backticks(name):
    assert tree(name) == ("column", name)


ODD_NAMES = ["in", "and", "not", "or", "True", "FALSE", "true", "my pay", "a  b", " a", "I(age**2)", "log(age)", "1st",
             "a-b", "'", '"', "cafe\u0301", "\u0905\u0941", "x²", "·", "a\\b", "$", "if", "lambda", "c0", "f_log",
             "ﬁ", "℘"]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_can_be_written_in_backticks(name):
    expression = read(f"`{name}` + log(`{name}`)", [name, "log"])
    assert expression.tree == ("+", ("column", name), ("call", "log", ("column", name)))
    assert parsed(expression.text).tree == expression.tree


def test_columns_are_told_in_the_order_of_their_first_use():
    found = read("b + a*log(b) + I(town == 'x')*missing(c)")
    assert found.columns == ("b", "a", "town", "c")
    assert found.numbers == ("b", "a")


def test_names_that_may_be_values_of_a_record_are_not_shown():
    """In a text file without a header, the first record is taken for one."""
    for columns in (["4711", "Smith"], ["Smith", "2020-01-31"], ["Smith", "NA"]):
        for read_it in (read_condition, read_formula):
            with pytest.raises(FormulaError, match="no column 'smith'; some column names look like values") as told:
                read_it("smith > 1" if read_it is read_condition else "smith ~ .", columns)
            assert "Smith" not in str(told.value)


def test_a_name_that_no_column_has_gets_the_nearest_one():
    with pytest.raises(FormulaError, match=r"^where: no column 'Agee'; did you mean 'age'\?$"):
        read_condition("Agee > 3", ["age", "pay"])


def test_whoever_compares_with_a_missing_value_is_told_how():
    for name in ("NA", "None", "NaN", "NULL"):
        with pytest.raises(FormulaError, match=rf"no column '{name}'; to test for a missing value, write missing\(x\)"):
            read_condition(f"age != {name}", ["age", "name"])


def test_what_is_written_has_no_more_backticks_than_it_needs():
    assert read("log( `net.pay`+`x` )-`my pay`").text == "log(net.pay + x)-`my pay`"
    assert read("x   %in%  c('a',  'b  c')").text == "x %in% c('a', 'b  c')"
    assert read_condition("!(a&b) | not c").text == "!(a & b) | not c"


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("text", "record", "value"),
    [
        ("x + y*2", {"x": 1, "y": 3}, 7.0),
        ("x - y - 1", {"x": 1, "y": 3}, -3.0),
        ("x/y/2", {"x": 12, "y": 3}, 2.0),
        ("-x^2", {"x": 3}, -9.0),
        ("2^x", {"x": 10}, 1024.0),
        ("x**0", {"x": 0}, 1.0),
        ("x**-1", {"x": 4}, 0.25),
        ("x**3", {"x": -2}, -8.0),
        ("x**0.5", {"x": 9}, 3.0),
        ("sqrt(x)", {"x": 16}, 4.0),
        ("abs(x)", {"x": -2.5}, 2.5),
        ("exp(x)", {"x": 0}, 1.0),
        ("expm1(x)", {"x": 1e-20}, 1e-20),
        ("log(x)", {"x": 1}, 0.0),
        ("log1p(x)", {"x": 1e-20}, 1e-20),
        ("log10(x)", {"x": 1000}, 3.0),
        ("log2(x)", {"x": 8}, 3.0),
        ("(x > 2) + (x > 3)*2", {"x": 3}, 1.0),
        ("x*missing(x)", {"x": 3}, 0.0),
        ("x in [3, 4]", {"x": 4}, 1.0),
    ],
)
def test_exact_values(text, record, value):
    assert number(text, **record) == value


@pytest.mark.parametrize(
    "text",
    ["log(x)", "log(-x - 1)", "1/x", "x/x", "exp(x + 1000)", "(x - 1)**.5", "sqrt(x - 1)", "x**-1", "log1p(x - 1)",
     "1e308*(x + 1e308)", "-1e308*(x + 1e308)", "log10(x)", "log2(x)", "(x + 1e200)**2", "(x - 2)**1.5",
     "expm1(x + 800)"],
)  # fmt: skip
@pytest.mark.parametrize("value", [0.0, -0.0])
def test_what_cannot_be_computed_is_missing_and_never_told(text, value):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(number(text, x=value))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("text", ["x", "x + 1", "0*x", "x**0", "1**x", "abs(x)", "exp(-abs(x))", "x > 1", "x == x"])
def test_a_missing_value_makes_everything_missing(text, value):
    assert math.isnan(number(text, x=value))


TRUTHS = {"t": True, "f": False, "m": None}


def kleene_and(a, b):
    return False if a is False or b is False else None if a is None or b is None else True


@pytest.mark.parametrize("one", TRUTHS)
@pytest.mark.parametrize("other", TRUTHS)
def test_logic_has_three_values(one, other):
    a, b = TRUTHS[one], TRUTHS[other]
    record = {"a": np.nan if a is None else float(a), "b": np.nan if b is None else float(b)}
    both = kleene_and(a, b)
    either = None if (none := kleene_and(_not(a), _not(b))) is None else not none
    for text, value in (("a & b", both), ("a | b", either), ("!a", _not(a)), ("!(a and b)", _not(both))):
        found = number(text, **record)
        assert (None if math.isnan(found) else bool(found)) is value, text


def _not(a):
    return None if a is None else not a


def test_conditions_on_columns_of_every_kind():
    frame = pd.DataFrame(
        {
            "age": [17.0, 18.0, np.nan],
            "town": ["a", None, "NA"],
            "kind": pd.Categorical(["x", "y", None]),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "plain": [True, False, True],
            "when": pd.to_datetime(["2020-01-31 23:59", "2020-02-01 00:00", None]),
            "zoned": pd.to_datetime(["2020-02-01 00:30", "2020-02-01 12:00", None]).tz_localize("Europe/Berlin"),
            "text": ["2020-02-01", "yes", "1,5"],
        }
    )
    for condition, expected in {
        "age >= 18": [0, 1, 0],
        "!(age >= 18)": [1, 0, 0],
        "town != 'b'": [1, 0, 0],
        "town == 'NA'": [0, 0, 1],
        "missing(town)": [0, 1, 1],
        "kind == 'x'": [1, 0, 0],
        "kind != 'x'": [0, 1, 0],
        "flag": [1, 0, 0],
        "not flag": [0, 0, 1],
        "flag == False": [0, 0, 1],
        "flag == 1": [1, 0, 0],
        "plain": [1, 0, 1],
        "when >= '2020-02-01'": [0, 1, 0],
        "when < '2020-02-01'": [1, 0, 0],
        "zoned >= '2020-02-01'": [0, 1, 0],
        "zoned >= '2020-02-01T00:30+01:00'": [1, 1, 0],
        "text == '2020-02-01'": [1, 0, 0],
        "text >= '2020-02-01'": [1, 0, 0],
        "text > 1": [0, 0, 1],
        "text": [0, 1, 0],
        "text in ['no', 'yes']": [0, 1, 0],
        "town in ['no', 'yes']": [0, 0, 0],
        "age > 17 or town == 'a'": [1, 1, 0],
    }.items():
        assert kept(condition, frame) == list(map(bool, expected)), condition


def test_no_and_yes_are_texts_like_all_others():
    frame = pd.DataFrame({"a": ["no", "yes", "true", "1", "No"]})
    assert kept("a in ['no', 'yes']", frame) == [True, True, False, False, False]
    assert kept("a in ['yes', 'no']", frame) == [True, True, False, False, False]


@pytest.mark.parametrize("text", ["2020-01-31", "0001-01-01", "2024-02-29", "2020-01-31T12:30",
                                  "2020-01-31 12:30:15.5",
                                  "2020-01-31T12:30Z", "2020-01-31T12:30:00+02:00",
                                  "2020-01-31 00:00-1130"])  # fmt: skip
def test_a_date_that_is_accepted_is_one(text):
    (compared,) = values_of(("date", text), Records(1, None, None))
    assert tree(f"x < '{text}'")[2] == ("date", text)
    assert np.isfinite(compared)


@pytest.mark.parametrize("text", ["2020-13-01", "2021-02-29", "0000-01-01", "2020-1-1", "2020-01-31T",
                                  "2020-01-31T25:00",
                                  "2020-01-31T12", "20200131", "yesterday",
                                  "2020-01-31T12:30+99:00", "٢٠٢٠-01-01"])  # fmt: skip
def test_other_dates_are_refused(text):
    with pytest.raises(FormulaError, match="write dates as '2020-01-31'"):
        read(f"x < '{text}'")


# ---------------------------------------------------------------- any expression

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
LEAVES = st.sampled_from(["a", "b", "c"]) | st.sampled_from(["0", "1", "2.5", "3", "1e300", "0.1"])


def larger(parts):
    binary = st.tuples(st.sampled_from([*SIGNS, "**"]), parts, parts)
    call = st.tuples(st.sampled_from(FUNCTIONS), parts)
    return binary | call | st.tuples(st.just("neg"), parts)


ARITHMETIC = st.recursive(LEAVES, larger, max_leaves=8)
COMPARED = st.tuples(st.sampled_from(list(COMPARISONS)), ARITHMETIC, ARITHMETIC)
CONDITIONS = st.recursive(
    COMPARED | st.tuples(st.just("missing"), st.sampled_from("abc")),
    lambda parts: st.tuples(st.sampled_from(["and", "or"]), parts, parts) | st.tuples(st.just("not"), parts),
    max_leaves=5,
)
VALUES = (
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.7, 1e-320, 1e308, -1e308, 1e17, np.nan, np.inf]) | st.floats()
)
RECORDS = st.fixed_dictionaries(dict.fromkeys("abc", VALUES))


def typed(made):
    if isinstance(made, str):
        return made
    name, *parts = made
    texts = [typed(part) for part in parts]
    if name == "neg":
        return f"(-{texts[0]})"
    if name == "not":
        return f"(not {texts[0]})"
    return f"{name}({texts[0]})" if len(texts) == 1 else f"({texts[0]} {name} {texts[1]})"


def expected(made, record):
    """The plain meaning: NaN for numbers that are missing, None for open truths."""
    if isinstance(made, str):
        return finite(record[made] if made in record else float(made))
    name, *parts = made
    if name == "missing":
        return not math.isfinite(record[parts[0]])
    values = [expected(part, record) for part in parts]
    if name in ("and", "or", "not"):
        return _logic(name, values)
    if name in COMPARISONS:
        return None if any(map(math.isnan, values)) else COMPARISONS[name](*values)
    try:
        return finite(_computed(name, *values))
    except (ArithmeticError, ValueError):
        return math.nan


def _logic(name, values):
    if name == "not":
        return _not(values[0])
    return kleene_and(*values) if name == "and" else _not(kleene_and(*map(_not, values)))


def _computed(name, x, y=None):
    if math.isnan(x) or (y is not None and math.isnan(y)):
        return math.nan
    if name == "**":
        return x * x if y == 2 else math.pow(x, y)
    if name == "neg":
        return 0.0 - x
    return SIGNS[name](x, y) if name in SIGNS else getattr(math, name, abs)(x)


def finite(value):
    return value if math.isfinite(value) else math.nan


def readable(text):
    try:
        return read(text)
    except FormulaError as error:  # constants that overflow, divide by 0, or no column
        assume("a number is too large" not in str(error) and "does not contain a column" not in str(error))
        assume("a negative number has no root" not in str(error))
        raise


@given(ARITHMETIC, RECORDS)
@settings(max_examples=400)
def test_arithmetic_is_what_plain_python_says(made, record):
    found = number(readable(typed(made)).text, **record)
    np.testing.assert_array_equal(found, expected(made, record))


@given(CONDITIONS, RECORDS)
@settings(max_examples=300)
def test_conditions_are_what_plain_logic_says(made, record):
    found = number(readable(typed(made)).text, **record)
    assert (None if math.isnan(found) else bool(found)) is expected(made, record)


@given(st.one_of(ARITHMETIC, CONDITIONS))
@settings(max_examples=300)
def test_what_is_written_is_read_again_as_the_same(made):
    expression = readable(typed(made))
    again = read(expression.text)
    assert again == expression
    assert parsed(expression.text) == expression


def answer(reader, text):
    """What was read, or the words of a refusal."""
    try:
        return reader(text)
    except FormulaError as error:
        return str(error)


WORDS = st.one_of(
    st.sampled_from(["x", "y", "log", "C", "I", "in", "not", "and", "True", "1", "2.5", "+", "-", "*", "**", "/", ":",
                     "~",
                     "(", ")", "[", "]", "{", "}", ",", "==", "!=", "<", "!", "&", "|", "%in%", "=", ".", "'a  b'",
                     '"it\'s"', "`a  b`", "`in`", "9", "^", "&&", "c", "missing"]),
    st.text(max_size=3),
)  # fmt: skip


@given(st.lists(WORDS, max_size=14))
@settings(max_examples=1000)
def test_whatever_is_typed_is_read_or_refused_in_one_line(words):
    text = " ".join(words)
    for reader in (read, read_condition, lambda t: read_formula(t, ["x", "y", "a  b", "in"])):
        found = answer(reader, text)
        if isinstance(found, str):
            assert found.isprintable()  # one line
            assert len(found) < 400
        if isinstance(found, Expression):
            assert read(found.text).text == found.text
            assert words_of(written(words_of(text, "")), "") == words_of(text, "")


# ---------------------------------------------------------------- nothing is run, and nothing takes long

INJECTIONS = [
    "__import__('os').system('touch hacked')", "eval('1')", "exec('1')", "open('x')", "x.__class__", "x.real", "x[0]",
    "x[x]", "[x for x in y]", "(x for x in y)", "lambda: x", "lambda x: x", "f'{x}'", "b'a'", "(x := 1)",
    "x if y else z",
    "x; y", "await x", "yield x", "*x", "**x", "log(*x)", "log(**x)", "log(x=1)", "log(x, x)", "log()", "(log)(x)",
    "(x)(y)", "log(x)(y)", "x @ y", "x // y", "x % y", "~x", "x << 2", "x -> y", "{x: y}", "{}", "()", "x, y",
    "x is y", "x === y", "x <> y", "x = 1", "x == 'a' 'b'", "'a'", "x + 'a'", "x > 'a'", "x in y", "x in []",
    "x in [y]",
    "x in ['a', 1]", "0x10*x", "1_000*x", "1j*x", "x..y", "x 1", "1 x", "…", "print(x)", "os.system(x)", "np.load(x)",
    "numpy.core.log(x)", "C(x) + 1", "c(x)", "\\x", "x\\", "x#y", "x?", "@x", "$x", "x == 'it\\'s'", "ｌｏｇ(x)",
    "x＋1",
    "x\0", "x\u202e", "x\u2028y", "\ufeffx", "x\u200b", "x\x1b[31m", "\ud800", "x == '\0'", "'a", '"', "`x", "``",
    "`x\ny`", "x == 'a\nb'", "", "   ", "\n",
]  # fmt: skip


@pytest.mark.parametrize("text", INJECTIONS)
def test_what_is_not_arithmetic_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = ["x", "y", "z", "log", "for", "f", "b"]
    for attempt in (lambda: read(text, columns), lambda: read_condition(text, columns)):
        with pytest.raises(FormulaError) as raised:
            attempt()
        assert str(raised.value).isprintable()
    with pytest.raises(FormulaError):
        read_formula(f"y ~ I({text})", columns)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given_", [None, 3, b"x", ["x"], np.array(["x"])])
def test_only_text_is_a_formula(given_):
    for reader in (read_condition, lambda text: read_formula(text, ["x"])):
        with pytest.raises(FormulaError, match="must be text, got"):
            reader(given_)


LONG = """
from privreg import FormulaError
from privreg.data.expressions import read_condition
from privreg.data.formula import read_formula

names = [f"v{i}" for i in range(1000)]
columns = ["y", "x", "a", "b", "c", "d", *names]
tower = "9**9**9**9"
sides = [
    tower, f"I(x*{tower})", f"I({tower})", "a**1000000000", "a**123456789", "(a+b)**12", "(a + b + c + d)**9",
    "*".join(names[:30]), ":".join(names[:30]), ". ** 9", ".*.*.", ".:.:.", "(.)**2", "(" * 10**6 + "a" + ")" * 10**6,
    "(" * 4000 + "a" + ")" * 4000, "(" * 31 + "a" + ")" * 31, "a" + "+a" * 4990, "I(" + "-" * 9000 + "a)",
    "I(" + "-" * 250 + "a)", "I(" + "not " * 280 + "a)", "I(a" + "**a" * 140 + ")", "I(" + "log(" * 29 + "a" * 40,
    "a" * 9990, "'" * 9990, "`" * 9990, "a." * 4900, "a.." * 3000, "1." * 4900, "1e" * 4900, "." * 9990, "%in" * 3000,
    " " * 9989 + "$", "\\\\" * 9000, "I(a" + " " * 9900 + "$)", "(((a+b)**9)**9)**9", "(a+b)**2**2**2**2", "a ** b",
    "C(a" + ", base='x'" * 900 + ", 3)", "C(" * 29 + "a" + ")" * 29, "9" * 9990, "I(a*" + "9" * 9900 + ")",
    "(a-b)**(9)**9",
    "(a+b+c)/(a+b+c)/(a+b+c)/(a+b+c)/(a+b+c)/(a+b+c)/(a+b+c)", "((((a*b)**3)*((c*d)**3))**3)",
]
fine = ["a" + "+a" * 240, "I(" + "-" * 40 + "a)", "(a+b)**9", "a:b:c:d:x"]
for side in [*sides, *fine]:
    for what, attempt in (("formula", lambda: read_formula(f"y ~ {side}", columns)),
                          ("where", lambda: read_condition(f"{side} > 0", columns))):
        try:
            attempt()
        except FormulaError as error:
            assert str(error).isprintable() and len(str(error)) < 300, str(error)[:500]
            assert what == "where" or side not in fine, side
        else:
            assert what == "where" or side in fine, side[:80]
print("refused")
"""


def test_monsters_are_refused_at_once():
    """In a process of its own, which a minute is more than enough for."""
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_a_deep_stack_does_not_matter():
    """Whoever calls from far down gets the same answers, not a RecursionError."""

    def down(levels):
        if levels:
            return down(levels - 1)
        with pytest.raises(FormulaError):
            read("not " * 290 + "x")
        return True

    assert down(sys.getrecursionlimit() - 350)


# ---------------------------------------------------------------- the same bits wherever a record stands

EVERYWHERE = [
    *(f"{name}(x)" for name in FUNCTIONS),
    "x**3",
    "x**0.3",
    "x**-2.7",
    "y**x",
    "x**2",
    "x/y - y*x + 1",
    "x < y",
]
SPREAD = np.concatenate([np.random.default_rng(3).normal(0, 4, 997) * 10.0 ** np.arange(-8, 8).repeat(63)[:997],
                         [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, 1.7e308, 709.9, -745.2]])  # fmt: skip
OTHERS = np.random.default_rng(4).permutation(SPREAD)


@pytest.mark.parametrize("text", EVERYWHERE)
def test_a_record_has_the_same_value_alone_strided_reversed_and_in_chunks(text):
    made = tree(text)

    def values(x, y):
        columns = {"x": x, "y": y}
        return values_of(made, Records(len(x), None, columns.__getitem__))

    whole = values(SPREAD, OTHERS).tobytes()
    n = SPREAD.size
    table = np.asfortranarray(np.column_stack([SPREAD, OTHERS, SPREAD]))
    rows = np.ascontiguousarray(table)
    assert values(rows[:, 0], rows[:, 1]).tobytes() == whole
    assert values(SPREAD[::-1], OTHERS[::-1])[::-1].tobytes() == whole
    assert b"".join(values(SPREAD[i : i + 1], OTHERS[i : i + 1]).tobytes() for i in range(n)) == whole
    for size in (2, 3, 7, 64):
        pieces = [values(SPREAD[a : a + size], OTHERS[a : a + size]) for a in range(0, n, size)]
        assert np.concatenate(pieces).tobytes() == whole
    order = np.random.default_rng(5).permutation(n)
    shuffled = np.empty(n)
    shuffled[order] = values(SPREAD[order], OTHERS[order])
    assert shuffled.tobytes() == whole


@pytest.mark.parametrize("name", NAMES)
def test_functions_are_near_numpys(name):
    with np.errstate(all="ignore"):
        reference = getattr(np, name)(SPREAD)
    reference[~np.isfinite(reference) | ~np.isfinite(SPREAD)] = np.nan
    np.testing.assert_allclose(applied(name, SPREAD), reference, rtol=1e-14)


def test_powers_are_near_numpys():
    with np.errstate(all="ignore"):
        reference = np.power(SPREAD, OTHERS)
    reference[~np.isfinite(reference) | ~np.isfinite(SPREAD) | ~np.isfinite(OTHERS)] = np.nan
    np.testing.assert_allclose(power(SPREAD, OTHERS), reference, rtol=1e-13)
