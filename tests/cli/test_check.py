"""Mistakes that would spend a budget, or lose a file, for nothing: refused, or said, before anything is spent."""

import io
import json
import os
import sys
import warnings
from contextlib import redirect_stdout, suppress
from decimal import Decimal
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from commands import run
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    Ledger,
    ParquetTable,
    PrivateLinearRegression,
    SchemaError,
    SubLasso,
    TukeyRegression,
    WeakGuaranteeWarning,
    load_model,
)
from privreg.cli import check
from privreg.cli.app import app
from privreg.data.schema import Schema, declared_columns
from privreg.data.tables import read_table
from privreg.paper import make_method
from privreg.privacy.weak import weak_points

ROWS = 400
FIT = ("--target", "pay", "--epsilon", "9")  # with less, 400 records do not always tell what kind a column is


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    education = rng.integers(1, 4, ROWS)
    columns = {
        "education": education,
        "share": education / 2,
        "member": education > 1,
        "town, or village": rng.choice(["Oslo", "Rome, south"], ROWS),
        "pay": education + rng.normal(size=ROWS),
    }
    return pd.DataFrame(columns)


@pytest.fixture
def folder(people, tmp_path, monkeypatch):
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    Ledger(tmp_path / "budget.db").create("people", "10", "1e-4")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words):
    """The one line that a mistake gets. The ledger has no entry of it."""
    result = run(*words, "--ledger", "budget.db", "--dataset", "people", expect=2)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert Ledger("budget.db").history() == []
    return result.stderr


# ---- levels that cannot occur

TOWN = "town, or village"
FILES = pytest.mark.parametrize("file", ["people.csv", "people.parquet"])


@pytest.mark.parametrize(
    ("option", "kind"), [("education=low,high", "numbers"), ("share=a", "numbers"), ("member=yes,no", "booleans")]
)
def test_text_cannot_be_a_level_of_numbers(folder, option, kind):
    """Where the type says that they are. In a text file any level may occur."""
    line = refused("fit", "people.parquet", *FIT, "--drop", TOWN, "--category", option)
    name, _, levels = option.partition("=")
    said = f"--category: column '{name}' holds {kind}, but '{levels.split(',')[0]}' is not a {kind[:-1]}; write"
    assert said in line
    assert f"--category {name}=" in line


def named(result):
    """The columns that a fit answers with, without those that noise may add."""
    return [name for name in json.loads(result.stdout)["columns"] if not name.endswith("=(other)")]


@FILES
def test_numbers_can_be_levels_of_numbers(folder, file):
    given = ("education=1,2,3", "share=0.5,1,1.5", "member=TRUE,false")
    levels = [word for option in given for word in ("--category", option)]
    answer = run("fit", file, *FIT, "--drop", TOWN, *levels, "--json", "--out", "model.json")
    education, share = ["education=2", "education=3"], ["share=1", "share=1.5"]  # the first is the reference
    assert named(answer) == [*education, *share, "member=False"]
    meant = {"education": (1, 2, 3), "share": (0.5, 1, 1.5), "member": (True, False)}
    assert {column.name: column.levels for column in load_model("model.json").schema_} == meant


def test_whole_numbers_that_a_file_writes_with_a_point(folder, people):
    """As pandas does if some are missing: without this, no record would have a declared level."""
    people.assign(education=people["education"].where(people.index > 9).astype(float)).to_csv("points.csv", index=False)
    assert "\n1.0," in (folder / "points.csv").read_text()
    budget = {"epsilon": Decimal(1), "delta": Decimal("1e-6"), "method": "auto", "k": "auto"}
    columns = {"target": "pay", "features": ["education"], "category": ["education=1,2,3"]}
    opened = check.open_table(check.Job("fit", Path("points.csv"), **columns, **budget))
    schema = Schema(declared_columns(["education"], opened.columns.categories))
    table = read_table(opened.file.read(["education"]), schema)
    assert table.complete().sum() == ROWS - 10
    kept = people["education"][10:]
    assert [np.nansum(table[j]) for j in range(2)] == [(kept == 2).sum(), (kept == 3).sum()]


def test_in_python_text_is_refused_for_numbers_wherever_they_are(people, folder):
    tables = {
        "pandas": people,
        "nullable": people.convert_dtypes(),
        "polars": pl.from_pandas(people),
        "pyarrow": pa.Table.from_pandas(people),
        "dask": dd.from_pandas(people, npartitions=2),
    }
    ledger = {"ledger": Ledger("budget.db"), "dataset": "people"}
    for name in ("education", "share", "member"):
        model = PrivateLinearRegression(categories={name: ["1", "2"]}, **ledger)
        for library, table in tables.items():
            X = table[[name]] if library != "pyarrow" else table.select([name])
            with pytest.raises(SchemaError, match=f"column '{name}'"):
                model.fit(X, table["pay"])
        with pytest.raises(SchemaError, match=f"column '{name}' holds .*, so the text '1' cannot be one of its levels"):
            model.fit(ParquetTable("people.parquet").select([name, "pay"]), "pay")
    assert ledger["ledger"].history() == []


# ---- commas in names


@FILES
def test_names_and_levels_with_commas(folder, file):
    levels = f'{TOWN}=Oslo,"Rome, south"'
    columns = [f"{TOWN}=Rome, south"]
    for features in (
        ["--features", TOWN],
        ["--features", f'"{TOWN}"'],
        ["--drop", "education,share", "--drop", "member"],
    ):
        assert named(run("fit", file, *FIT, *features, "--category", levels, "--json")) == columns
    both = run(
        "fit", file, *FIT, "--features", f'share,"{TOWN}"', "--category", levels, "--out", "model.json", "--json"
    )
    assert named(both) == ["share", *columns]
    shown = run("predict", "model.json", file, "--keep", TOWN, "--keep", "share,member").stdout
    assert shown.splitlines()[0] == f'"{TOWN}",share,member,prediction'
    chosen = run("select", file, "--target", "pay", "--k", 1, "--epsilon", 6, "--drop", f'"{TOWN}",member', "--json")
    assert json.loads(chosen.stdout)["selected_features"][0] in ("education", "share")


# ---- files that are there already


def test_a_file_is_not_replaced_without_force(folder):
    words = ("fit", "people.csv", *FIT, "--drop", TOWN)
    (folder / "old.json").write_text("old")
    (folder / "link.json").symlink_to("old.json")
    for option in ("--out", "--report"):
        for name in ("old.json", "link.json"):
            line = refused(*words, option, name)
            assert line == f"privreg fit: {name}: the file already exists; --force replaces it\n"
    assert (folder / "old.json").read_text() == "old"
    run(*words, "--out", "old.json", "--report", "new.html", "--force")
    load_model("old.json")
    run(*words, "--out", os.devnull)  # nothing is lost there
    line = run("predict", "old.json", "people.csv", "--out", "people.parquet", expect=2).stderr
    assert line == "privreg predict: people.parquet: the file already exists; --force replaces it\n"
    run("predict", "old.json", "people.csv", "--out", "p.csv")
    run("predict", "old.json", "people.csv", "--out", "p.csv", "--force")
    assert len((folder / "p.csv").read_text().splitlines()) == ROWS + 1


def test_force_does_not_replace_inputs(folder):
    words = ("fit", "people.csv", *FIT, "--drop", TOWN, "--force")
    assert "--out and DATA are the same file" in refused(*words, "--out", "people.csv")
    assert "--out and --ledger are the same file" in refused(*words, "--out", "budget.db")


# ---- budgets that protect hardly anybody

ESTIMATORS = [PrivateLinearRegression, BoostedAdaSSP, TukeyRegression, DPKendall, SubLasso]


def test_where_weak_begins():
    assert weak_points(10, 1e-4) == []
    assert weak_points("12", None) == weak_points(float("inf"), float("nan")) == []  # others refuse these
    (large,) = weak_points(12, 1e-5)
    assert large.startswith("ε = 12 is weak protection: the release may change the odds of a guess about any record")
    (likely,) = weak_points(1, 0.001)
    assert likely.startswith("δ = 0.001 is weak protection: ")
    assert "a probability of about one in 1,000 " in likely
    assert len(weak_points(11, 0.01)) == 2


@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
@pytest.mark.parametrize("estimator", [*ESTIMATORS, lambda **options: make_method("K-BAS", k=1, **options)])
def test_python_warns_before_it_spends(people, estimator, tmp_path):
    X, y = people[["education", "share"]], people["pay"]
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("people", "100", "0.1")
    weak = estimator(epsilon=11.0, delta=1e-3, ledger=ledger, dataset="people")
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        with pytest.raises(WeakGuaranteeWarning, match="ε = 11 is weak protection"):
            weak.fit(X, y)
        assert ledger.history() == []
        estimator(epsilon=9.0, delta=1e-5).fit(X, y)
    with pytest.warns(WeakGuaranteeWarning) as caught:
        weak.fit(X, y)
    told = [w for w in caught if w.category is WeakGuaranteeWarning]
    assert [str(w.message)[:9] for w in told] == ["ε = 11 is", "δ = 0.001"]
    assert {w.filename for w in told} == {__file__}


def test_with_a_seed_nothing_is_promised(people):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        PrivateLinearRegression(100.0, 0.01, random_state=1).fit(people[["share"]], people["pay"])


@pytest.mark.parametrize("more", [(), ("--json",), ("--yes",)])
def test_a_program_is_told_and_goes_on(folder, more):
    result = run("fit", "people.csv", "--target", "pay", "--epsilon", 20, "--delta", "0.01", "--drop", TOWN, *more)
    if more == ("--json",):
        large, likely = result.stderr.splitlines()
        assert large.startswith("privreg fit: warning: ε = 20 is weak protection: ")
        assert likely.startswith("privreg fit: warning: δ = 0.01 is weak protection: ")
    else:  # once is enough
        assert "weak protection" not in result.stderr
        assert "- ε = 20 is weak protection: " in result.stdout
        assert "- δ = 0.01 is weak protection: " in result.stdout
    chosen = run("select", "people.csv", "--target", "pay", "--k", 1, "--epsilon", 20, "--drop", TOWN, *more)
    assert chosen.stderr.startswith("privreg select: warning: ε = 20 is weak protection: ")


def at_terminal(answer, *words):
    """What a person sees who gives this answer, and the exit status."""
    reader, writer = os.openpty()
    os.write(reader, answer)
    with (
        os.fdopen(os.dup(writer)) as typed,
        os.fdopen(writer, "w", buffering=1) as screen,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TERM", "dumb")
        patch.setattr(sys, "stdin", typed)
        patch.setattr(sys, "stderr", screen)
        with pytest.raises(SystemExit) as ended, redirect_stdout(io.StringIO()):
            app([str(word) for word in words], prog_name="privreg")
    shown = b""
    with suppress(OSError):  # the terminal is closed
        while part := os.read(reader, 65536):
            shown += part
    os.close(reader)
    return shown.decode(), ended.value.code or 0


@pytest.mark.parametrize(
    ("answer", "more", "status"),
    [(b"n\n", (), 1), (b"\n", (), 1), (b"\x04", (), 1), (b"y\n", (), 0), (b"", ("--yes",), 0), (b"", ("--json",), 0)],
)
def test_a_person_is_asked(folder, answer, more, status):
    Ledger("budget.db").create("rich", "100", "1e-4")
    words = ("fit", "people.csv", "--target", "pay", "--epsilon", "20", "--drop", TOWN)
    shown, code = at_terminal(answer, *words, "--ledger", "budget.db", "--dataset", "rich", *more)
    assert ("ε = 20 is weak protection" in shown) == (more != ("--yes",))  # the verdict, on standard output, says it
    assert ("Go on? [y/N]" in shown) == (not more)
    assert ("Nothing was spent." in shown) == (status == 1)
    assert code == status, shown
    assert len(Ledger("budget.db").history()) == (1 if status == 0 else 0)
