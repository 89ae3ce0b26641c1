"""`privreg fit` as a user types it, and its mistakes."""

import json
import os
import re
import stat
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privreg
from commands import refused, run
from fit_command import BUDGET, ROWS, fit
from known_models import known_model
from privreg import load_model
from privreg.cli.show import _typed, show_fit
from privreg.results.release import range_note, release_of

# ---- fit


def named(columns):
    """Without the one that noise may add, of values that were not declared: seven fits in a million."""
    return [name for name in columns if name != "town=(other)"]


def test_only_the_note_about_the_range_of_predictions_is_left_out(capsys):
    """Other notes may have the same numbers: ranges that were declared, for instance."""
    release, declared = release_of(known_model()), "Declared ranges, treated as public: a −1 … 1, b 10 … 14."
    release = replace(release, prediction_range=(1.0, 4.0), notes=["A model.", range_note((1.0, 4.0)), declared])
    show_fit(release, {}, None)
    shown = capsys.readouterr().out
    assert declared in shown
    assert "Predictions lie between" not in shown
    show_fit(release, {}, None, verbose=True)
    assert "Predictions lie between 1 and 4." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people-eu.csv", "people.parquet"])
def test_fit_finds_the_model_in_every_kind_of_file(folder, name):
    answer = json.loads(fit(folder / name, "--json").stdout)
    found = {c["feature"]: c for c in answer["coefficients"]}
    # ε = 3 on 6,000 records: the noise is far smaller than these margins.
    assert found["age"]["value"] == pytest.approx(0.3, abs=0.1)
    assert found["school"]["value"] == pytest.approx(2, abs=0.3)
    assert found["town=south"]["value"] == pytest.approx(-10, abs=2)  # than in the north, the reference
    assert answer["target"] == "pay"
    assert answer["method"] == "PrivateLinearRegression"
    assert named(answer["columns"]) == ["age", "school", "town=south", "noise"]
    assert answer["receipt"]["private"] is True
    assert answer["receipt"]["requested"] == {"epsilon": 3.0, "delta": 1e-6}
    assert answer["files"] == {}
    assert answer["ledger"] is None


def test_fit_prints_the_verdict_first_and_a_table(folder):
    result = fit(folder / "people.csv")
    first = r"pay: usable\. It explains about \d+ % of the variation \(R² 0\.\d+, 95 % interval 0\.\d+ to 0\.\d+\)\."
    assert re.fullmatch(first, result.stdout.splitlines()[0])
    for text in (
        "feature",
        "coef",
        "std err",
        "P>|z|",
        "95 % interval",
        "Residual standard error",
        "Coefficients estimate least squares with all values clipped to their ranges.",
        "town=south",
        "(intercept)",
        "Privacy: spent ε = 3, δ = 1e-6, all of it; protects any one record (one row of the table).",
    ):
        assert text in result.stdout
    for text in ("budget for", "Predictions lie between", "Method: "):
        assert text not in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("option", ["--verbose", "-v"])
def test_where_the_budget_went_is_shown_if_asked(folder, option):
    shown = fit(folder / "people.csv", option).stdout
    for text in ("budget for", "steps", "Coefficients: how the target varies", "Method: PrivateLinearRegression."):
        assert text in shown
    for text in ("Predictions lie between", "can become at most 95.3 % sure"):  # 1 / (1 + exp(-3)), rounded up
        assert text in shown


def test_without_a_ledger_it_says_that_nothing_was_counted(folder):
    line = "Not counted: no ledger was given (--ledger), so repeated fits on these records add up unseen."
    assert line in fit(folder / "people.csv").stdout


def test_levels_of_a_type_are_public_only_if_it_is_said(folder):
    more = ("--target", "pay", *BUDGET, "--drop", "name,family", "--json")
    typed = json.loads(run("fit", folder / "typed.parquet", *more, "--categories", "dtype").stdout)
    assert named(typed["columns"]) == ["age", "school", "town=south", "town=west", "noise"]
    said = "Levels of town were taken from the column's type: they are not protected and may come from single records."
    assert typed["warnings"][0] == said
    assert not any("Declared, not found" in note for note in typed["notes"])
    found = json.loads(run("fit", folder / "typed.parquet", *more).stdout)
    assert found["columns"] in (["age", "school", f"town={other}", "noise"] for other in ("north", "south"))
    assert not any("taken from" in warning for warning in found["warnings"])
    listed = json.loads(run("fit", folder / "people.csv", *more, "--categories", folder / "levels.json").stdout)
    assert named(listed["columns"]) == ["age", "school", "town=south", "noise"]


def test_levels_are_differences_from_their_reference(folder):
    answer = json.loads(fit(folder / "people.csv", "--json").stdout)
    (level,) = [c for c in answer["coefficients"] if c["level"]]
    assert level["feature"] == "town=south"
    assert level["value"] == pytest.approx(-10, abs=2)
    told = "Reference level: town = north."
    assert told in answer["notes"]
    assert told in fit(folder / "people.csv").stdout


def test_text_needs_no_declaration(folder):
    """Common values are found; names, of which each is rare, are left out by name."""
    answer = json.loads(run("fit", folder / "people.csv", "--target", "pay", *BUDGET, "--json").stdout)
    towns = [name for name in answer["columns"] if name.startswith("town=")]
    assert towns in (["town=north"], ["town=south"])
    assert "name: no value is common enough to be found at this budget; left out." in answer["warnings"]
    assert any(step["purpose"] == "reading" for step in answer["receipt"]["steps"])


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
    assert "protects any one person with all their records (at most 1 record" in run(*words).stdout.replace("\n", " ")


@pytest.mark.parametrize("method", ["BAS", "Tukey", "L-BAS", "L-Tukey", "K-BAS", "K-Tukey"])
def test_every_method_fits_saves_and_predicts(folder, tmp_path, method):
    out, report = tmp_path / "model.json", tmp_path / "report.html"
    words = ("--method", method, "--out", out, "--report", report, "--json")
    more = () if method in ("BAS", "Tukey") else ("--k", "2")
    answer = json.loads(fit(folder / "people.csv", *words, *more).stdout)
    assert answer["method"] == method
    assert "one model" not in answer["receipt"]["unit"]  # the strict calibration: one record
    assert len(answer["selected_features"]) in (0, 2 if more else 4)
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
    shown = [answer["columns"].index(c["feature"]) for c in answer["coefficients"]]
    assert [c["predicts"] for c in answer["coefficients"]] == model.coef_[shown].tolist()
    assert [c["value"] for c in answer["coefficients"]] == model.params.iloc[shown].tolist()
    assert [c["error"] for c in answer["coefficients"]] == model.standard_error_[shown].tolist()
    assert model.intercept_ == answer["intercept"]["predicts"]
    assert answer["statistics"]["r2"] == model.r2_


def test_json_has_the_statistics(folder):
    answer = json.loads(fit(folder / "people.csv", "--json").stdout)
    told = answer["statistics"]
    assert told["r2"] == pytest.approx(0.895, abs=0.05)  # noise of 0.007
    assert told["residual_error"] == pytest.approx(3, rel=0.3)
    assert told["r2_error"] > 0
    assert [row["name"] for row in told["description"]] == ["age", "school", "town=north", "town=south", "noise", "pay"]
    assert told["correlations"]["names"] == ["age", "school", "town=south", "noise"]
    assert told["joint_tests"] == []  # one level only
    age = next(c for c in answer["coefficients"] if c["feature"] == "age")
    assert age["determined"] is True
    assert age["z"] == pytest.approx(age["value"] / age["error"])
    assert age["pvalue"] < 1e-6
    assert json.loads(fit(folder / "people.csv", "--json", "--method", "BAS").stdout)["statistics"] is None


def test_joint_tests_are_printed(folder, people, tmp_path):
    rng = np.random.default_rng(0)
    town = rng.choice(["north", "south", "west"], len(people))
    people.assign(town=town, pay=people["pay"] + 9 * (town == "west")).to_csv(tmp_path / "three.csv", index=False)
    # Levels that are found are counted so well that noise does not add "(other)", and with it a degree of freedom.
    words = ("fit", tmp_path / "three.csv", "--target", "pay", *BUDGET, "--drop", "name,family")
    (line,) = [line for line in run(*words).stdout.splitlines() if line.split()[:1] == ["town"]]
    assert line.split()[2:] == ["2", "<", "0.001"]
    (test,) = json.loads(run(*words, "--json").stdout)["statistics"]["joint_tests"]
    assert (test["term"], test["df"]) == ("town", 2)


def test_warnings_are_printed_once(tmp_path):
    (tmp_path / "few.csv").write_text("x,y\n1,2\n")
    result = run("fit", tmp_path / "few.csv", "--target", "y", *BUDGET)
    assert result.stdout.count("The model is a constant") == 1
    assert result.stderr == ""


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
        assert "The model is a constant" in result.stdout.replace("\n", " ")


# ---- mistakes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.csv",), "missing.csv: No such file or directory"),
        (("people.csv", "--target", "pya"), "--target: no column 'pya' in {folder}/people.csv; did you mean 'pay'?"),
        (("people.csv", "--epsilon", "abc"), "--epsilon: 'abc' is not a number"),
        (("people.csv", "--epsilon", "0"), "privreg fit: --epsilon must be a positive number"),
        (("people.csv", "--epsilon", "-1"), "epsilon must be a positive number"),
        (("people.csv", "--epsilon", "nan"), "'nan' is not a number"),
        (("people.csv", "--delta", "2"), "delta must be a number in [0, 1)"),
        (("people.csv", "--delta", "0"), "--delta must be"),
        (("people.csv", "--k", "0"), "'0' is neither \"auto\" nor a whole number"),
        (("people.csv", "--k", "many"), "'many' is neither"),
        (("people.csv", "--features", "age,pay"), "--features: column 'pay' is the target"),
        (("people.csv", "--drop", "ages"), "did you mean 'age'?"),
        (("people.csv", "--category", "town"), "write it as COLUMN=level,level"),
        (("people.csv", "--categories", "nowhere.json"), "nowhere.json: No such file or directory"),
        (("people.csv", "--person", "famly"), "did you mean 'family'?"),
        (("people.csv", "--method", "Lasso"), "--method must be one of auto, BAS"),
        (("people.csv", "--method", "NonDP"), "--method must be one of auto, BAS"),
        (("people.csv", "--method", "BAS", "--k", "3"), "--k: BAS uses all columns"),
        (("people.csv", "--rows-per-person", "0"), "--rows-per-person must be at least 1"),
        (("people.csv", "--out", "no/such/folder/m.json"), "the folder does not exist"),
        (("people.csv", "--report", "."), "Is a directory"),
        (("people.csv", "--out", "x.json", "--report", "x.json"), "--report and --out are the same file, x.json"),
        (("people.csv", "--out", "{folder}/people.csv"), "--out and DATA are the same file"),
        (("people.csv", "--rows-per-person", "2"), "--rows-per-person needs --person"),
        (("bare.csv",), "the first line of"),
        (("people.csv", "--features", ""), "the list of columns is empty"),
        (("people.csv", "--epsilon", "1_0"), "'1_0' is not a number"),
        (("people.csv", "--epsilon", "1,5"), "--epsilon: '1,5' is not a number; use a decimal point"),
        (("people.csv", "--method", "ktukey"), "K-Tukey; got 'ktukey'; did you mean K-Tukey?"),
        (("people.csv", "--rows-per-person", "two"), "privreg fit: --rows-per-person must be a whole number"),
        (("people.csv", "--feature", "age"), "there is no option --feature; did you mean --features?"),
        (("people.csv", "--where", "aeg > 3"), "privreg fit: --where: no column 'aeg'; did you mean 'age'?"),
        (("people.csv", "--ledger", "b.db"), "--ledger and --dataset go together"),
        (("people.csv", "--ledger", "b.db", "--dataset", "d"), "there is no ledger b.db"),
        (("people.csv", "--colour", "red"), "there is no option --colour; see privreg fit -h"),
        (("empty.csv",), "empty.csv is empty"),
        (("broken.parquet",), "could not be read as Parquet"),
        ((".",), "but 'text' in {folder}/people.parquet; use one kind in all files"),
        (("nothing",), "nothing is a folder with no files that end in .parquet"),
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
    if "--features" in given or "--person" in given or "--drop" in given:
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
    assert refused("fitt") == "privreg: there is no command 'fitt'; did you mean fit?\n"
    assert refused("fit", "people.csv", "--out") == "privreg fit: --out needs a value\n"
    assert refused("ledger", "status", "--dataset") == "privreg ledger status: --dataset needs a value\n"
    line = refused("fit", "people.csv", "pay", "~", "age", *BUDGET)
    assert line == "privreg fit: too many arguments: ~ age. A formula, or a name with blanks, needs quotes\n"
    line = "privreg fit: --epsilon E is missing: privacy budget ε, usually between 0.1 and 3; see privreg fit -h\n"
    assert refused("fit", "people.csv") == line
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
    assert f"Wrote the report to {page}." in shown.replace("\n", " ")
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


def test_version_is_the_package_version():
    assert run("--version").stdout.strip() == f"privreg {privreg.__version__}"


def test_the_report_can_be_written_from_python(folder, tmp_path):
    fit(folder / "people.csv", "--out", tmp_path / "model.json")
    privreg.write_report(load_model(tmp_path / "model.json"), tmp_path / "report.html", data="people")
    page = (tmp_path / "report.html").read_text()
    assert "A private model of pay" in page
    assert "any one record (one row of the table)" in page


def test_options_are_named_as_they_are_typed():
    told = 'About 10 % were left out; missing="fill" (--missing fill) keeps them.'
    assert _typed(told) == "About 10 % were left out; --missing fill keeps them."
