"""`privreg fit --public FILE`: rows that are no secret."""

import json

import pytest

from commands import refused, run
from fit_command import BUDGET, fit

DATA = ("--target", "pay", *BUDGET)


@pytest.fixture(scope="module")
def public(people, tmp_path_factory):
    file = tmp_path_factory.mktemp("public") / "open.csv"
    people.head(400).drop(columns=["pay", "family"]).to_csv(file, index=False)
    return file


def test_fit_says_what_was_public(folder, public, tmp_path):
    out = tmp_path / "model.json"
    result = fit(folder / "people.csv", "--public", public, "--out", out, "--report", tmp_path / "report.html")
    note = "Centres, spreads and correlations of columns come from 400 public rows"
    assert note in " ".join(result.stdout.split())
    assert note in (tmp_path / "report.html").read_text()
    assert json.loads(out.read_text())["model"]["public_rows"] == 400


@pytest.mark.parametrize("data", ["people.parquet", "people.tsv"])
def test_files_of_different_kinds(folder, public, data):
    assert json.loads(fit(folder / data, "--public", public, "--json").stdout)["public_rows"] == 400


def test_check_says_it(folder, public):
    told = run("check", folder / "people.csv", *DATA, "--public", public, "--drop", "name,family").stdout
    told = " ".join(told.split())
    assert "would come from the public rows, at no cost, if at least 20 of them are complete." in told


def test_formula_and_filter(folder, public):
    given = ("pay ~ age + log(school + 20)", *BUDGET, "--where", "age > 30", "--public", public, "--json")
    assert 200 < json.loads(run("fit", folder / "people.csv", *given).stdout)["public_rows"] < 400


def test_a_filter_on_the_target(folder, people, public, tmp_path):
    rows = tmp_path / "with_target.csv"
    people.head(400).drop(columns="family").to_csv(rows, index=False)
    given = (folder / "people.csv", *DATA, "--features", "age,school", "--where", "pay > 20", "--public")
    assert 20 <= json.loads(run("fit", *given, rows, "--json").stdout)["public_rows"] < 400
    assert "--public must have the columns of --where: no column 'pay'" in refused("fit", *given, public)


def test_a_part_of_data_is_not_public(people, tmp_path):
    folder, other = tmp_path / "people", tmp_path / "other"
    (folder / "below").mkdir(parents=True)
    people.to_parquet(folder / "a.parquet")
    people.to_parquet(folder / "below" / "b.parquet")
    people.to_parquet(folder / "_old.parquet")  # which is in the folder, but not read with it
    other.symlink_to(folder)
    chosen = (*DATA, "--features", "age,school", "--public")
    for data, public in [
        (folder, folder / "a.parquet"),
        (folder, other / "below" / "b.parquet"),
        (folder, folder / "below"),
        (folder / "below", folder),
        (folder / "*.parquet", folder / "a.parquet"),
        (folder / "below" / "b.parquet", other),
        (folder, folder / "_old.parquet"),
    ]:
        assert "--public: this is DATA, or a part of it" in refused("fit", data, *chosen, public)
    apart = (folder / "a.parquet", *chosen, folder / "_old.parquet", "--json")
    assert json.loads(run("fit", *apart).stdout)["public_rows"] > 0


def test_mistakes(folder, public, tmp_path):
    data = folder / "people.csv"
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("age,skool\n1,2\n")
    chosen = ("--features", "age,school")
    assert "no column 'school'" in refused("fit", data, *DATA, *chosen, "--public", wrong)
    assert "--public: this is DATA, or a part of it" in refused("fit", data, *DATA, *chosen, "--public", data)
    few = tmp_path / "few.csv"
    few.write_text("age,school\n1,2\n")
    assert "public (--public) has 1 row," in refused("fit", data, *DATA, *chosen, "--public", few)
    assert "K-BAS cannot use public rows" in refused("fit", data, *DATA, "--method", "K-BAS", "--public", public)
    assert "nothing.csv" in refused("fit", data, *DATA, *chosen, "--public", tmp_path / "nothing.csv")
    assert "same file" in refused("fit", data, *DATA, "--public", public, "--out", public, "--force")
