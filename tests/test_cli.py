"""`privreg fit`, `select`, `predict` and `ledger` as a user types them."""

import csv
import json
import os
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import privreg
from privreg import Ledger, load_model
from privreg.cli.app import app

ROWS = 6000


def run(*words, expect=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == expect, result.output
    return result


def refused(*words, status=2):
    """The one line that a mistake gets."""
    result = run(*words, expect=status)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    age, school = rng.integers(20, 65, ROWS), rng.normal(12, 3, ROWS).round(2)
    north = rng.random(ROWS) < 0.5
    pay = 5 + 0.3 * age + 2 * school + 10 * north + rng.normal(0, 3, ROWS)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(ROWS)],
            "age": age,
            "school": school,
            "town": np.where(north, "north", "south"),
            "noise": rng.normal(size=ROWS),
            "pay": pay.round(3),
            "family": np.arange(ROWS) // 2,
        }
    )


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    people.to_csv(folder / "people.csv", index=False)
    people.to_csv(folder / "people.tsv", index=False, sep="\t")
    people.to_csv(folder / "people-eu.csv", index=False, sep=";", decimal=",")
    people.to_parquet(folder / "people.parquet")
    people.assign(town=people.town.astype(pd.CategoricalDtype(["north", "south", "west"]))).to_parquet(
        folder / "typed.parquet"
    )
    (folder / "levels.json").write_text('{"town": ["north", "south"]}')
    return folder


BUDGET = ("--epsilon", "3", "--delta", "1e-6")
COLUMNS = ("--drop", "name,family", "--category", "town=north,south")


def fit(file, *more, expect=0):
    return run("fit", file, "--target", "pay", *BUDGET, *COLUMNS, *more, expect=expect)


# ---- fit


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people-eu.csv", "people.parquet"])
def test_fit_finds_the_model_in_every_kind_of_file(folder, name):
    answer = json.loads(fit(folder / name, "--json").stdout)
    found = {c["feature"]: c for c in answer["coefficients"]}
    # ε = 3 on 6,000 records: the noise is far smaller than these margins.
    assert found["age"]["value"] == pytest.approx(0.3, abs=0.1)
    assert found["school"]["value"] == pytest.approx(2, abs=0.3)
    assert found["town=north"]["value"] - found["town=south"]["value"] == pytest.approx(10, abs=2)
    assert answer["target"] == "pay"
    assert answer["method"] == "PrivateLinearRegression"
    assert answer["columns"] == ["age", "school", "town=north", "town=south", "noise"]
    assert answer["receipt"]["private"] is True
    assert answer["receipt"]["requested"] == {"epsilon": 3.0, "delta": 1e-6}
    assert answer["files"] == {}
    assert answer["ledger"] is None


def test_fit_prints_a_table_and_the_receipt(folder):
    result = fit(folder / "people.csv")
    for text in (
        "feature",
        "coefficient",
        "std. error",
        "95 % interval",
        "linear between",
        "town=north",
        "(intercept)",
    ):
        assert text in result.stdout
    assert "of ε = 3, δ = 1e-6. Protected: one record." in result.stdout
    assert result.stderr == ""


def test_a_parquet_dictionary_counts_as_declared_and_file_levels_work(folder):
    more = ("--target", "pay", *BUDGET, "--drop", "name,family", "--json")
    typed = json.loads(run("fit", folder / "typed.parquet", *more).stdout)
    assert typed["columns"] == ["age", "school", "town=north", "town=south", "town=west", "noise"]
    assert typed["warnings"][0].startswith("The levels of town came with the data's type and are taken as public.")
    listed = json.loads(run("fit", folder / "people.csv", *more, "--categories", folder / "levels.json").stdout)
    assert listed["columns"] == ["age", "school", "town=north", "town=south", "noise"]


def test_levels_of_a_category_are_only_compared(folder):
    answer = json.loads(fit(folder / "people.csv", "--json").stdout)
    assert [c["feature"] for c in answer["coefficients"] if c["level"]] == ["town=north", "town=south"]
    assert any(note.startswith("Levels of one category (town) can only be compared") for note in answer["notes"])
    (difference,) = answer["differences"]
    assert difference["feature"] == "town=south − north"
    assert difference["value"] == pytest.approx(-10, abs=1)
    assert "town=south − north" in fit(folder / "people.csv").stdout


def test_features_are_those_that_were_named(folder):
    answer = json.loads(
        run("fit", folder / "people.csv", "--target", "pay", *BUDGET, "--features", "school, age", "--json").stdout
    )
    assert answer["columns"] == ["school", "age"]


def test_k_limits_the_features(folder):
    answer = json.loads(fit(folder / "people.csv", "--k", "2", "--json").stdout)
    assert len(answer["selected_features"]) <= 2


def test_people_are_protected_as_a_whole(folder):
    words = ("fit", folder / "people.csv", "--target", "pay", *BUDGET, "--features", "age,school", "--person", "family")
    answer = json.loads(run(*words, "--rows-per-person", "2", "--json").stdout)
    assert answer["receipt"]["unit"] == "one person, at most 2 rows"
    assert answer["receipt"]["rows"] == 2
    assert "one person, at most 1 row" in run(*words).stdout


@pytest.mark.parametrize("method", ["BAS", "Tukey", "L-BAS", "L-Tukey", "K-BAS", "K-Tukey"])
def test_every_method_fits_saves_and_predicts(folder, tmp_path, method):
    out, report = tmp_path / "model.json", tmp_path / "report.html"
    words = ("--method", method, "--out", out, "--report", report, "--json")
    more = () if method in ("BAS", "Tukey") else ("--k", "2")
    answer = json.loads(fit(folder / "people.csv", *words, *more).stdout)
    assert answer["method"] == method
    assert "one model" not in answer["receipt"]["unit"]  # the strict calibration: one record
    assert len(answer["selected_features"]) in (0, 2 if more else 5)
    lines = run("predict", out, folder / "people.csv").stdout.splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == ROWS + 1
    assert method in report.read_text()


def test_the_model_file_holds_what_was_printed(folder, tmp_path):
    out = tmp_path / "model.json"
    answer = json.loads(fit(folder / "people.csv", "--out", out, "--json").stdout)
    model = load_model(out)
    assert answer["files"] == {"model": str(out)}
    assert answer["receipt"] == json.loads(json.dumps(model.receipt_.to_dict()))
    assert [c["value"] for c in answer["coefficients"]] == [
        model.coef_[answer["columns"].index(name)] for name in answer["selected_features"]
    ]
    assert model.intercept_ == answer["intercept"]["value"]


def test_nothing_but_released_numbers_leaves(tmp_path):
    """Marks that no noise could produce: 17 digits of the extremes, and a word in a cell that cannot be read."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=4321)
    x[0], x[1] = 98765.43211234567, -87654.32101234567
    frame = pd.DataFrame({"x": x.astype(object), "y": x})
    frame.loc[200, "x"] = "SECRETWORD"
    frame.to_csv(tmp_path / "t.csv", index=False)
    out, report = tmp_path / "m.json", tmp_path / "r.html"
    words = ("fit", tmp_path / "t.csv", "--target", "y", *BUDGET, "--out", out, "--report", report)
    shown = [run(*words), run(*words, "--json", "--force")]
    for text in (*(r.output for r in shown), out.read_text(), report.read_text()):
        for secret in ("98765.4321", "87654.3210", "SECRETWORD", str(tmp_path), "4321 rec", "4,321"):
            assert secret not in text.replace(str(out), "").replace(str(report), "")


def test_an_empty_table_is_no_error_and_no_hint(tmp_path):
    (tmp_path / "none.csv").write_text("x,y\n")
    (tmp_path / "one.csv").write_text("x,y\n1,2\n")
    for name in ("none.csv", "one.csv"):
        result = run("fit", tmp_path / name, "--target", "y", *BUDGET)
        assert "the model is a constant" in result.stdout.replace("\n", " ")


# ---- mistakes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.csv",), "missing.csv: No such file or directory"),
        (("people.csv", "--target", "pya"), "--target: no column 'pya' in {folder}/people.csv; did you mean 'pay'?"),
        (("people.csv", "--epsilon", "abc"), "Invalid value for '--epsilon': 'abc' is not a number."),
        (("people.csv", "--epsilon", "0"), "epsilon must be a positive number"),
        (("people.csv", "--epsilon", "-1"), "epsilon must be a positive number"),
        (("people.csv", "--epsilon", "nan"), "'nan' is not a number"),
        (("people.csv", "--delta", "2"), "delta must be a number in [0, 1)"),
        (("people.csv", "--delta", "0"), "delta must be"),
        (("people.csv", "--k", "0"), "'0' is neither \"auto\" nor a whole number"),
        (("people.csv", "--k", "many"), "'many' is neither"),
        (("people.csv", "--features", "age,pay"), "--features: column 'pay' is the target"),
        (("people.csv", "--features", "age,town"), "column 'town' holds text: declare its levels with --category"),
        (("people.csv", "--target", "name"), "--target: column 'name' holds text, not numbers"),
        (("people.csv", "--drop", "ages"), "did you mean 'age'?"),
        (("people.csv", "--category", "town"), "write it as COLUMN=level,level"),
        (("people.csv", "--categories", "nowhere.json"), "nowhere.json: No such file or directory"),
        (("people.csv", "--person", "famly"), "did you mean 'family'?"),
        (("people.csv", "--method", "Lasso"), "--method must be one of auto, BAS"),
        (("people.csv", "--method", "NonDP"), "--method must be one of auto, BAS"),
        (("people.csv", "--method", "BAS", "--k", "3"), "--k: BAS uses all columns"),
        (("people.csv", "--method", "K-BAS", "--person", "family"), "--person: K-BAS protects records, not people"),
        (("people.csv", "--rows-per-person", "0"), "--rows-per-person"),
        (("people.csv", "--out", "no/such/folder/m.json"), "the folder does not exist"),
        (("people.csv", "--report", "."), "Is a directory"),
        (("people.csv", "--out", "x.json", "--report", "x.json"), "--report and --out are the same file, x.json"),
        (("people.csv", "--out", "{folder}/people.csv"), "--out and DATA are the same file"),
        (("people.csv", "--rows-per-person", "2"), "--rows-per-person needs --person"),
        (("people.csv", "--drop", "family"), "columns 'name', 'town' hold text: declare levels with --category name="),
        (("people.csv", "--features", "name,town"), "or leave them out of --features (identifiers and dates are"),
        (("bare.csv",), "the first line of"),
        (("people.csv", "--features", ""), "the list of columns is empty"),
        (("people.csv", "--epsilon", "1_0"), "'1_0' is not a number"),
        (("people.csv", "--ledger", "b.db"), "--ledger and --dataset go together"),
        (("people.csv", "--ledger", "b.db", "--dataset", "d"), "there is no ledger b.db"),
        (("people.csv", "--colour", "red"), "No such option: --colour"),
        (("empty.csv",), "empty.csv is empty"),
        (("broken.parquet",), "could not be read as Parquet"),
        ((".",), "but 'text' in {folder}/people.parquet; write one kind in all files"),
        (("nothing",), "nothing is a folder without files that end in .parquet"),
    ],
)
def test_every_mistake_is_one_clear_line(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "nothing").mkdir()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing of use PAR1")
    (tmp_path / "bare.csv").write_text("1,2\n3,4\n")
    place = tmp_path if words[0] in ("empty.csv", "broken.parquet", "bare.csv", "nothing") else folder
    given = {a: b.format(folder=folder) for a, b in zip(words[1::2], words[2::2], strict=True)}
    usual = {"--target": "pay", "--epsilon": "1", "--drop": "name,family", "--category": "town=north,south"}
    if "--features" in given or "--person" in given or "--drop" in given or given.get("--target") == "name":
        usual.pop("--drop")
    if "--features" in given or "--category" in given or given.get("--drop") or words[0] != "people.csv":
        usual.pop("--category")
    options = [word for pair in (usual | given).items() for word in pair]
    line = refused("fit", place / words[0], *options)
    assert line.startswith("privreg fit: ")
    assert message.format(folder=folder) in line
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bare.csv", "broken.parquet", "empty.csv", "nothing"]


def test_missing_options_and_commands_are_one_line():
    assert "data" in refused("fit").lower()
    assert run("ledger", expect=2).stderr == ""  # the help is enough
    assert "Did you mean 'fit'" in refused("fitt")
    assert "--target" in refused("fit", "x.csv", "--epsilon", "1")
    assert "--k" in refused("select", "x.csv", "--target", "y", "--epsilon", "1")


def test_a_failed_write_still_shows_what_was_bought(folder, tmp_path):
    result = fit(folder / "people.csv", "--out", "/dev/full", expect=2)
    assert "(intercept)" in result.stdout
    assert result.stderr == "privreg fit: /dev/full: No space left on device\n"


def test_only_files_that_were_written_are_announced(folder, tmp_path):
    page = tmp_path / "report.html"
    shown = fit(folder / "people.csv", "--out", "/dev/full", "--report", page, expect=2).stdout
    assert "/dev/full" not in shown
    assert f"The report is in {page}." in shown
    assert "The model is in /dev/full" not in page.read_text()
    answer = fit(folder / "people.csv", "--out", "/dev/full", "--report", "/dev/full", "--json", expect=2)
    assert json.loads(answer.stdout)["files"] == {}
    assert answer.stderr == "privreg fit: /dev/full: No space left on device\n"


def test_outputs_replace_old_ones_as_a_whole(folder, tmp_path):
    out = tmp_path / "model.json"
    out.write_text("old")
    refused("fit", folder / "people.csv", "--target", "pya", *BUDGET, "--out", out, "--force")
    assert out.read_text() == "old"
    fit(folder / "people.csv", "--out", out, "--force")
    load_model(out)
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o644


# ---- select


def test_select_prints_names_in_order(folder):
    words = ("select", folder / "people.csv", "--target", "pay", "--k", "2", "--epsilon", "5", *COLUMNS)
    answer = json.loads(run(*words, "--json").stdout)
    # Scores differ by thousands and the noise has scale 5: the order is certain (failure below 1e-100).
    assert answer["selected_features"][0] == "school"
    assert len(answer["selected_features"]) == 2
    assert answer["receipt"]["delta"] == 0
    shown = run(*words, "--method", "sublasso").stdout
    assert "features chosen by SubLasso" in shown
    assert "Choosing" in shown


def test_select_says_when_there_is_nothing_to_choose(folder):
    words = ("--target", "pay", "--k", "9", "--epsilon", "1", "--features", "age,school")
    assert "nothing was released" in run("select", folder / "people.csv", *words).stdout.replace("\n", " ")


def test_select_refuses_what_it_cannot_do(folder):
    words = ("select", folder / "people.csv", "--target", "pay", "--epsilon", "1", *COLUMNS)
    assert "--method must be one of kendall, sublasso" in refused(*words, "--k", "2", "--method", "lasso")
    assert "--k" in refused(*words, "--k", "0")


# ---- predict


@pytest.fixture(scope="module")
def model(folder):
    fit(folder / "people.csv", "--out", folder / "model.json")
    return folder / "model.json"


def read_column(text, name="prediction"):
    return [row[name] for row in csv.DictReader(text.splitlines())]


def test_predictions_are_bit_identical_everywhere(folder, model, people, tmp_path):
    X = people[["age", "school", "town", "noise"]]
    expected = load_model(model).predict(X)
    for name in ("people.csv", "people.tsv", "people.parquet", "typed.parquet"):
        assert list(map(float, read_column(run("predict", model, folder / name).stdout))) == expected.tolist()
    for name in ("p.pq", "p.parq", "p.PARQUET"):
        run("predict", model, folder / "people.csv", "--out", tmp_path / name)
        assert pq.read_table(tmp_path / name).column_names == ["prediction"]
    out = tmp_path / "p.parquet"
    run("predict", model, folder / "people.csv", "--out", out, "--keep", "name,age")
    table = pq.read_table(out)
    assert table.column_names == ["name", "age", "prediction"]
    assert table["prediction"].to_pylist() == expected.tolist()
    assert table["name"].to_pylist()[:2] == ["person 0", "person 1"]


def test_a_row_that_lacks_a_value_has_no_prediction(model, tmp_path):
    (tmp_path / "new.csv").write_text("town,noise,school,age,other\nnorth,0,12,40,x\nnorth,0,,40,x\neast,0,12,40,x\n")
    lines = read_column(run("predict", model, tmp_path / "new.csv").stdout)
    assert lines[0] != ""
    assert lines[1:] == ["nan", "nan"]
    (tmp_path / "none.csv").write_text("town,noise,school,age\n")
    assert run("predict", model, tmp_path / "none.csv").stdout == "prediction\n"


def test_kept_columns_are_copied_as_they_are(model, tmp_path):
    head, row = "town,noise,school,age,id,note", "north,0,12,40,00712345678901234567890,a b\n"
    (tmp_path / "new.csv").write_text(head + "\n" + row * 3)
    lines = run("predict", model, tmp_path / "new.csv", "--keep", "id,note,age").stdout.splitlines()
    assert lines[0] == "id,note,age,prediction"
    assert lines[1].startswith('"00712345678901234567890","a b",40,')


def test_memory_of_predict_does_not_grow_with_the_file(folder, model, tmp_path):
    code = """
import sys
import pyarrow as pa
from privreg.cli.app import app
try:
    app(sys.argv[1:])
finally:
    print(pa.default_memory_pool().max_memory())
"""
    text = (folder / "people.csv").read_text()
    head, _, rows = text.partition("\n")
    peaks = []
    for times in (30, 150):  # from about ten blocks of text on, as many as are read ahead are in memory
        (tmp_path / "many.csv").write_text(head + "\n" + rows * times)
        words = ["predict", model, tmp_path / "many.csv", "--out", tmp_path / "out.csv", "--force"]
        command = [sys.executable, "-c", code, *map(str, words)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        with open(tmp_path / "out.csv") as file:
            assert sum(1 for _ in file) == ROWS * times + 1
    assert peaks[1] < 2 * peaks[0] < 0.5 * len(rows) * 150


def test_predict_refuses_clearly(folder, model, tmp_path):
    assert "must end in .csv, .tsv" in refused("predict", model, folder / "people.csv", "--out", "p.xlsx")
    (tmp_path / "new.csv").write_text("town,noise,scool,age\nnorth,0,12,40\n")
    assert "'school'" in refused("predict", model, tmp_path / "new.csv")
    assert "did you mean 'scool'?" in refused("predict", model, tmp_path / "new.csv")
    assert "is not a privreg model file" in refused("predict", folder / "people.csv", folder / "people.csv")
    changed = tmp_path / "changed.json"
    changed.write_text(model.read_text().replace("north", "south", 1))
    assert "changed after it was written" in refused("predict", changed, folder / "people.csv")
    assert "--keep: no column 'nme'" in refused("predict", model, folder / "people.csv", "--keep", "nme")


def test_an_odd_row_gets_an_empty_prediction(model, tmp_path):
    (tmp_path / "rows.csv").write_text("town,noise,school,age\nnorth,0,12,40\nnorth,0,12\nsouth,0,12,40\n")
    _, one, odd, two = run("predict", model, tmp_path / "rows.csv").stdout.split()
    assert odd == "nan"
    assert float(one) > float(two)


def test_predict_into_a_pipe_that_closes_is_quiet(folder, model):
    command = f"{os.path.dirname(sys.executable)}/privreg predict {model} {folder / 'people.csv'} | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.stdout == "prediction\n"
    assert result.stderr == ""


# ---- ledger


@pytest.fixture
def budget(tmp_path):
    file = tmp_path / "budget.db"
    run("ledger", "create", file, "--dataset", "people", "--epsilon", "4", "--delta", "1e-5")
    return file


def status(file):
    return json.loads(run("ledger", "status", file, "--json").stdout)["datasets"][0]


def test_fits_and_selections_spend_from_the_ledger(folder, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    shown = fit(folder / "people.csv", *ledger).stdout
    assert "of 4 in 1 entry." in shown
    words = ("select", folder / "people.csv", "--target", "pay", "--k", "2", "--epsilon", "1", *COLUMNS)
    answer = json.loads(run(*words, *ledger, "--json").stdout)
    assert answer["ledger"]["entries"] == 2
    assert status(budget)["sum"] == {"epsilon": 4.0, "delta": 1e-6}
    history = json.loads(run("ledger", "history", budget, "--json").stdout)["entries"]
    assert [e["what"] for e in history] == ["fit pay: PrivateLinearRegression", "select for pay: DPKendall"]
    assert [e["state"] for e in history] == ["finished", "finished"]
    shown = run("ledger", "history", budget).stdout
    assert "fit pay: PrivateLinearRegression" in shown
    assert "people" in run("ledger", "status", budget, "--dataset", "people").stdout


@pytest.mark.parametrize("method", ["BAS", "Tukey", "K-BAS", "L-Tukey"])
def test_every_method_spends(folder, budget, method):
    fit(folder / "people.csv", "--method", method, "--ledger", budget, "--dataset", "people")
    answer = status(budget)
    assert (answer["entries"], answer["sum"]) == (1, {"epsilon": 3.0, "delta": 1e-6})
    assert answer["accountant"]["epsilon"] is None
    receipt = Ledger(budget).history()[0].receipt
    assert receipt["epsilon"] <= 3
    assert receipt["requested"]["delta"] <= 9e-7


@pytest.mark.parametrize("command", ["fit", "select"])
def test_a_request_beyond_the_budget_is_refused_before_the_data_is_opened(tmp_path, budget, command):
    words = (command, tmp_path / "there is no such file.csv", "--target", "pay", "--epsilon", "4.000001")
    more = ("--k", "2") if command == "select" else ("--out", tmp_path / "m.json")
    line = refused(*words, *more, "--ledger", budget, "--dataset", "people", status=3)
    assert line.startswith(f"privreg {command}: refused: the budget of 'people', ε = 4, δ = 1e-5, has no room for")
    assert status(budget)["entries"] == 0
    assert not (tmp_path / "m.json").exists()


def test_another_unit_is_refused_before_the_data_is_opened(folder, tmp_path, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    words = ("--target", "pay", "--features", "age", "--epsilon", "1", *ledger)
    run("fit", folder / "people.csv", *words, "--person", "family")
    missing = tmp_path / "there is no such file.csv"
    for more, unit in ((), "record"), (("--person", "house"), "person by house"):
        line = refused("fit", missing, *words, *more)
        assert f"is for one person by family since its first entry, and this request protects one {unit}" in line
    assert "No such file" in refused("fit", missing, *words, "--person", "family")


def test_names_with_brackets_are_names(folder, tmp_path):
    file = tmp_path / "b.db"
    run("ledger", "create", file, "--dataset", "[/] [red]x[/red]", "--epsilon", "4", "--delta", "1e-5")
    words = ("--ledger", file, "--dataset", "[/] [red]x[/red]")
    assert "Ledger: [/] [red]x[/red] has spent" in fit(folder / "people.csv", *words).stdout
    assert "[/] [red]x[/red]" in run("ledger", "status", file).stdout
    assert "[/] [red]x[/red]" in run("ledger", "history", file).stdout


def test_the_ledger_is_never_overwritten(folder, tmp_path, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    words = ("fit", folder / "people.csv", "--target", "pay", *BUDGET, *COLUMNS, *ledger)
    os.link(budget, tmp_path / "hard link")
    os.symlink(budget, tmp_path / "soft link")
    for option in ("--out", "--report"):
        for name in (budget, tmp_path / "hard link", tmp_path / "soft link"):
            assert f"{option} and --ledger are the same file" in refused(*words, option, name)
    assert status(budget)["entries"] == 0


def test_a_mistake_costs_nothing(folder, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    for words in (("--target", "pya", *BUDGET), ("--target", "pay", *BUDGET), ("--target", "pay", "--epsilon", "0")):
        refused("fit", folder / "people.csv", *words, *ledger)
    refused("fit", folder / "missing.csv", "--target", "pay", *BUDGET, *ledger)
    assert status(budget)["entries"] == 0


def test_a_full_budget_may_be_spent_in_one_fit(folder, tmp_path):
    file = tmp_path / "b.db"
    run("ledger", "create", file, "--dataset", "d", "--epsilon", "3", "--delta", "1e-6")
    fit(folder / "people.csv", "--ledger", file, "--dataset", "d")
    line = refused(
        "fit", folder / "people.csv", "--target", "pay", "--epsilon", "0.01", *COLUMNS, "--ledger", file,
        "--dataset", "d", status=3,
    )  # fmt: skip
    assert "room for ε up to 0" in line


def test_ledger_mistakes_are_one_line(tmp_path, budget):
    words = ("--dataset", "people", "--epsilon", "1", "--delta", "0")
    assert "has a data set 'people' already" in refused("ledger", "create", budget, *words)
    assert "has no data set 'x'" in refused("ledger", "status", budget, "--dataset", "x")
    assert "there is no ledger" in refused("ledger", "history", tmp_path / "none.db")
    assert "'one' is not a number" in refused(
        "ledger", "create", budget, "--dataset", "y", "--epsilon", "one", "--delta", "0"
    )
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one" * 100)
    assert "cannot be used" in refused("ledger", "status", tmp_path / "text.db")


def test_commands_race_for_a_budget(folder, tmp_path):
    """Four for one that fits two; test_ledger_processes.py has eight processes, without the time that commands need."""
    file = tmp_path / "b.db"
    run("ledger", "create", file, "--dataset", "d", "--epsilon", "2", "--delta", "0")
    program = os.path.join(os.path.dirname(sys.executable), "privreg")
    words = [
        "select",
        folder / "people.csv",
        "--target",
        "pay",
        "--k",
        "1",
        "--epsilon",
        "1",
        "--features",
        "age,school",
    ]
    command = [program, *map(str, words), "--ledger", str(file), "--dataset", "d", "--json"]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [(process.communicate(timeout=300), process.returncode) for process in racing]
    assert sorted(code for _, code in answers) == [0, 0, 3, 3]
    for (out, err), code in answers:
        assert bool(out) == (code == 0)
        assert ("refused" in err) == (code == 3)
    assert status(file)["sum"]["epsilon"] == 2


def test_version_is_the_package_version():
    assert run("--version").stdout.strip() == f"privreg {privreg.__version__}"


def test_the_report_can_be_written_from_python(folder, tmp_path):
    fit(folder / "people.csv", "--out", tmp_path / "model.json")
    privreg.write_report(load_model(tmp_path / "model.json"), tmp_path / "report.html", data="people")
    page = (tmp_path / "report.html").read_text()
    assert "A private model of pay" in page
    assert "with differential privacy for every record" in page
