"""The released schema: what goes into a file comes back, nonsense is refused, and levels are codes, not names."""

import json
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.schema import (
    BOOLEAN,
    CATEGORY,
    DATE,
    NUMBER,
    Column,
    Schema,
    checked_levels,
    checked_range,
    declared_columns,
)
from privreg.errors import SchemaError
from privreg.privacy.origin import UNKNOWN, Origin

READ = Origin(1.0, 1e-6, "one person, at most 2 rows", 2, private=True)
finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(min_size=1, max_size=5)
levels = st.one_of(
    st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True),
    st.lists(st.one_of(finite, st.integers(-(2**53), 2**53)), min_size=1, max_size=4, unique=True),
    st.just([False, True]),
)


@st.composite
def columns(draw, name):
    left_out = draw(st.sampled_from(["", "", "too many missing values"]))
    n_missing = draw(st.none() | finite)
    if draw(st.booleans()):
        bounds = draw(st.none() | st.just((-1.5, 2.0)))
        kind, centre = draw(st.sampled_from([NUMBER, DATE])), draw(st.none() | finite)
        mark = draw(st.sampled_from([".", ","]))
        return Column(name, kind, left_out, mark, n_missing=n_missing, centre=centre, range=bounds)
    given_levels = tuple(draw(levels))
    size = len(given_levels)
    counts = draw(st.none() | st.lists(finite, min_size=size, max_size=size).map(tuple))
    return Column(
        name,
        draw(st.sampled_from([BOOLEAN, CATEGORY])),
        left_out,
        levels=given_levels,
        found=all(isinstance(level, str) for level in given_levels) and draw(st.booleans()),
        counts=counts,
        reference=draw(st.none() | st.integers(0, size - 1)),
        other=draw(st.booleans()),
        missing=draw(st.booleans()),
        n_other=draw(st.none() | finite),
        n_missing=n_missing,
        typed=draw(st.booleans()),
    )


@st.composite
def schemas(draw):
    made = [draw(columns(name)) for name in draw(st.lists(names, max_size=4, unique=True))]
    return Schema(
        tuple(made),
        draw(st.none() | finite),
        draw(finite),
        draw(st.sampled_from([".", ","])),
        draw(st.booleans()),
        tuple(draw(st.lists(st.text(max_size=9), max_size=2))),
        origin=draw(st.sampled_from([None, UNKNOWN, READ])),
    )


def exact(schema):
    """Types of levels count too: 1 and True are different levels."""
    return schema, [[type(level) for level in column.levels] for column in schema]


@given(schemas())
def test_what_is_written_comes_back(schema):
    text = json.dumps(schema.to_dict(), allow_nan=False)
    assert exact(Schema.from_dict(json.loads(text))) == exact(schema)


@given(schemas())
def test_features_are_the_rows_of_what_is_used(schema):
    rows = schema.rows
    assert [feature.row for feature in rows] == list(range(len(rows)))
    assert [feature.source for feature in rows] == sorted(feature.source for feature in rows)
    assert schema.features == [f for f in rows if not schema.columns[f.source].left_out]
    for source, column in enumerate(schema):
        own = [feature for feature in rows if feature.source == source]
        if column.left_out or not column.has_levels:
            assert [(feature.name, feature.code) for feature in own] == [(column.name, None)]
            continue
        expected = [code for code in range(len(column.levels)) if code != column.reference]
        expected += [column.other_code] * column.other + [column.missing_code] * (column.missing and schema.fill)
        assert [feature.code for feature in own] == expected
        assert {feature.category for feature in own} <= {column.name}
    assert sum(map(len, schema.left_out.values())) == sum(bool(column.left_out) for column in schema)


CATEGORY_COLUMN = Column("c", CATEGORY, levels=("a", "b"), counts=(3.0, 4.0), reference=0)
SCHEMA = Schema((Column("x", NUMBER, range=(0.0, 1.0)), CATEGORY_COLUMN), 10.0, 1.5)


def changed(path, value):
    record = SCHEMA.to_dict()
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return record


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["records"], "10"),
        (["records"], float("nan")),
        (["records"], 10**400),
        (["level_noise"], None),
        (["level_noise"], True),
        (["target_mark"], ";"),
        (["fill"], 0),
        (["warnings"], "text"),
        (["warnings"], [1]),
        (["columns"], {}),
        (["columns"], [SCHEMA.to_dict()["columns"][0]] * 2),
        (["new"], 1),
        (["columns", 0, "name"], 1),
        (["columns", 0, "kind"], "text"),
        (["columns", 0, "mark"], ""),
        (["columns", 0, "left_out"], None),
        (["columns", 0, "levels"], ["a"]),
        (["columns", 0, "centre"], float("inf")),
        (["columns", 0, "range"], [1, 0]),
        (["columns", 0, "range"], [0, 10**400]),
        (["columns", 0, "range"], [0]),
        (["columns", 0, "range"], 1),
        (["columns", 0, "new"], 1),
        (["columns", 1, "levels"], []),
        (["columns", 1, "levels"], ["a", "a"]),
        (["columns", 1, "levels"], [1, 1.0]),
        (["columns", 1, "levels"], ["a", None]),
        (["columns", 1, "levels"], ["a", ["b"]]),
        (["columns", 1, "levels"], [1.0, float("nan")]),
        (["columns", 1, "levels"], [1, 10**400]),
        (["columns", 1, "levels"], ["a", "\ud800"]),
        (["columns", 1, "counts"], [1.0]),
        (["columns", 1, "counts"], [1.0, "2"]),
        (["columns", 1, "counts"], 1),
        (["columns", 1, "reference"], 2),
        (["columns", 1, "reference"], -1),
        (["columns", 1, "reference"], True),
        (["columns", 1, "reference"], 0.0),
        (["columns", 1, "found"], 1),
        (["columns", 1, "other"], None),
        (["columns", 1, "missing"], "yes"),
        (["columns", 1, "n_other"], "3"),
        (["columns", 1, "typed"], 0),
        (["origin"], 1),
        (["origin"], {"epsilon": 1.0}),
    ],
)
def test_nonsense_is_refused(path, value):
    Schema.from_dict(SCHEMA.to_dict())
    with pytest.raises(ValueError, match=r"must|expected|unknown kind|do not fit the kind"):
        Schema.from_dict(changed(path, value))


@pytest.mark.parametrize("record", [None, [], 1, "schema", {}, {"columns": []}])
def test_what_is_no_schema_is_refused(record):
    with pytest.raises(ValueError, match="expected the fields"):
        Schema.from_dict(record)


def test_found_levels_are_text():
    column = replace(CATEGORY_COLUMN, levels=(1, 2), found=True)
    with pytest.raises(ValueError, match="must be text"):
        Column.from_dict(column.to_dict())


def test_references_others_and_missing_values():
    column = Column(
        "town", CATEGORY, levels=("a", "b", "c"), counts=(50.0, 30.0, -2.0), reference=1, other=True, missing=True,
        n_other=20.0, n_missing=300.0,
    )  # fmt: skip
    schema = Schema((Column("x", NUMBER, centre=7.0), column), records=100.0, level_noise=5.0)
    features = schema.features
    assert [(f.name, f.code, f.level, f.share) for f in features] == [
        ("x", None, None, None),
        ("town=a", 0, "a", 0.5),
        ("town=c", 2, "c", 0.0),  # a noisy count may be negative
        ("town=(other)", 3, "(other)", 0.2),
    ]
    assert {f.share_noise for f in features[1:]} == {0.05}
    assert features[0].centre is None  # records without a value are left out
    filled = replace(schema, fill=True).features
    assert [f.code for f in filled] == [None, 0, 2, 3, 4]
    assert (filled[0].centre, filled[-1].name, filled[-1].share) == (7.0, "town=(missing)", 1.0)
    every = Schema((replace(column, reference=None, other=False),)).features
    assert [(f.code, f.share) for f in every] == [(0, None), (1, None), (2, None)]


def test_what_is_left_out_has_a_row_and_a_reason():
    columns = tuple(Column(name, NUMBER, left_out=why) for name, why in (("a", ""), ("b", "x"), ("c", "y"), ("d", "x")))
    schema = Schema(columns)
    assert schema.left_out == {"x": ["b", "d"], "y": ["c"]}
    assert [f.name for f in schema.rows] == ["a", "b", "c", "d"]
    assert [(f.name, f.row) for f in schema.features] == [("a", 0)]
    chosen = schema.choose(["d", "a"])
    assert [(f.name, f.source, f.row) for f in chosen.features] == [("a", 1, 1)]
    with pytest.raises(SchemaError, match="no column 'z'; it was read from a different table"):
        schema.choose(["a", "z"])


def test_levels_may_be_spelled_in_any_way():
    """A feature is told by its column and its code. Its name is for people."""
    x, y = (
        Column("x=a", CATEGORY, levels=("q", "b"), reference=0),
        Column("x", CATEGORY, levels=("q", "a=b"), reference=0),
    )
    one, two = Schema((x, y)).features
    assert one.name == two.name == "x=a=b"
    assert (one.category, one.level) != (two.category, two.level)
    assert one != two
    odd = Column("c", CATEGORY, levels=("(other)", "(missing)", "z"), reference=2, other=True, missing=True)
    features = Schema((odd,), fill=True).features
    assert [f.name for f in features] == ["c=(other)", "c=(missing)", "c=(other)", "c=(missing)"]
    assert [f.code for f in features] == [0, 1, odd.other_code, odd.missing_code] == [0, 1, 3, 4]


def test_schemas_of_numbers_and_declared_columns():
    assert Schema.numbers(2).names == ["x0", "x1"]
    assert [f.name for f in Schema.numbers(["b", "a"]).features] == ["b", "a"]
    made = declared_columns(["a", "b"], {"b": ["u", "v"]})
    assert [(c.kind, c.levels, c.reference) for c in made] == [(NUMBER, (), None), (CATEGORY, ("u", "v"), 0)]
    assert declared_columns(["b"], {"b": ["u", "v"]}, full=True)[0].reference is None


@given(st.text(alphabet=string.printable + "éé (other)", max_size=8))
def test_any_text_may_be_a_level(level):
    assert checked_levels("c", [level]) == (level,)


@pytest.mark.parametrize(
    "value", [(1, 1), (2, 1), (0, float("inf")), (float("nan"), 1), (1,), (1, 2, 3), "ab", None, 3]
)
def test_ranges_are_two_numbers_in_order(value):
    assert checked_range("x", ("0", 1)) == (0.0, 1.0)
    with pytest.raises(ValueError, match="the range of column 'x' must be two"):
        checked_range("x", value)


# ---- where it comes from


def test_older_records_lack_what_is_new():
    record = SCHEMA.to_dict()
    del record["origin"]
    for column in record["columns"]:
        del column["typed"]
    assert Schema.from_dict(record) == SCHEMA


def test_what_was_released_and_what_was_declared():
    declared = Schema((Column("x", NUMBER, range=(0.0, 1.0)), Column("c", CATEGORY, levels=("a",), reference=0)))
    assert not declared.released
    assert not Schema.numbers(3).released
    x, c = declared.columns
    assert replace(declared, records=10.0).released
    for column in (
        replace(c, found=True),
        replace(c, counts=(1.0,)),
        replace(c, n_other=1.0),
        replace(x, n_missing=0.0),
        replace(x, centre=0.0),
    ):
        assert replace(declared, columns=(column,)).released


def test_columns_that_are_left_out_show_no_levels():
    typed = Column("c", CATEGORY, levels=("a",), reference=0, typed=True)
    assert Schema((typed, replace(typed, name="d", left_out="no use"))).typed == ["c"]
