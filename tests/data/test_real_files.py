"""Files of each format through the commands: some that other people wrote (tests/data/files), some that we write."""

import csv
import datetime as dt
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather

from commands import refused, run
from privreg import PrivateLinearRegression, load_schema
from privreg.data.files import open_file

FILES = Path(__file__).with_name("files")
UNKNOWN = "determined by the fit"
SPEND = ("--epsilon", "3", "--yes")


@pytest.mark.parametrize(
    ("name", "target", "kinds"),
    [
        ("macrodata.dta", "realgdp", {"number"}),
        ("lutkepohl2.dta", "consump", {"number"}),
        ("manufac.dta", "hours", {"number"}),
        ("time_series_examples.dta", "yearly_date", {"number", "date"}),
        ("data_missing.dta", "int_miss", {"number"}),
        ("test_spec.xls", "Model", {UNKNOWN}),
        ("v0.17.0.feather", None, None),
    ],
)
def test_files_that_other_people_wrote(tmp_path, name, target, kinds):
    path = FILES / name
    file = open_file(path)
    target = target or next(column for column, kind in file.columns.items() if kind == "number")
    if len(file.columns) < 2:
        assert "no features are left" in refused("check", path, "--target", target, *SPEND)
        return
    told = json.loads(run("check", path, "--target", target, *SPEND, "--json").stdout)
    assert set(told["columns"].values()) == kinds
    run("fit", path, "--target", target, *SPEND, "--out", tmp_path / "model.json")
    run("predict", tmp_path / "model.json", path, "--keep", target, "--out", tmp_path / "out.csv")
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[0] == [target, "prediction"]
    assert len(rows) - 1 == len(file.read([target]))


def test_values_of_files_that_other_people_wrote():
    macro = open_file(FILES / "macrodata.dta").read(["year", "quarter", "unemp"])
    assert len(macro) == 203
    assert macro.slice(0, 1).to_pylist() == [{"year": 1959.0, "quarter": 1.0, "unemp": pytest.approx(5.8)}]
    times = open_file(FILES / "time_series_examples.dta").read(["datetime_c", "date", "monthly_date"])
    assert times.to_pylist()[0] == {
        "datetime_c": dt.datetime(2006, 11, 19, 23, 13, 20),
        "date": dt.date(2010, 1, 20),
        "monthly_date": 600.0,
    }
    missing = open_file(FILES / "data_missing.dta")
    assert set(missing.read(list(missing.columns)).to_pylist()[0].values()) == {None}
    assert "is empty; put the column names there" in refused("check", FILES / "yyyy-mm-dd.xls", "--target", "a", *SPEND)


@pytest.mark.parametrize(
    "name", ["write_csv.csv", "write_csv2.csv", "foreign.dta", "haven.dta", "haven.sav", "haven.xpt"]
)
def test_a_data_frame_of_r_is_the_same_table_whatever_r_writes(name):
    """With a factor, missing values, and decimal commas in one of them. The effects are those in write_r_files.R."""
    file = open_file(FILES / f"r_{name}")
    years = next(column for column in file.columns if column.startswith("educ"))
    model = PrivateLinearRegression(100.0, random_state=0)
    model.fit(file, formula=f"pay ~ age + C(region, base='north') + `{years}`", where="age >= 20")
    found = dict(zip(model.selected_features_, model.coef_[model._chosen()], strict=True))
    assert found["age"] == pytest.approx(20, abs=2)
    assert found["region=south"] == pytest.approx(300, abs=60)
    predicted = model.predict(file)
    assert np.isfinite(predicted).sum() == 400 - 20 - 10  # the places of missing values


ROWS = 1500
KEPT = ["age", "region", "born", "name"]
WRITERS = {
    "dta": lambda frame, path, labels: pyreadstat.write_dta(frame, path, variable_value_labels=labels),
    "sav": lambda frame, path, labels: pyreadstat.write_sav(frame, path, variable_value_labels=labels),
    "zsav": lambda frame, path, labels: pyreadstat.write_sav(frame, path, variable_value_labels=labels, compress=True),
    "xpt": lambda frame, path, labels: pyreadstat.write_xport(text(frame, labels), path, file_format_version=8),
    "xlsx": lambda frame, path, labels: text(frame, labels).to_excel(path, index=False),
    "feather": lambda frame, path, labels: feather.write_feather(pa.Table.from_pandas(text(frame, labels)), path),
    "jsonl": lambda frame, path, labels: (
        text(frame, labels).astype({"born": str}).to_json(path, orient="records", lines=True)
    ),
    "csv": lambda frame, path, labels: text(frame, labels).to_csv(path, index=False),
}


def text(frame, labels):
    """As formats without labels have it."""
    return frame.assign(region=frame["region"].map(labels["region"]))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    age, region = rng.integers(18, 90, ROWS), rng.choice([1, 2, 3], ROWS, p=[0.2, 0.5, 0.3])
    born = [dt.date(2020, 1, 1) - dt.timedelta(int(365.25 * years)) for years in age]
    frame = {"age": age * 1.0, "region": region, "born": born, "name": [f"p{i}" for i in range(ROWS)]}
    return pd.DataFrame(frame | {"pay": (10 + 0.2 * age + 5 * (region == 3) + rng.normal(0, 1, ROWS)).round(3)})


@pytest.mark.parametrize("end", WRITERS)
def test_every_format_gives_the_same_model_and_predictions(tmp_path, monkeypatch, people, end):
    monkeypatch.chdir(tmp_path)
    WRITERS[end](people, f"people.{end}", {"region": {1: "north", 2: "south", 3: "west"}})
    given = ["people." + end, "--target", "pay", "--features", "age,region,born", "--epsilon", "20", "--yes"]
    told = json.loads(run("check", *given, "--json").stdout)
    typed = {"age": "number", "region": UNKNOWN, "born": "date"}
    assert told["columns"] == (dict.fromkeys(typed, UNKNOWN) if end in ("xlsx", "jsonl", "csv") else typed)
    model = json.loads(run("fit", *given, "--out", "model.json", "--json").stdout)
    kinds = {column.name: column.kind for column in load_schema("model.json")}
    assert kinds == {"age": "number", "region": "category", "born": "date"}
    assert {"region=west", "age"} & set(model["selected_features"])
    run("schema", *given[:1], *given[3:], "--out", "schema.json")
    run("fit", *given, "--schema", "schema.json")
    run("select", *given, "--k", "1")

    run("predict", "model.json", given[0], "--keep", ",".join(KEPT), "--out", "out.csv")
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert len(rows) == ROWS
    assert [float(row["age"]) for row in rows] == people["age"].tolist()
    assert [row["name"] for row in rows] == people["name"].tolist()
    assert {row["region"] for row in rows} == {"north", "south", "west"}
    assert [row["born"] for row in rows] == [str(day) for day in people["born"]]
    predicted = np.array([float(row["prediction"]) for row in rows])
    assert np.corrcoef(predicted, people["pay"])[0, 1] > 0.9
    run("predict", "model.json", given[0], "--keep", "region", "--out", "out.parquet")
    assert pd.read_parquet("out.parquet")["prediction"].tolist() == predicted.tolist()


def test_labels_are_public_only_if_the_user_says_so(tmp_path, monkeypatch, people):
    monkeypatch.chdir(tmp_path)
    labels = {"region": {1: "north", 2: "south", 3: "west", 4: "east"}}
    WRITERS["dta"](people, "people.dta", labels)
    given = ["people.dta", "--target", "pay", "--features", "age,region", "--epsilon", "5"]
    for more, levels in ([], {"north", "south", "west"}), (["--categories", "dtype"], {*labels["region"].values()}):
        run("fit", *given, *more, "--out", "model.json", "--yes", "--force")
        assert set(load_schema("model.json").columns[1].levels) == levels
    assert load_schema("model.json").columns[1].levels == ("north", "south", "west", "east")


def test_labelled_numbers_as_numbers(tmp_path, monkeypatch, people):
    """As the target, with a range, and where a schema or a model says so, labels do not count."""
    monkeypatch.chdir(tmp_path)
    WRITERS["dta"](people, "people.dta", {"region": {1: "north", 2: "south", 3: "west"}})
    people.to_csv("people.csv", index=False)
    model = json.loads(run("fit", "people.dta", "--target", "region", "--features", "age", *SPEND, "--json").stdout)
    assert model["target"] == "region"
    given = ["people.dta", "--target", "pay", "--features", "age,region", "--epsilon", "20", "--yes"]
    run("fit", *given, "--range", "region=1..3", "--out", "model.json")
    assert load_schema("model.json").columns[1].kind == "number"
    for name in ("people.dta", "people.csv"):
        run("predict", "model.json", name, "--out", f"{name}.out.csv")
    assert Path("people.dta.out.csv").read_text() == Path("people.csv.out.csv").read_text()
    assert "nan" not in Path("people.dta.out.csv").read_text()
    run("fit", *given, "--schema", "model.json", "--out", "again.json")
    assert [column.kind for column in load_schema("again.json")] == ["number", "number"]


def test_json_lines_needs_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text('{"a": 1, "b": 2, "secret": 3}\n')
    said = refused("check", "t.jsonl", "--target", "a", *SPEND)
    assert said == "privreg check: t.jsonl has no header; name its columns with --features (columns= in Python)\n"
    run("check", "t.jsonl", "--target", "a", "--features", "b", "--person", "who", *SPEND)


def test_the_sheet_can_be_named(tmp_path, monkeypatch, people):
    monkeypatch.chdir(tmp_path)
    with pd.ExcelWriter("people.xlsx") as book:
        pd.DataFrame({"what": ["notes"]}).to_excel(book, sheet_name="About", index=False)
        people.to_excel(book, sheet_name="People", index=False)
    given = ["people.xlsx", "--target", "pay", "--features", "age"]
    assert "--target: no column 'pay'" in refused("check", *given, *SPEND)
    run("fit", *given, *SPEND, "--sheet", "People", "--out", "model.json")
    run("predict", "model.json", "people.xlsx", "--sheet", "People", "--out", "out.csv")
    said = refused("check", *given, *SPEND, "--sheet", "Peopel")
    assert said == "privreg check: --sheet: no sheet 'Peopel' in people.xlsx; it has 'About', 'People'\n"
