"""Formulas: the terms, and the columns they become, are those of formulaic and statsmodels; the rest is refused."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import Formula, model_matrix
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privreg import FormulaError, NonDP, SchemaError
from privreg.data.evaluate import Records, values_of
from privreg.data.formula import inverse_of, parsed, read_formula
from privreg.data.tables import read_table

COLUMNS = ["y", "a", "b", "c", "p", "q", "r"]
LEVELS = {"p": ["u", "v"], "q": ["k", "l", "m"], "r": ["e", "f", "g"]}


def make_frame(n=400):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({name: rng.normal(size=n) for name in ("a", "b", "c")})
    for name, levels in LEVELS.items():
        frame[name] = pd.Categorical(rng.choice(levels, n), levels)
    frame["y"] = rng.normal(size=n) + frame["a"] * (frame["p"] == "u") - frame["b"]
    return frame


FRAME = make_frame()


def terms(text, columns=COLUMNS):
    return [":".join(term) for term in read_formula(text, columns).terms]


def theirs(text):
    """The terms of formulaic, without the intercept."""
    return [":".join(factor.expr for factor in term.factors) for term in Formula(text).rhs if term != "1"]


# ---------------------------------------------------------------- the algebra of terms


@pytest.mark.parametrize(
    "right",
    ["a", "a + b", "b + a", "a + a", "a*b", "a:b", "b:a + a:b", "a/b", "a/(b + c)", "(a + b)/c", "(a + b + c)**2",
     "(a + b)*(c + p)", "a*b - a", "a*b*c - a:b:c", "(a + b) - b", "a - (b + c)", "a + (b - a)", "1 + a", "+a",
     "a %in% b", "a:b:c + a", "((a))", "a**2", "(a*b)**2", "a + 0 + 1", "(a + b + c + p + q)**3"],
)  # fmt: skip
def test_terms_are_those_of_formulaic(right):
    assert terms(f"y ~ {right}") == theirs(f"y ~ {right}")


def test_the_terms_of_an_example():
    formula = read_formula("log(y) ~ a + I(a**2) + C(p) + q:r", COLUMNS)
    assert formula.text == "log(y) ~ a + I(a**2) + C(p) + q:r"
    assert formula.target.text == "log(y)"
    assert formula.terms == (("a",), ("I(a**2)",), ("p",), ("q", "r"))
    assert [each.text for each in formula.computed] == ["I(a**2)"]
    assert [each.name for each in formula.categories] == ["p"]
    assert formula.inputs == ["a", "p", "q", "r"]
    assert formula.columns == ["a", "p", "q", "r", "y"]
    assert formula.numbers == {"a", "y"}


def test_a_dot_stands_for_all_other_columns():
    columns = ["net.pay", "my age", "2nd", "x.1", "in", "True", "é", "C", "log(x)"]
    others = columns[1:]
    assert terms("net.pay ~ .", columns) == others
    assert terms("log(net.pay) ~ . - x.1 - `my age`", columns) == [n for n in others if n not in ("x.1", "my age")]
    assert terms("`net.pay` ~ . + .", columns) == others
    assert terms("net.pay + C ~ .", columns) == [name for name in others if name != "C"]
    assert len(terms("net.pay ~ .**2", columns)) == 8 + 8 * 7 // 2
    assert terms("net.pay ~ x.1 + `my age`:`2nd` + `in`*C", columns) == [
        "x.1", "in", "C", "my age:2nd", "in:C",
    ]  # fmt: skip


def test_a_dot_of_many_columns():
    names = [f"v{i}" for i in range(1000)]
    assert terms("y ~ .", ["y", *names]) == names
    with pytest.raises(FormulaError, match="more than 1,000 terms"):
        terms("y ~ .", ["y", "one more", *names])


def test_backticks_tell_a_column_from_a_function():
    columns = ["y", "age", "I(age**2)", "log(age)"]
    assert read_formula("y ~ I(age**2)", columns).inputs == ["age"]
    assert read_formula("y ~ `I(age**2)`", columns).inputs == ["I(age**2)"]
    for both in ("`log(age)` + log(age)", ". + log(age)", "`log(age)`:age + log(age)"):
        with pytest.raises(FormulaError, match=r"a column and an expression are both called 'log\(age\)'"):
            read_formula(f"y ~ {both}", columns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y ~ a - 1", "without an intercept"),
        ("y ~ 0 + a", "without an intercept"),
        ("y ~ a + 0", "without an intercept"),
        ("y ~ -1 + a", "without an intercept"),
        ("y ~ a | b", "| is not allowed between terms"),
        ("y ~ a + 2", "2 is not allowed between terms"),
        ("y ~ 2*a", "2 is not allowed between terms"),
        ("y ~ 01 + a", "01 is not allowed between terms"),
        ("y ~ 1:a", "a number cannot be a term"),
        ("y ~ a + 'b'", "'b' is not allowed between terms"),
        ("y ~ a and b", "and is not allowed between terms"),
        ("y ~ True + a", "True is not allowed between terms"),
        ("y ~ [a, b]", "[ is not allowed between terms"),
        ("y ~ 1", "there is no column to the right of ~"),
        ("y ~ a - a", "there is no column to the right of ~"),
        ("y ~ -a", "there is no column to the right of ~"),
        ("y ~", "write it as target ~ terms"),
        ("~ a", "write it as target ~ terms"),
        ("y", "write it as target ~ terms"),
        ("y ~ a ~ b", "write it as target ~ terms"),
        ("y ~ (a", "parentheses do not match"),
        ("y ~ a)", "parentheses do not match"),
        ("y ~ a b", "the right side is not valid"),
        ("y ~ a +", "the right side is not valid"),
        ("y ~ a ** b", "the right side is not valid"),
        ("y ~ (a + b)**0", "a power from 1 to 9"),
        ("y ~ (a + b)**12", "a power from 1 to 9"),
        ("y ~ a**123456789", "a power from 1 to 9"),
        ("y ~ a**2.0", "a power from 1 to 9"),
        ("y ~ (a + b + c + p)**9", "more than 1,000 terms"),
        ("y ~ y", "'y' is on both sides of ~"),
        ("y ~ C(y)", "'y' is on both sides of ~"),
        ("y ~ log(y)", "'y' is on both sides of ~"),
        ("log(y) ~ a:y", "'y' is on both sides of ~"),
        ("y - a ~ I(a + b)", "'a' is on both sides of ~"),
        ("y ~ A", "no column 'A'; did you mean 'a'?"),
        ("Y ~ a", "no column 'Y'; did you mean 'y'?"),
        ("y ~ log(A)", "no column 'A'; did you mean 'a'?"),
        ("y ~ C(P)", "no column 'P'; did you mean 'p'?"),
        ("y ~ zebra", "no column 'zebra'"),
        ("y ~ center(a)", "center() depends on other records"),
        ("y ~ scale(a)", "scale() depends on other records"),
        ("y ~ bs(a, df=3)", "bs() depends on other records"),
        ("y ~ poly(a, 2)", "poly() depends on other records"),
        ("y ~ np.mean(a)", "np.mean() depends on other records"),
        ("y ~ a:lag(b)", "lag() depends on other records"),
        ("scale(y) ~ a", "scale() depends on other records"),
        ("y ~ sin(a)", "there is no function 'sin'; use one of abs, exp"),
        ("y ~ C(p, Sum)", "write C(x), C(x, base='a') or C(x, levels=['a', 'b'])"),
        ("y ~ C(p, base=v)", "write C(x), C(x, base='a')"),
        ("y ~ C(p, base=['u'])", "write C(x), C(x, base='a')"),
        ("y ~ C(p, levels=['u' 'v'])", "write C(x), C(x, base='a')"),
        ("y ~ C(p, levels=[['u']])", "write C(x), C(x, base='a')"),
        ("y ~ C(p, levels=[])", "write C(x), C(x, base='a')"),
        ("y ~ C(p, levels=['u', 'v'], base='w')", "base is not one of the levels"),
        ("y ~ C(p + q)", "C() takes the name of a column"),
        ("y ~ C()", "C() takes the name of a column"),
        ("y ~ C(p) + C(p, base='u')", "C(p) is written in two different ways"),
        ("y ~ C(a) + I(a + 1)", "'a' is used both as a category and as a number"),
        ("y ~ C(a) + log(a)", "'a' is used both as a category and as a number"),
        ("C(y) ~ a", "C() stands for a category"),
        ("1 ~ a", "1 does not contain a column"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(text, words):
    with pytest.raises(FormulaError) as raised:
        read_formula(text, COLUMNS)
    assert words in str(raised.value)
    assert str(raised.value).startswith("formula: ")
    assert "\n" not in str(raised.value)


def test_a_column_called_like_a_word_of_the_grammar_needs_backticks():
    for name in ("in", "not", "True"):
        with pytest.raises(FormulaError, match=f"write the column {name} in backticks"):
            read_formula(f"y ~ {name}", ["y", name])
        assert read_formula(f"y ~ `{name}`", ["y", name]).inputs == [name]


@pytest.mark.parametrize(
    ("text", "levels", "base"),
    [
        ("C(p)", None, None),
        ("factor(p)", None, None),
        ("C(p, base='v')", None, "v"),
        ('C(p, Treatment("v"))', None, "v"),
        ("C(p, Treatment(reference='v'))", None, "v"),
        ("C(p, contr.treatment(base='v'))", None, "v"),
        ("C(p, levels=['v', 'u'])", ("v", "u"), None),
        ("C(p, levels=c('v', 'u'), base='u')", ("v", "u"), "u"),
        ("C(p, levels=('v', 'u'))", ("v", "u"), None),
        ("C(p, levels=[1, 2.5])", (1, 2.5), None),
        ("C(p, levels=[TRUE, FALSE])", (True, False), None),
        ("C(p, levels=['a, b', '(', 'x=1'])", ("a, b", "(", "x=1"), None),
    ],
)
def test_what_is_said_of_a_category(text, levels, base):
    (found,) = read_formula(f"y ~ {text}", COLUMNS).categories
    assert (found.name, found.levels, found.base) == ("p", levels, base)


@pytest.mark.parametrize(
    ("target", "given_", "value"),
    [
        ("y", 3.0, 3.0),
        ("log(y)", 0.0, 1.0),
        ("log1p(y)", 0.0, 0.0),
        ("exp(y)", 1.0, 0.0),
        ("log2(y)", 3.0, 8.0),
        ("log10(y)", 2.0, 100.0),
        ("sqrt(y)", 3.0, 9.0),
        ("I(log(y))", 0.0, 1.0),
    ],
)
def test_functions_of_a_target_that_can_be_undone(target, given_, value):
    tree = inverse_of(parsed(target))
    assert values_of(tree, Records(1, None, lambda _: np.array([given_]))) == value


@pytest.mark.parametrize("target", ["y + a", "-y", "log(y + 1)", "abs(y)", "y > 3", "y**2"])
def test_other_targets_cannot_be_undone(target):
    assert inverse_of(parsed(target)) is None


# ---------------------------------------------------------------- the design

NUMBERS = st.sampled_from(["a", "b", "c", "I(a**2)", "I(a*b)", "I(b + 2*c)", "exp(c)"])
CATEGORIES = st.sampled_from(["p", "q", "r", "C(p)", "C(q)"])
RIGHT = st.recursive(
    NUMBERS | CATEGORIES,
    lambda parts: st.one_of(
        st.tuples(parts, st.sampled_from([" + ", "*", ":", " + ", "/"]), parts).map("".join).map("({})".format),
        st.tuples(parts, NUMBERS | CATEGORIES).map(lambda pair: f"({pair[0]} + {pair[1]})**2"),
        st.tuples(parts, NUMBERS | CATEGORIES).map(lambda pair: f"({pair[0]} - {pair[1]})"),
    ),
    max_leaves=6,
)


def design(model, frame):
    """The columns of a model, by name."""
    table = read_table(frame, model.schema_)
    return {name: table[i] for i, name in enumerate(table.names)}, len(table)


def as_we_call_it(name):
    """`C(p)[T.v]:a` as `p=v:a`."""
    parts = [part.strip() for part in name.replace("[T.", "=").replace("]", "").replace("[", "=").split(":")]
    return ":".join(sorted(part.replace("C(p)", "p").replace("C(q)", "q") for part in parts))


@given(RIGHT)
@settings(max_examples=80)
def test_the_design_is_that_of_formulaic(right):
    """As many columns, which span the same space: the same fitted values. Those of one name are equal."""
    text = f"y ~ {right}"
    try:
        model = NonDP().fit(FRAME, formula=text)
    except FormulaError:
        assume(False)
    for name in ("p", "q"):  # the same category, which has two names there
        right = right.replace(f"C({name})", name)
    reference = model_matrix(f"y ~ {right}", FRAME).rhs
    ours, width = design(model, FRAME)
    assert width == reference.shape[1] - 1
    fitted = sm.OLS(FRAME["y"], np.asarray(reference)).fit().fittedvalues
    np.testing.assert_allclose(model.predict(FRAME), fitted, rtol=1e-6, atol=1e-6)
    called = {":".join(sorted(name.split(":"))): values for name, values in ours.items()}
    for name in reference.columns:
        if as_we_call_it(name) in called:
            np.testing.assert_allclose(called[as_we_call_it(name)], reference[name], rtol=1e-12)


EXAMPLES = ["a + p", "p*q", "a*p", "p:q", "a:p", "a + a:p", "p/a", "p + p:q", "p:q:r", "a*b*p", "(a + p + q)**2",
            "p*q*r", "p:a + q:a", "q/r", "a:b", "p:q + a", "a + b:p:q", "I(a**2)*q"]  # fmt: skip


@pytest.mark.parametrize("right", EXAMPLES)
def test_columns_of_examples_are_those_of_statsmodels(right):
    """patsy's coding: the same columns, whatever they are called."""
    model = NonDP().fit(FRAME, formula=f"y ~ {right}")
    reference = sm.OLS.from_formula(f"y ~ {right}", FRAME)
    ours, width = design(model, FRAME)
    assert width == reference.exog.shape[1] - 1
    expected = {column.tobytes() for column in np.ascontiguousarray(reference.exog.T[1:])}
    if right not in ("p:q:r", "b:p:q", "a + b:p:q", "p:q", "p:q + a"):  # where there is a choice of what to leave out
        assert {np.ascontiguousarray(v).tobytes() for v in ours.values()} == expected
    np.testing.assert_allclose(model.predict(FRAME), reference.fit().fittedvalues, rtol=1e-9, atol=1e-9)


def test_a_category_is_compared_with_the_base_that_was_asked_for():
    model = NonDP().fit(FRAME, formula="y ~ C(q, base='l')")
    reference = sm.OLS.from_formula("y ~ C(q, Treatment('l'))", FRAME).fit()
    np.testing.assert_allclose([model.intercept_, *model.coef_], reference.params, rtol=1e-9)
    with pytest.raises(SchemaError, match="'z' is not a level of column 'q'"):
        NonDP().fit(FRAME, formula="y ~ C(q, base='z')")


def test_levels_may_be_declared_for_numbers_and_text():
    frame = FRAME.assign(n=np.arange(400) % 3, t=FRAME["q"].astype(object), f=np.arange(400) % 2 == 0)
    model = NonDP().fit(frame, formula="y ~ C(n, levels=[2, 0, 1]) + C(t, levels=['m', 'k', 'l']) + f")
    reference = sm.OLS.from_formula("y ~ C(n, Treatment(2)) + C(t, Treatment('m')) + f", frame).fit()
    np.testing.assert_allclose(model.predict(frame), reference.fittedvalues, rtol=1e-9)
    with pytest.raises(SchemaError, match="so the text 'a' cannot be one of its levels"):
        NonDP().fit(frame, formula="y ~ C(n, levels=['a', 'b'])")
    with pytest.raises(SchemaError, match="must be all text or all numbers"):
        NonDP().fit(frame, formula="y ~ C(t, levels=['a', 1])")
    with pytest.raises(SchemaError, match="a level of column 't' is declared twice"):
        NonDP().fit(frame, formula="y ~ C(t, levels=['a', 'a'])")
    with pytest.raises(SchemaError, match="so the formula cannot compute with it"):
        NonDP(categories={"t": ["a"]}).fit(frame, formula="y ~ log(t)")


def test_the_filter_leaves_the_records_that_statsmodels_sees():
    model = NonDP().fit(FRAME, formula="y ~ a*p", where="a > 0 and q != 'k' or b < -1")
    some = FRAME[((FRAME["a"] > 0) & (FRAME["q"] != "k")) | (FRAME["b"] < -1)]
    reference = sm.OLS.from_formula("y ~ a*p", some).fit()
    np.testing.assert_allclose([model.intercept_, *model.coef_], reference.params[["Intercept", "p[T.v]", "a",
                               "a:p[T.v]"]].to_numpy()[[0, 2, 1, 3]], rtol=1e-9)  # fmt: skip
