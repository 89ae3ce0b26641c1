"""Stata, SPSS and SAS: types, labels, missing codes and dates, by the description of the variables alone."""

import datetime as dt
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data import labelled
from privreg.data.files import open_file
from privreg.data.labelled import Clock
from privreg.data.raw import TEXT, TIME, ColumnType
from privreg.data.schema import NUMBER
from privreg.data.tables import read_identities
from text_tables import message, read, slow_fixture, write

DAY = dt.date(2020, 1, 2)
WRITERS = {
    "dta": pyreadstat.write_dta,
    "sav": pyreadstat.write_sav,
    "zsav": lambda frame, path, **options: pyreadstat.write_sav(frame, path, compress=True, **options),
    "xpt": lambda frame, path, **options: pyreadstat.write_xport(frame, path, file_format_version=8, **options),
    "por": pyreadstat.write_por,
}
every_format = pytest.mark.parametrize("end", WRITERS)
with_labels = pytest.mark.parametrize("end", ["dta", "sav", "zsav"])


def made(folder, end, columns, **options):
    path = folder / f"t.{end}"
    WRITERS[end](pd.DataFrame(columns), str(path), **options)
    return path


@every_format
def test_types_and_values(tmp_path, end):
    columns = {
        "NUM": [1.5, np.nan, -3.0],
        "INT": [1, 2, 3],
        "TEXT": ["a", "", "b c"],
        "DAY": [DAY, None, dt.date(1959, 12, 31)],
        "TIME": [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(1950, 1, 1)],
    }
    file = open_file(made(tmp_path, end, columns))
    kinds = {"NUM": "number", "INT": "number", "TEXT": "text", "DAY": "date", "TIME": "timestamp"}
    assert file.columns == kinds
    assert {name: file.type_of(name).kind for name in ("NUM", "TEXT", "DAY", "TIME")} == {
        "NUM": NUMBER,
        "TEXT": TEXT,
        "DAY": TIME,
        "TIME": TIME,
    }
    found = file.read(list(kinds))
    assert found.to_pydict() == columns | {"NUM": [1.5, None, -3.0]}
    assert found.schema.equals(file.read(list(kinds)[::-1]).select(list(kinds)).schema)
    whole = file.read(["NUM", "DAY"], ["NUM", "DAY"])
    assert [(read_identities(whole[name]) >= 0).tolist() for name in whole.column_names] == [[True, False, True]] * 2


LABELS = {1: "one", 2: "two", 3: "three"}


@with_labels
def test_labels_make_a_category(tmp_path, end):
    path = made(tmp_path, end, {"c": [3, 1, 7, None, 1.0]}, variable_value_labels={"c": {3: "three", 2: "two", 1: "é"}})
    file = open_file(path)
    assert file.columns == {"c": "category"}
    assert file.type_of("c") == ColumnType(TEXT, "category", category=True)
    assert file.levels("c") == ["é", "two", "three"]  # in the order of codes
    assert file.read(["c"])["c"].to_pylist() == ["three", "é", "7", None, "é"]
    assert file.read(["c"], ["c"])["c"].to_pylist() == [3, 1, 7, None, 1]
    numbers = file.as_numbers({"c", "other"})
    assert numbers.columns == {"c": "number"}
    assert numbers.select(["c"]).read(["c"])["c"].to_pylist() == [3, 1, 7, None, 1]
    assert file.columns == {"c": "category"}


@with_labels
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ({}, "number"),
        ({0: "never", 10: "always"}, "number"),  # the ends of a scale
        ({1: "disagree", 5: "agree"}, "number"),
        ({97: "97 and more"}, "number"),
        ({0: "no", 1: "yes"}, "category"),
        ({1: "man", 2: "woman"}, "category"),
        ({1: "a", 5: "b", 9: "c"}, "category"),
        ({1: " ", 2: ""}, "number"),
        ({1: "a", 2: "a"}, "category"),
    ],
)
def test_which_labels_make_a_category(tmp_path, end, labels, kind):
    file = open_file(made(tmp_path, end, {"c": [1.0, 2.0, 50.0]}, variable_value_labels={"c": labels}))
    assert file.columns == {"c": kind}
    assert file.levels("c") == (None if kind == "number" else list(dict.fromkeys(labels.values())))


def test_extended_missing_values_of_stata(tmp_path):
    columns = {"c": [1.0, "a", 2.0, "z", None], "d": [1.0, "b", 3.0, "b", 5.0], "y": [1.0, 2.0, 3.0, 4.0, 5.0]}
    labels = {"c": {"a": "refused", "z": "unknown", 1: "one", 2: "two"}, "d": {"a": "refused", "b": "not asked"}}
    options = {"missing_user_values": {"c": ["a", "z"], "d": ["a", "b"]}, "variable_value_labels": labels}
    path = made(tmp_path, "dta", columns, **options)
    assert open_file(path).columns == {
        "c": "category",
        "d": "number",
        "y": "number",
    }  # d has labels of missing codes only
    assert open_file(path).levels("c") == ["one", "two"]
    assert read(path)["c"] == ["one", None, "two", None, None]
    assert read(path)["d"] == [1.0, None, 3.0, None, 5.0]


@pytest.mark.parametrize("end", ["sav", "zsav"])
def test_missing_values_that_spss_declares(tmp_path, end):
    columns = {"c": [1.0, 2.0, 9.0, -5.0], "d": [0.0, 10.0, 98.0, 99.0], "t": ["m", "f", "x", "z"]}
    path = made(
        tmp_path,
        end,
        columns,
        variable_value_labels={
            "c": {1: "one", 2: "two", 9: "refused", -5: "not asked"},
            "d": {98: "unknown", 99: "refused", 0: "never", 10: "always"},
            "t": {"m": "man", "f": "woman", "x": "no answer"},
        },
        missing_ranges={"c": [9, {"lo": -9, "hi": -1}], "d": [{"lo": 98, "hi": 99}], "t": ["x"]},
    )
    file = open_file(path)
    assert file.columns == {"c": "category", "d": "number", "t": "category"}
    assert (file.levels("c"), file.levels("t")) == (["one", "two"], ["woman", "man"])
    assert file.read(["c", "d", "t"]).to_pydict() == {
        "c": ["one", "two", None, None],
        "d": [0.0, 10.0, None, None],
        "t": ["man", "woman", None, "z"],
    }


def test_special_missing_values_of_sas(tmp_path):
    path = made(tmp_path, "xpt", {"a": [1.0, 2.0, 3.0, 4.0]})
    content = path.read_bytes()
    three = bytes.fromhex("4130000000000000")
    for tag in b"._AZ":
        write(path, content.replace(three, bytes([tag]) + bytes(7)))
        assert read(path) == {"a": [1.0, 2.0, None, 4.0]}


@pytest.mark.parametrize(
    ("end", "column"),
    [("dta", "DAY"), ("dta", "TIME"), ("sav", "DAY"), ("sav", "TIME"), ("xpt", "DAY"), ("xpt", "TIME")],
)
def test_dates_out_of_range_are_missing(tmp_path, end, column):
    clocks = {"dta": {"DAY": "%td", "TIME": "%tc"}, "sav": {"DAY": "DATE11", "TIME": "DATETIME20"}}
    shown = clocks.get(end, {"DAY": "DATE9.", "TIME": "DATETIME20."})[column]
    values = [0.0, 1e18, -1e300, 1e300, -1e18, np.nan, 5.4e14, 3e6, -8e5]
    path = made(tmp_path, end, {column: values}, variable_format={column: shown})
    file = open_file(path)
    assert file.columns[column] == ("date" if column == "DAY" else "timestamp")
    found = file.read([column])[column]
    assert found.null_count >= 4
    assert found[0].as_py() is not None
    assert all(value is None or 1 <= value.year <= 9999 for value in found.to_pylist())


def test_clocks():
    """Against the calendar, and the ends of it."""
    origin = dt.date(1960, 1, 1)
    days = np.array([(day - origin).days for day in (dt.date.min, DAY, dt.date.max)], float)
    found = labelled._times(np.r_[days, days[0] - 1, days[-1] + 1], Clock(origin, 1, "date"))
    assert found.to_pylist() == [dt.date.min, DAY, dt.date.max, None, None]
    clock = Clock(dt.date(1582, 10, 14), 86_400)
    moments = [dt.datetime.min, dt.datetime(2020, 1, 2, 3, 4, 5, 678_000), dt.datetime(9999, 12, 31, 23, 59, 59)]
    seconds = [(moment - dt.datetime(1582, 10, 14)).total_seconds() for moment in moments]
    assert labelled._times(np.array(seconds), clock).to_pylist() == moments


@pytest.mark.parametrize("end", ["dta", "sav", "xpt"])
def test_text_that_is_not_of_the_encoding_is_missing(tmp_path, end):
    columns = {"T": ["qqqq", "é", "z", "wwé"], "N": [1.0, 2.0, 3.0, 4.0]}
    path = made(tmp_path, end, columns)
    plain = read(path)
    assert plain == columns
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"q\xffq\xfe"))
    odd = read(path)
    assert odd["T"][0] == ("qÿqþ" if end == "xpt" else None)  # a transport file does not tell its encoding
    assert (odd["T"][1:], odd["N"]) == (columns["T"][1:], columns["N"])
    path.write_bytes(path.read_bytes().replace("wwé".encode(), "wwé".encode()[:-1] + b"\0"))
    assert read(path)["T"][3] in ("ww", "wwÃ")  # cut in the middle of a character


def test_names_and_labels_beyond_ascii(tmp_path):
    for end in ("dta", "sav"):
        path = made(
            tmp_path, end, {"größe": [1, 2], "名": ["x", "y"]}, variable_value_labels={"größe": {1: "ü", 2: "名"}}
        )
        assert read(path) == {"größe": ["ü", "名"], "名": ["x", "y"]}


def test_old_files_of_stata(tmp_path):
    path = tmp_path / "t.dta"
    frame = pd.DataFrame({"a": ["é", "x"], "n": [1.0, 2.0]})
    frame.to_stata(path, write_index=False, version=114)
    assert open_file(path).columns == {"a": "text", "n": "number"}
    assert read(path) == {"a": ["é", "x"], "n": [1.0, 2.0]}
    path.write_bytes(path.read_bytes().replace(b"\xe9\0", b"\x81\0"))  # no character of Windows-1252
    assert read(path) == {"a": [None, "x"], "n": [1.0, 2.0]}


def test_long_text(tmp_path):
    for end, size in (("dta", 100_000), ("sav", 30_000)):
        path = made(tmp_path, end, {"t": ["x" * size, "y"], "n": [1.0, 2.0]})
        assert read(path) == {"t": ["x" * size, "y"], "n": [1.0, 2.0]}


@every_format
def test_parts_are_the_whole(tmp_path, end, monkeypatch):
    rng = np.random.default_rng(0)
    columns = {"A": rng.normal(size=50), "T": rng.choice(["x", "y", ""], 50), "C": rng.integers(1, 4, 50) * 1.0}
    options = {"variable_value_labels": {"C": LABELS}} if end not in ("xpt", "por") else {}
    file = open_file(made(tmp_path, end, columns, **options))
    whole = file.read(list(columns))
    monkeypatch.setattr(labelled, "_CELLS", 3)
    monkeypatch.setattr(labelled, "_PARTS", 7)
    parts = list(file.batches(list(columns)))
    assert len(parts) > 2
    assert pa.concat_tables(parts).to_pydict() == whole.to_pydict()
    np.testing.assert_allclose(whole["A"], columns["A"])


@every_format
def test_no_rows(tmp_path, end):
    path = made(tmp_path, end, {"A": np.array([], float), "T": np.array([], object)})
    file = open_file(path)
    assert file.read(list(file.columns)).num_rows == 0
    assert list(file.batches(["A"])) == []


@with_labels
def test_labels_without_rows(tmp_path, end):
    columns = {"c": np.array([], float), "t": np.array([], object)}
    file = open_file(made(tmp_path, end, columns, variable_value_labels={"c": LABELS}))
    assert file.columns["c"] == "category"
    assert file.read(["c", "t"]).to_pydict() == {"c": [], "t": []}


@every_format
def test_damaged_files(tmp_path, end, capfd):
    path = made(tmp_path, end, {"A": np.arange(500.0), "T": ["zq7x"] * 500})
    content = path.read_bytes()
    names = {"dta": "Stata", "sav": "SPSS", "zsav": "SPSS", "por": "SPSS", "xpt": "SAS"}
    said = f"{path} could not be read as {names[end]}"
    assert message(open_file, write(path, content[:300])) == said
    if end not in ("xpt", "sav"):  # which do not say how many records there are, or end like this
        assert message(read, write(path, content[:-700])) == said
    assert capfd.readouterr() == ("", "")


def test_a_library_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr("privreg.data.files.find_spec", lambda name: None)
    path = made(tmp_path, "dta", {"a": [1.0]})
    assert message(open_file, path) == f"{path} is a Stata file; to read it, run pip install 'privreg[formats]'"


def test_pandas_is_not_needed(tmp_path):
    path = made(tmp_path, "sav", {"a": [1.0], "t": ["x"]}, variable_value_labels={"a": LABELS})
    code = f"""
import sys
class Nowhere:
    def find_spec(name, path, target=None):
        if name == "pandas":
            raise ImportError
sys.meta_path.insert(0, Nowhere)
from privreg.data.files import open_file
print(open_file({str(path)!r}).read(["a", "t"]).to_pydict())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'a': ['one'], 't': ['x']}\n"


large = 8e307  # about the largest number of Stata
odd_number = st.one_of(st.floats(-large, large), st.sampled_from([1.0, 2.0, large, -large, 5e-324, "a", "q", None]))
odd_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@pytest.mark.parametrize("end", ["dta", "sav"])
@given(odd_number, odd_number, odd_text, st.integers(0, 3))
@slow_fixture
def test_one_record_changes_nothing_but_itself(tmp_path, end, number, code, text, place):
    if end == "sav":
        number, code = (None if isinstance(v, str) else v for v in (number, code))
    rows = [[1.0, 2.0, "x"], [2.5, 1.0, "y"], [None, 9.0, "z" * 12]]

    def written(rows):
        frame = dict(zip(("n", "c", "t"), map(list, zip(*rows, strict=True)), strict=True))
        tags = {"missing_user_values": {"n": ["a", "q"], "c": ["a", "q"]}} if end == "dta" else {}
        path = made(tmp_path, end, frame, variable_value_labels={"c": LABELS}, **tags)
        file = open_file(path)
        return file.columns, [file.levels(name) for name in file.columns], file.read(["n", "c", "t"]).to_pylist()

    before = written(rows)
    after = written([*rows[:place], [number, code, text], *rows[place:]])
    assert after[:2] == before[:2]
    assert after[2][:place] + after[2][place + 1 :] == before[2]
