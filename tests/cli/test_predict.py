"""`privreg predict` as a user types it."""

import csv
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from commands import refused, run
from fit_command import ROWS, fit
from privreg import load_model
from terminals import on_a_terminal


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
    told = run("predict", model, folder / "people.csv", "--out", out, "--keep", "name,age")
    assert (told.stdout, told.stderr) == ("", f"Wrote the predictions to {out}.\n")
    table = pq.read_table(out)
    assert table.column_names == ["name", "age", "prediction"]
    assert table["prediction"].to_pylist() == expected.tolist()
    assert table["name"].to_pylist()[:2] == ["person 0", "person 1"]


def test_a_row_that_lacks_a_value_has_no_prediction(model, tmp_path):
    (tmp_path / "new.csv").write_text("town,noise,school,age,other\nnorth,0,12,40,x\nnorth,0,,40,x\neast,0,12,40,x\n")
    lines = read_column(run("predict", model, tmp_path / "new.csv").stdout)
    assert lines[1] == "nan"
    assert float(lines[0]) == float(lines[2])  # a level that is not known counts as the reference
    (tmp_path / "none.csv").write_text("town,noise,school,age\n")
    assert run("predict", model, tmp_path / "none.csv").stdout == "prediction\n"


def test_kept_columns_are_copied_as_they_are(model, tmp_path):
    head, row = "town,noise,school,age,id,note", "north,0,12,40,00712345678901234567890,a b\n"
    (tmp_path / "new.csv").write_text(head + "\n" + row * 3)
    lines = run("predict", model, tmp_path / "new.csv", "--keep", "id,note,age").stdout.splitlines()
    assert lines[0] == "id,note,age,prediction"
    assert lines[1].startswith("00712345678901234567890,a b,40,")  # quotes only where they are needed
    (tmp_path / "quoted.csv").write_text(head + '\nnorth,0,12,40,,"a ""b"", c"\n')
    (line,) = run("predict", model, tmp_path / "quoted.csv", "--keep", "note,id").stdout.splitlines()[1:]
    assert next(csv.reader([line]))[:2] == ['a "b", c', ""]


def test_intervals(folder, model, people, tmp_path):
    expected = load_model(model).predict(people[["age", "school", "town", "noise"]], interval=0.8)
    text = run("predict", model, folder / "people.csv", "--interval", "0.8").stdout
    for name in ("prediction", "lower", "upper"):
        assert list(map(float, read_column(text, name))) == expected[name].tolist()
    out = tmp_path / "p.parquet"
    run("predict", model, folder / "people.csv", "--interval", "0.8", "--out", out, "--keep", "age")
    assert pq.read_table(out).column_names == ["age", "prediction", "lower", "upper"]


def test_intervals_that_there_are_not(folder, model, people, tmp_path):
    for level in ("0", "1", "95"):
        told = refused("predict", model, folder / "people.csv", "--interval", level)
        assert "--interval must be between 0 and 1" in told
    people.rename(columns={"name": "lower"}).to_csv(tmp_path / "named.csv", index=False)
    assert "'lower'" in refused("predict", model, tmp_path / "named.csv", "--interval", "0.9", "--keep", "lower")
    run("predict", model, tmp_path / "named.csv", "--keep", "lower")
    other = tmp_path / "other.json"
    fit(folder / "people.csv", "--method", "BAS", "--out", other)
    told = refused("predict", other, folder / "people.csv", "--interval", "0.9")
    assert "--interval: BAS does not tell how uncertain its coefficients are" in told
    (tmp_path / "few.csv").write_text("a,y\n1,2\n")
    run("fit", tmp_path / "few.csv", "--target", "y", "--epsilon", "1", "--delta", "1e-6", "--out", tmp_path / "c.json")
    assert "the model is a constant" in refused(
        "predict", tmp_path / "c.json", tmp_path / "few.csv", "--interval", "0.9"
    )


def test_memory_of_predict_does_not_grow_with_the_file(folder, model, tmp_path):
    code = """
import sys
import pyarrow as pa
from privreg.cli.app import app
from privreg.data import text_file
text_file._BLOCK = 1 << 17
try:
    app(sys.argv[1:])
finally:
    print(pa.default_memory_pool().max_memory())
"""
    text = (folder / "people.csv").read_text()
    head, _, rows = text.partition("\n")
    peaks = []
    for times in (6, 30):  # from about ten blocks of text on, as many as are read ahead are in memory
        (tmp_path / "many.csv").write_text(head + "\n" + rows * times)
        words = ["predict", model, tmp_path / "many.csv", "--out", tmp_path / "out.csv", "--force"]
        command = [sys.executable, "-c", code, *map(str, words)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        with open(tmp_path / "out.csv") as file:
            assert sum(1 for _ in file) == ROWS * times + 1
    assert peaks[1] < 2 * peaks[0] < 0.5 * len(rows) * 30


def test_predict_refuses_clearly(folder, model, tmp_path):
    assert "must end in .csv, .tsv" in refused("predict", model, folder / "people.csv", "--out", "p.xlsx")
    (tmp_path / "new.csv").write_text("town,noise,scool,age\nnorth,0,12,40\n")
    assert "'school'" in refused("predict", model, tmp_path / "new.csv")
    assert "did you mean 'scool'?" in refused("predict", model, tmp_path / "new.csv")
    assert "is not a privreg model file" in refused("predict", folder / "people.csv", folder / "people.csv")
    told = "people.csv is not a model file. The model comes first: privreg predict MODEL DATA."
    assert told in refused("predict", folder / "people.csv", model)
    changed = tmp_path / "changed.json"
    changed.write_text(model.read_text().replace("north", "south", 1))
    assert "changed after it was written" in refused("predict", changed, folder / "people.csv")
    assert "--keep: no column 'nme'" in refused("predict", model, folder / "people.csv", "--keep", "nme")


def test_a_constant_is_predicted_for_every_row(tmp_path):
    (tmp_path / "few.csv").write_text("a,b\n1,2\n3,4\n")
    run("fit", tmp_path / "few.csv", "--target", "a", "--epsilon", "1", "--out", tmp_path / "m.json")
    for more, begin in ([], ""), (["--keep", "b"], "2,"):
        _, one, two = run("predict", tmp_path / "m.json", tmp_path / "few.csv", *more).stdout.split()
        assert one.startswith(begin)
        assert one.rpartition(",")[2] == two.rpartition(",")[2]


def test_an_odd_row_gets_an_empty_prediction(model, tmp_path):
    (tmp_path / "rows.csv").write_text("town,noise,school,age\nnorth,0,12,40\nnorth,0,12\nsouth,0,12,40\n")
    _, one, odd, two = run("predict", model, tmp_path / "rows.csv").stdout.split()
    assert odd == "nan"
    assert float(one) > float(two)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such terminals")
def test_on_a_terminal_predictions_are_rounded_and_nothing_runs_into_them(folder, model, tmp_path):
    head = "\n".join((folder / "people.csv").read_text().splitlines()[:4]) + "\n"
    (tmp_path / "few.csv").write_text(head)
    words = ["predict", str(model), str(tmp_path / "few.csv"), "--keep", "age", "--interval", "0.9"]
    exact = [row.split(",") for row in run(*words).stdout.splitlines()[1:]]
    shown = on_a_terminal("import sys; from privreg.cli.app import app; app(sys.argv[1:])", *words)
    end = shown.rfind("\x1b[2K") + len("\x1b[2K")  # the last line that moved is gone
    lines = shown[end:].replace("\x1b[?25h", "").split()
    assert lines[0] == "age,prediction,lower,upper"
    for line, (age, *values) in zip(lines[1:], exact, strict=True):
        assert line.split(",") == [age, *(f"{float(value):.1f}" for value in values)]  # residual error 3


def test_predict_into_a_pipe_that_closes_is_quiet(folder, model):
    command = f"{os.path.dirname(sys.executable)}/privreg predict {model} {folder / 'people.csv'} | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.stdout == "prediction\n"
    assert result.stderr == ""


def test_a_name_in_a_mistake_is_shown_on_one_line(folder, tmp_path):
    """Whoever names files and columns must not be able to control a terminal."""
    name = "x\x1b]0;title\x07\u202e.json"
    for words in (("predict", tmp_path / name, folder / "people.csv"), ("predict", "--x\x1b[31m")):
        line = refused(*words)
        assert line.rstrip("\n").isprintable()
        assert "\ufffd" in line
