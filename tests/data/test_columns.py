"""Which columns a request uses: every mistake is told in one line that names the column and the way out."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.base import DataFile
from privreg.data.columns import ChosenColumns, choose_columns, read_levels, read_names
from privreg.data.files import open_file
from privreg.errors import SchemaError
from public_tables import public_engine, records_of

KINDS = {
    "id": "number",
    "labinc": "number",
    "Age": "number",
    "town": "text",
    "flag": "boolean",
    "grade": "category",
    "born": "date",
    "tags": "list<element: string>",
}


@pytest.fixture
def file():
    return DataFile(Path("pay.csv"), dict(KINDS))


def test_all_columns_without_another_use_are_features(file):
    chosen = choose_columns(file, "labinc", drop=["born", "tags"], person="id", categories={"town": ["a", "b"]})
    assert chosen == ChosenColumns("labinc", ["Age", "town", "flag", "grade"], "id", {"town": ["a", "b"]}, named=False)


def test_features_keep_their_order_and_other_columns_do_not_matter(file):
    assert choose_columns(file, "flag", ["labinc", "id"]) == ChosenColumns("flag", ["labinc", "id"], None, {}, True)
    assert choose_columns(file, "id", ["Age"], drop=["town"], person="born").person == "born"


def test_levels_that_are_no_text_are_taken_as_they_are(file):
    given = {"grade": ["1", "x"], "Age": [30, 1.5], "flag": [True]}
    assert choose_columns(file, "id", ["Age", "grade", "flag"], categories=given).categories == given


def levels(file, name, given):
    return choose_columns(file, "id", ["Age", "flag", "town"], categories={"town": ["a"]} | {name: given}).categories[
        name
    ]


def exact(values):
    return [(type(value), value) for value in values]


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("Age", ["30", "-1", "1.5"], [30, -1, 1.5]),
        ("town", ["30", "40"], [30, 40]),  # by what was typed alone, so that a file cannot change a model's levels
        ("Age", ["007", "7"], ["007", "7"]),
        ("Age", ["1", "unknown"], ["1", "unknown"]),  # the first rows do not show every code
        ("flag", ["TRUE", "false"], [True, False]),
        ("flag", ["true", "?"], ["true", "?"]),
        ("town", ["north", "true"], ["north", "true"]),
    ],
)
def test_levels_for_a_text_file(file, name, given, meant):
    assert exact(levels(file, name, given)) == exact(meant)


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("Age", ["30", "-1.5e0", "007"], [30, -1.5, 7]),
        ("flag", ["TRUE", "false"], [True, False]),
        ("town", ["30", "true"], ["30", "true"]),
    ],
)
def test_levels_for_columns_that_have_a_type(file, name, given, meant):
    file.typed = True
    assert exact(levels(file, name, given)) == exact(meant)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Age", ["young", "old"], "column 'Age' holds numbers, but 'young' is not a number; write levels such as "),
        ("Age", ["young", "old"], "such as --category Age=1,2, or omit them"),
        ("flag", ["yes", "no"], "column 'flag' holds booleans, but 'yes' is not a boolean; write levels such as "),
        ("Age", ["1e999"], "column 'Age' holds numbers, but '1e999' is not a number"),
    ],
)
def test_levels_that_no_value_can_be(file, name, given, said):
    file.typed = True
    with pytest.raises(SchemaError) as caught:
        levels(file, name, given)
    assert said in str(caught.value)
    file.typed = False  # what a text file holds is not known
    assert levels(file, name, given) == given


def test_some_levels_that_no_value_can_be(file):
    file.typed = True
    with pytest.raises(SchemaError, match="'unknown' is not a number"):
        levels(file, "Age", ["1", "unknown"])
    for file.typed in (True, False):
        with pytest.raises(SchemaError, match=r"column 'Age' has the same number twice, again as '1\.0'; remove one"):
            levels(file, "Age", ["1", "1.0"])


def test_what_a_text_file_holds_refuses_no_level(tmp_path):
    for text in ("town,pay\n", "town,pay\nNA,1\n,2\n", "town,pay\n7,1\n8,2\n"):
        (tmp_path / "few.csv").write_text(text)
        few = open_file(tmp_path / "few.csv")
        assert choose_columns(few, "pay", categories={"town": ["a"]}).categories == {"town": ["a"]}


D = {"drop": ["born", "tags", "town"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "labnic"}, "--target: no column 'labnic' in pay.csv; did you mean 'labinc'?"),
        ({"target": "LABINC"}, "--target: no column 'LABINC' in pay.csv; did you mean 'labinc'?"),
        ({"features": ["age"]}, "--features: no column 'age' in pay.csv; did you mean 'Age'?"),
        ({"drop": ["twon"]}, "--drop: no column 'twon' in pay.csv; did you mean 'town'?"),
        ({"person": "idd"}, "--person: no column 'idd' in pay.csv; did you mean 'id'?"),
        ({"categories": {"Town": ["a"]}}, "--category: no column 'Town' in pay.csv; did you mean 'town'?"),
        (
            {"target": "xyz"},
            "--target: no column 'xyz' in pay.csv; "
            "it has 'id', 'labinc', 'Age', 'town', 'flag', 'grade', 'born', 'tags'",
        ),
        ({"features": ["Age", "labinc"]}, "--features: column 'labinc' is the target; it cannot be a feature too"),
        (
            {"features": ["Age", "id"], "person": "id"},
            "--features: column 'id' is the person; it cannot be a feature too",
        ),
        ({"drop": ["labinc"]}, "--drop: column 'labinc' is the target; it cannot be left out"),
        ({"drop": ["id"], "person": "id"}, "--drop: column 'id' is the person; it cannot be left out"),
        ({"person": "labinc"}, "--person: column 'labinc' is the target; name the column that identifies people"),
        (
            {"person": "tags", "features": ["id"]},
            "--person: column 'tags' holds list<element: string>, not one identifier per row",
        ),
        (
            {"features": ["Age"], "drop": ["Age"]},
            "column 'Age' is in both --features and --drop; remove it from one of them",
        ),
        ({"features": ["Age", "id", "Age"]}, "--features: column 'Age' is listed twice"),
        (
            {"drop": [name for name in KINDS if name != "labinc"]},
            "no features are left: pay.csv has no columns besides the target and those left out",
        ),
        (
            {"categories": {"labinc": ["a"]}, **D},
            "--category: column 'labinc' is the target, which must be numeric; only features can have levels",
        ),
        (
            {"categories": {"town": ["a"]}, **D},
            "--category: column 'town' is not a feature; remove its levels",
        ),
        (
            {"categories": {"id": ["a"]}, "person": "id", **D},
            "--category: column 'id' is not a feature; remove its levels",
        ),
    ],
)
def test_mistakes(file, options, said):
    with pytest.raises(SchemaError) as caught:
        choose_columns(file, **{"target": "labinc", **options})
    assert str(caught.value) == said
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("target", "held"), [("town", "text"), ("grade", "categories"), ("born", "date")])
def test_a_target_is_numbers_by_its_type_or_by_decree(file, target, held):
    assert choose_columns(file, target).target == target  # a text file
    file.typed = True
    with pytest.raises(SchemaError) as caught:
        choose_columns(file, target)
    assert str(caught.value) == f"--target: column {target!r} holds {held}, not numbers"


def test_a_column_of_any_kind_may_be_offered(file):
    """What cannot be used is left out when the table is read, by name, and stops nobody before."""
    for file.typed in (False, True):
        assert choose_columns(file, "labinc").features == [name for name in KINDS if name != "labinc"]


def test_many_columns_are_not_all_listed():
    file = DataFile(Path("wide.csv"), {f"x{i}" * 9: "number" for i in range(9)})
    with pytest.raises(SchemaError, match=r"it has 'x0x0x0x0x0x0x0x0x0', .*'x7x7x7x7x7x7x7x7x7', …$"):
        choose_columns(file, "target")


@pytest.mark.parametrize("value", ["34", "-1.5", "1,5", "2020-01-31", "31.1.2020", "NA", "n/a", "true"])
def test_names_that_may_be_a_record_are_not_shown(value):
    """A file without a header would show its first record."""
    file = DataFile(Path("records.csv"), {"Alice Smith": "text", value: "number"})
    with pytest.raises(SchemaError, match="is its first line a header") as caught:
        choose_columns(file, "Alice")
    assert "Smith" not in str(caught.value)
    with pytest.raises(SchemaError, match="is its first line a header") as caught:
        choose_columns(file, value, ["bob"])
    assert "Smith" not in str(caught.value)


# ---------------------------------------------------------------- levels


def test_levels_of_options_and_file(tmp_path):
    file = tmp_path / "levels.json"
    file.write_text(json.dumps({"grade": [1, 2.5], "city": ["a,b", "=", "ü"]}), encoding="utf-8")
    assert read_levels(["town= north , south", "sign=a=b,<="], file) == {
        "town": ["north", "south"],
        "sign": ["a=b", "<="],
        "grade": [1, 2.5],
        "city": ["a,b", "=", "ü"],
    }
    assert read_levels([], None) == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["town"], "--category town: write it as COLUMN=level,level,…"),
        (["=a,b"], "--category =a,b: write it as COLUMN=level,level,…"),
        (["town="], "--category: column 'town' has an empty level; missing values do not need a level"),
        (["town=a, ,b"], "--category: column 'town' has an empty level; missing values do not need a level"),
        (["town=a,b, a"], "--category: column 'town' has the level 'a' twice; remove one"),
        (["town=a", " town =b"], "--category: the levels of column 'town' are declared twice"),
    ],
)
def test_mistakes_in_options(options, said):
    with pytest.raises(SchemaError) as caught:
        read_levels(options, None)
    assert str(caught.value) == said


OBJECT = 'the file must contain an object like {"column": ["level", "level"]}'
LIST = "the levels of column 'a' must be a list of text values or a list of numbers"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is not JSON"),
        ("{'a': 1}", "the file is not JSON"),
        (b'{"a": ["\xff"]}', "the file is not JSON"),
        ("[" * 100_000, "the file is not JSON"),
        ('["a"]', OBJECT),
        ("[]", OBJECT),
        ("1", OBJECT),
        ('{"a": "b"}', LIST),
        ('{"a": {"b": 1}}', LIST),
        ('{"a": []}', LIST),
        ('{"a": ["b", 1]}', LIST),
        ('{"a": [true, false]}', LIST),
        ('{"a": [null]}', LIST),
        ('{"a": [["b"]]}', LIST),
        ('{"a": [NaN]}', LIST),
        ('{"a": [1e999]}', LIST),
        ('{"a": [1' + "0" * 400 + "]}", LIST),
        ('{"a": ["b", " "]}', "column 'a' has an empty level; missing values do not need a level"),
        ('{"a": ["b", "c", "b"]}', "column 'a' has the level 'b' twice; remove one"),
        ('{"a": [1, 1.0]}', "column 'a' has the level 1 twice; remove one"),
        ('{"a": ["b"], "a": ["c"]}', "the levels of column 'a' are declared twice"),
        ('{"town": ["b"]}', "the levels of column 'town' are declared twice"),
    ],
)
def test_mistakes_in_the_file(tmp_path, content, said):
    path = tmp_path / "levels.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SchemaError) as caught:
        read_levels(["town=a"], path)
    assert str(caught.value) == f"--categories {path}: {said}"


def test_a_missing_file_is_an_error_of_the_operating_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_levels([], tmp_path / "no.json")
    with pytest.raises(IsADirectoryError):
        read_levels([], tmp_path)


word = st.text(min_size=1, max_size=5).filter(lambda s: s.strip() == s)


@given(
    st.dictionaries(
        word.filter(lambda s: "=" not in s), st.lists(word, min_size=1, max_size=4, unique=True), max_size=4
    )
)
def test_any_levels_can_be_declared(levels):
    """With quotes as in CSV, so that a level may have commas."""
    assert read_levels([f"{name}={quoted(given)}" for name, given in levels.items()], None) == levels


def quoted(words):
    line = io.StringIO()
    csv.writer(line).writerow(words)
    return line.getvalue().removesuffix("\r\n")


@given(st.lists(word, min_size=1, max_size=4))
def test_any_names_can_be_listed(names):
    assert read_names("--drop", [quoted(names)], ()) == names
    assert read_names("--drop", names, names) == names


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a,b"], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ([" a ,  b"], ["a", "b"]),
        (['a,"b,c"'], ["a", "b,c"]),
        (["a", "b,c"], ["a", "b,c"]),  # a column is called so
        (['"b,c"', "x=1,2"], ["b,c", "x=1", "2"]),
        (['a "quoted" name,b'], ['a "quoted" name', "b"]),
    ],
)
def test_lists_of_names(values, expected):
    assert read_names("--features", values, ["a", "b", "b,c"]) == expected


@pytest.mark.parametrize("value", ['a,"b', '"a"b,c', '"'])
def test_a_quote_that_is_not_closed(value):
    with pytest.raises(SchemaError, match=r"--features .*: a quote is not closed, or text follows it"):
        read_names("--features", [value], ["a"])


def test_an_empty_list_of_names():
    with pytest.raises(SchemaError, match="--drop: the list of columns is empty"):
        read_names("--drop", ["a", " "], ["a"])


def test_a_column_with_an_equals_sign_can_have_levels():
    assert read_levels(["x=y=1,2"], None, ["x", "x=y"]) == {"x=y": ["1", "2"]}
    assert read_levels(["x=z=1,2"], None, ["x", "x=y"]) == {"x": ["z=1", "2"]}


# ---------------------------------------------------------------- together with files


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_from_a_file_to_a_table(tmp_path, kind):
    path = tmp_path / "pay"
    town = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int8()), ["n", "s", "e"])
    table = pa.table(
        {"pay": [1.5, 2.5, 3.5], "town": town, "grade": [1, 2, 1], "flag": [True, False, True], "note": ["x"] * 3}
    )
    if kind == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table, path)
    options = ["grade=1,2", "town=n,s,e", "flag=false,true"]
    file = open_file(path)
    chosen = choose_columns(file, "pay", drop=["note"], categories=read_levels(options, None))
    assert chosen.categories == {"town": ["n", "s", "e"], "grade": [1, 2], "flag": [False, True]}
    engine = public_engine(file.select([*chosen.features, "pay"]), "pay", categories=chosen.categories)
    assert engine.names == ["town=s", "town=e", "grade=2", "flag=True"]
    assert records_of(engine) == [(0, 0, 0, 1, 1.5), (1, 0, 1, 0, 2.5), (1, 0, 0, 1, 3.5)]
