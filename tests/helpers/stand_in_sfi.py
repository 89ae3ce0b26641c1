"""A stand-in for Stata's module `sfi`: as much of it as the documentation's page on Stata uses.

It follows https://www.stata.com/python/api18/ and is stricter where that is not clear: plain Python numbers only, and
names that Stata certainly takes.
"""

import re

SYSTEM_MISSING = 2.0**1023
_LONGEST_NAME = 32
_NOT_TOLD = object()


def check_name(name):
    if not re.fullmatch(rf"[A-Za-z_]\w{{0,{_LONGEST_NAME - 1}}}", name, re.ASCII):
        raise ValueError(f"{name!r} is no name in Stata")


def check_numbers(values, size):
    if len(values) != size:
        raise ValueError("dimensions do not match")
    if any(type(value) not in (int, float) or value != value for value in values):
        raise TypeError("numeric values expected")


class Data:
    """The data set in memory: variables by name, and value labels for some of them."""

    variables: dict
    labels: dict

    @staticmethod
    def getAsDict(var=None, obs=None, selectvar=None, valuelabel=False, missingval=_NOT_TOLD):
        assert obs is None
        assert selectvar is None
        names = list(Data.variables) if var is None else var.split() if isinstance(var, str) else list(var)
        return {
            name: [Data._value(name, value, valuelabel, missingval) for value in Data.variables[name]] for name in names
        }

    @staticmethod
    def _value(name, value, valuelabel, missingval):
        if isinstance(value, str):
            return value
        if value >= SYSTEM_MISSING:
            return value if missingval is _NOT_TOLD else missingval
        return Data.labels.get(name, {}).get(value, value) if valuelabel else value

    @staticmethod
    def addVarDouble(name):
        check_name(name)
        if name in Data.variables:
            raise ValueError(f"variable {name} is there already")
        Data.variables[name] = [SYSTEM_MISSING] * len(next(iter(Data.variables.values())))

    @staticmethod
    def store(var, obs, val, selectvar=None):
        assert obs is None
        assert selectvar is None
        check_numbers(val, len(Data.variables[var]))
        Data.variables[var] = list(val)


class Matrix:
    """Matrices by name, and the names of their rows and columns."""

    stored, rows, columns = {}, {}, {}

    @staticmethod
    def store(name, val):
        check_name(name)
        for row in val:
            check_numbers(row, len(val[0]))
        Matrix.stored[name] = [list(row) for row in val]

    @staticmethod
    def setRowNames(name, rowNames):
        assert len(rowNames) == len(Matrix.stored[name])
        Matrix.rows[name] = [check_name(each) or each for each in rowNames]

    @staticmethod
    def setColNames(name, colNames):
        assert len(colNames) == len(Matrix.stored[name][0])
        Matrix.columns[name] = [check_name(each) or each for each in colNames]


class Missing:
    @staticmethod
    def getValue(val=None):
        assert val is None
        return SYSTEM_MISSING
