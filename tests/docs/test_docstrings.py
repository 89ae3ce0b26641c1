"""Docstrings of the public names: their examples run, and they list every parameter with its type and default.

A method may have no such list; one that it has is complete.
"""

import ast
import doctest
import inspect
import math
import re
from itertools import pairwise

import pytest

import privreg
from privreg.kendall import kendall_scores
from privreg.paper import make_method

REPORTS = ("write_report", "plot_coefficients")  # have one sentence for their parameters
PUBLIC = {name: getattr(privreg, name) for name in privreg.__all__} | {
    "kendall_scores": kendall_scores,
    "make_method": make_method,
}
ESTIMATORS = [name for name, thing in PUBLIC.items() if inspect.isclass(thing) and hasattr(thing, "get_params")]


def functions():
    """Everything with parameters: functions, and classes and their methods, but those of scikit-learn."""
    for name, thing in PUBLIC.items():
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, Exception | Warning):
            yield name, thing
            for member, method in inspect.getmembers(thing, inspect.isroutine):
                if not member.startswith("_") and method.__module__.startswith("privreg."):
                    yield f"{name}.{member}", method


FUNCTIONS = {name: thing for name, thing in functions() if name not in REPORTS}


def section(doc, heading):
    """The lines under a heading."""
    found = re.search(rf"^{heading}\n-+\n(.*?)(?=\n\n\w[\w ]*\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found[1].splitlines() if found else []


def documented(doc):
    """Names of parameters, each with what stands behind the colon."""
    entries = [
        re.fullmatch(r"([\w*]+(?:, \w+)*) : (.+)", line) for line in section(doc, "Parameters") if line[:1].strip()
    ]
    assert all(entries), doc
    return {name.lstrip("*"): entry[2] for entry in entries for name in entry[1].split(", ")}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = PUBLIC[name]
    for test in doctest.DocTestFinder(recurse=inspect.isclass(thing)).find(thing, name, globs={}):
        assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_has_an_example(name):
    assert any(line.startswith(">>> ") for line in section(inspect.getdoc(PUBLIC[name]), "Examples"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_has_a_type_and_its_default(name):
    thing = FUNCTIONS[name]
    told = documented(inspect.getdoc(thing))
    if "." in name and not told:
        return  # a method may say it in its first sentence
    parameters = {p.name: p for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")}
    assert told.keys() == parameters.keys(), name
    for parameter in parameters.values():
        words = told[parameter.name]
        kind, _, default = words.partition(", default ")
        assert kind
        if parameter.default is inspect.Parameter.empty:
            assert not default, f"{name}: {parameter.name}"
        elif default == "log(3)":
            assert parameter.default == math.log(3)
        else:
            assert ast.literal_eval(default) == parameter.default, f"{name}: {parameter.name}"


def test_indented_text_explains_each_entry():
    for name, thing in FUNCTIONS.items():
        for heading in ("Parameters", "Attributes"):
            for line, after in pairwise([*section(inspect.getdoc(thing), heading), ""]):
                assert not line[:1].strip() or re.match(r" {4}\S", after), f"{name}: {line}"
