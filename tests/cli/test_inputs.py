"""Files as people have them, and data from a pipe, by the commands that take them."""

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zstandard

from commands import refused, run
from fit_command import BUDGET, COLUMNS, ROWS, fit
from privreg import load_model
from privreg.cli import standard_input

PRIVREG = [f"{os.path.dirname(sys.executable)}/privreg"]


@pytest.fixture(scope="module")
def model(folder):
    fit(folder / "people.csv", "--out", folder / "inputs-model.json")
    return folder / "inputs-model.json"


def text_of(people):
    return people.replace({"town": {"north": "nörd"}}).to_csv(index=False)


KINDS = {
    "gzip": (lambda text: gzip.compress(text.encode()), ()),
    "zstd": (lambda text: zstandard.compress(text.encode()), ()),
    "utf-16": (lambda text: text.encode("utf-16"), ()),
    "latin-1": (lambda text: text.encode("latin-1"), ("--encoding", "latin-1")),
    "both": (lambda text: gzip.compress(text.encode("cp1252")), ("--encoding", "cp1252")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_takes_it(people, model, tmp_path, kind):
    written, options = KINDS[kind]
    path = tmp_path / "people"
    path.write_bytes(written(text_of(people)))
    town = ("--category", "town=nörd,south")
    words = ("--target", "pay", *BUDGET, "--drop", "name,family", *options, *town)
    out = tmp_path / "model.json"
    run("fit", path, *words, "--out", out)
    assert abs(load_model(out).schema_.records - ROWS) < 200
    assert "Type found out by the fit (3 columns): age, school, noise." in run("check", path, *words).stdout
    chosen = run("select", path, "--target", "pay", "--k", "1", *BUDGET, "--drop", "name,family", *options, *town)
    assert "school" in chosen.stdout or "age" in chosen.stdout or "town" in chosen.stdout
    schema = run("schema", path, *BUDGET, "--drop", "name,family", *options).stdout
    assert "nörd" in schema
    plain = tmp_path / "plain.csv"
    plain.write_text(text_of(people))
    assert run("predict", out, path, *options).stdout == run("predict", out, plain).stdout
    assert "nan" not in run("predict", out, path, *options).stdout


def test_numbers_as_people_write_them(people, folder, model, tmp_path):
    written = people.assign(
        age=people.age.map("{} %".format),
        school=people.school.map("${:,.2f}".format),
        noise=people.noise.map(lambda x: f"({-x!r})" if x < 0 else repr(x)),
        # Every fifth with a point as well: of 38,512 alone a fit in five thousand thinks that the comma is decimal.
        pay=[f"{pay:,.1f}" if i % 5 == 0 else f"{pay:,.0f}" for i, pay in enumerate(people.pay * 1000)],
    )
    written.to_csv(tmp_path / "people.csv", index=False)
    expected = run("predict", model, folder / "people.csv").stdout
    assert run("predict", model, tmp_path / "people.csv").stdout == expected
    fit(tmp_path / "people.csv", "--out", tmp_path / "model.json")
    columns = load_model(tmp_path / "model.json").schema_.columns
    assert [column.kind for column in columns] == ["number", "number", "category", "number"]
    found = list(map(float, run("predict", tmp_path / "model.json", folder / "people.csv").stdout.split()[1:]))
    assert 5_000 < min(found) < max(found) < 200_000  # thousands, not decimals


def test_an_encoding_that_cannot_be_used(folder, model):
    data = folder / "people.csv"
    for words in (("fit", data, "--target", "pay"), ("schema", data), ("check", data, "--target", "pay")):
        said = refused(*words, *BUDGET, "--encoding", "shift_jis")
        assert "--encoding 'shift_jis' cannot be used; use utf-8, utf-16, latin-1, cp1252" in said
    assert "--encoding 'no'" in refused("predict", model, data, "--encoding", "no")
    assert "omit the encoding" in refused("predict", model, folder / "people.parquet", "--encoding", "latin-1")


def test_a_column_without_a_name_is_noted(people, tmp_path):
    people.to_csv(tmp_path / "people.csv")  # with the numbers of the rows
    note = "Column 1 has no name and is left out."
    assert note in fit(tmp_path / "people.csv").stdout
    words = ("--target", "pay", *BUDGET, *COLUMNS)
    assert note in run("check", tmp_path / "people.csv", *words).stdout
    assert json.loads(run("check", tmp_path / "people.csv", *words, "--json").stdout)["notes"] == [note]
    assert note in run("schema", tmp_path / "people.csv", *BUDGET).stdout.replace("\n", " ")


def test_a_damaged_file_spends_nothing(people, tmp_path):
    packed = gzip.compress(text_of(people).encode())
    (tmp_path / "people.csv.gz").write_bytes(packed[: len(packed) // 2])
    ledger = tmp_path / "ledger.json"
    run("ledger", "create", ledger, "--dataset", "d", "--epsilon", "5", "--delta", "1e-5")
    words = ("--target", "pay", "--epsilon", "1", "--delta", "1e-6", "--ledger", ledger, "--dataset", "d")
    assert "people.csv.gz is damaged: it cannot be unpacked" in refused("fit", tmp_path / "people.csv.gz", *words)
    assert json.loads(run("ledger", "history", ledger, "--json").stdout)["entries"] == []


# ---------------------------------------------------------------- standard input


def piped(content, *words, **options):
    command = [*PRIVREG, *map(str, words)]
    return subprocess.run(command, input=content, capture_output=True, timeout=120, check=False, **options)


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_predict_in_a_pipe(folder, model, name, tmp_path):
    content = (folder / name).read_bytes()
    expected = run("predict", model, folder / name).stdout
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    for given in (content, gzip.compress(content)) if name == "people.csv" else (content,):
        done = piped(given, "predict", model, "-", env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.decode() == expected
    assert list(tmp_path.iterdir()) == []


def test_fit_from_a_pipe(folder, tmp_path):
    content = (folder / "people.csv").read_bytes()
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    (tmp_path / "out").mkdir()
    words = ("--target", "pay", *BUDGET, *COLUMNS)
    report = tmp_path / "out" / "r.html"
    done = piped(content, "fit", "-", *words, "--out", tmp_path / "out" / "m.json", "--report", report, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    page = report.read_text()
    assert "standard input" in page
    assert f"{tmp_path}/privreg-" not in page + (tmp_path / "out" / "m.json").read_text()
    for command in (("check", *words), ("schema", *BUDGET), ("select", *words, "--k", "2")):
        done = piped(content, command[0], "-", *command[1:], env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# Cut off in the middle. The same bytes in every process that collects tests, which therefore have the same names.
DAMAGED = gzip.compress(b"a,pay\n" + np.random.default_rng(0).bytes(99_999).hex().encode(), mtime=0)[:50_000]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "standard input is empty"),
        (b"a,b\n1,2\n", "--target: no column 'pay' in standard input; it has 'a', 'b'"),
        (b"PK\x03\x04", "standard input is a zip archive"),
        pytest.param(DAMAGED, "standard input is damaged", id="damaged"),
        (b"PAR1 and nothing", "standard input could not be read as Parquet"),
    ],
)
def test_messages_call_it_by_its_name(content, said, tmp_path):
    words = ("--target", "pay", "--epsilon", "1")
    done = piped(content, "fit", "-", *words, env=os.environ | {"TMPDIR": str(tmp_path)})
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert b"privreg-" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_closed_input_is_one_line():
    command = f"{PRIVREG[0]} fit - --target pay --epsilon 1 <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr
    assert done.stderr.count("\n") == 1


def test_nohup_is_left_alone():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        standard_input._catch_signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_full_disk_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(standard_input.shutil, "copyfileobj", full)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert "standard input cannot be kept in" in refused("fit", "-", "--target", "pay", "--epsilon", "1")


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_file_is_private_and_goes_with_a_signal(tmp_path):
    command = [*PRIVREG, "fit", "-", "--target", "pay", "--epsilon", "1"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        process.stdin.write(b"a,pay\n1,2\n" * 300_000)
        process.stdin.flush()
        until = time.monotonic() + 60
        while not (found := list(tmp_path.glob("privreg-*/standard input"))) and time.monotonic() < until:
            time.sleep(0.05)
        assert found[0].stat().st_mode & 0o777 == 0o600
        assert found[0].parent.stat().st_mode & 0o777 == 0o700
        time.sleep(1)  # it waits for more
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert list(tmp_path.iterdir()) == []


def test_a_check_says_who_would_be_protected(folder):
    words = ("check", folder / "people.csv", "--target", "pay", "--epsilon", "1", "--person", "family")
    assert "and protect one person (at most 1 of their rows is used)." in run(*words).stdout
    shown = run(*words, "--rows-per-person", "2").stdout
    assert "and protect one person (at most 2 of their rows are used)." in shown
