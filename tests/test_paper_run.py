"""`privreg paper run`: real files, real processes, interrupted in every way."""

import csv
import io
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from itertools import product
from math import inf, log
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from threadpoolctl import threadpool_info
from typer.testing import CliRunner

from privreg.cli.app import app
from privreg.cli.paper import _overview
from privreg.errors import DataError
from privreg.estimators.methods import METHODS, REGISTRY, make_method
from privreg.paper import journal, workers
from privreg.paper.catalogue import published, tasks
from privreg.paper.folder import find, kind, load, name_of
from privreg.paper.results import JOURNAL, Results, _quartiles, epsilon_name, ranks
from privreg.paper.results import load as load_results
from privreg.paper.runner import Settings, _trials
from privreg.paper.trials import Trial, run_trial
from privreg.paper.watch import Watch
from privreg.paper.workers import run_all

PRIVREG = Path(sys.executable).parent / "privreg"
PUBLIC = Path(__file__).resolve().parents[2] / "shared" / "paper"


def write_table(file, n, rng, columns=6, **more):
    X = rng.normal(size=(n, columns))
    table = {f"c{j}": X[:, j] for j in range(columns)} | more
    pq.write_table(pa.table(table | {"target": X[:, 0] - X[:, 1] + rng.normal(size=n) / 4}), file)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """One data set of its own, one of the paper's names with other numbers, one that says it is partial."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    write_table(folder / "7_made_up.parquet", 2500, rng)
    write_table(folder / "361072_cpu_act.parquet", 1500, rng)
    level = pa.array(["b", "a", "c"] * 400).dictionary_encode()
    write_table(folder / "361075_isolet_PARTIAL.parquet", 1200, rng, level=level)
    (folder / "notes.txt").write_text("not a data set")
    return folder


def command(data, out, *more):
    methods = "NonDP,K-Tukey,PrivateLinearRegression"
    return [
        PRIVREG,
        "paper",
        "run",
        "--data",
        data,
        "--out",
        out,
        "--trials",
        "3",
        "--k",
        "5",
        "--methods",
        methods,
        *more,
    ]


def run(*words):
    environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1"}
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, env=environment, check=False)


def here(*words):
    """The same without a process for the command itself, which takes seconds to start."""
    return CliRunner().invoke(app, [str(w) for w in words[1:]])


def outcomes(out):
    """What a run found, without the clock."""
    return {key: row.get("r2", row.get("error")) for key, row in load_results(out).trials.items()}


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("finished")
    result = run(*command(data, out, "--json"))
    assert result.returncode == 0, result.stderr
    return out, result


def test_summary_has_the_agreed_form(finished):
    out, result = finished
    summary = json.loads((out / "summary.json").read_text())
    assert json.loads(result.stdout) == summary
    assert summary["k"] == {"5": {}}  # no data set equals the paper's
    assert set(summary["partial"]["5"]) == {"361072", "361075"}
    cell = summary["other"]["5"]["7"]["K-Tukey"]
    assert set(cell) == {"median", "q25", "q75", "seconds", "trials"}
    assert cell["trials"] == 3
    scores = sorted(json.loads(line)["r2"] for line in lines(out) if '"K-Tukey"' in line and '"task":7,' in line)
    assert cell["median"] == scores[1]
    assert summary["other"]["5"]["7"]["NonDP"]["median"] > 0.9
    assert "361072_cpu_act.parquet differs: n = 1500, d = 7; published n = 8192, d = 22" in result.stderr
    assert summary["missing"]["361073"] == {"name": "pol", "why": "no file in the folder"}
    assert len(summary["missing"]) == 23
    assert str(out) not in json.dumps(summary)


def lines(out):
    return [line for line in (out / JOURNAL).read_text().splitlines() if '"task"' in line]


def test_a_finished_run_is_not_run_again_and_more_trials_are_added(data, finished, tmp_path):
    out = tmp_path / "copy"
    out.mkdir()
    (out / JOURNAL).write_bytes((finished[0] / JOURNAL).read_bytes())
    again = here(*command(data, out))
    assert "0 trials to run, 27 were there already" in again.stderr
    more = here(*command(data, out, "--trials", "4", "--tasks", "7"))
    assert "3 trials to run, 9 were there already" in more.stderr
    assert len(lines(out)) == 30
    assert len(load_results(out).datasets) == 3  # the others are still in the tables


def test_kill_and_power_loss_cost_only_the_running_trials(data, finished, tmp_path):
    process = subprocess.Popen([str(w) for w in command(data, tmp_path)], stderr=subprocess.DEVNULL)
    file = tmp_path / JOURNAL
    while not (file.exists() and file.read_text().count('"task"') >= 4):
        time.sleep(0.02)
        assert process.poll() is None
    process.kill()
    process.wait()
    kept = lines(tmp_path)
    with file.open("a") as stream:
        stream.write('{"task":7,"method":"NonDP","k":nu')  # what a power loss may leave
    result = here(*command(data, tmp_path))
    assert f"{27 - len(kept)} trials to run, {len(kept)} were there already" in result.stderr
    assert lines(tmp_path)[: len(kept)] == kept
    assert outcomes(tmp_path) == outcomes(finished[0])  # the same numbers as without the interruption


@pytest.mark.parametrize("finished_trials", [0, 3])  # with 0, the workers are still starting
def test_ctrl_c_stops_at_once_keeps_what_is_done_and_leaves_no_process(data, tmp_path, finished_trials):
    words = [str(w) for w in command(data, tmp_path, "--trials", "2000")]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heard)
    while not (tmp_path / JOURNAL).exists() or len(lines(tmp_path)) < finished_trials:
        time.sleep(0.02)
        assert process.poll() is None
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from here" in said
    assert "Traceback" not in said
    assert len(lines(tmp_path)) >= finished_trials
    assert bool(json.loads((tmp_path / "summary.json").read_text())["other"]["5"]) == bool(lines(tmp_path))
    for _ in range(1000):  # multiprocessing's own helper ends when it notices
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("a process of the run is still there")


def test_a_process_that_dies_costs_its_trial_and_the_run_goes_on(data, tmp_path):
    words = [str(w) for w in command(data, tmp_path, "--jobs", "1")]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / JOURNAL).exists() or not lines(tmp_path):
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    workers = [c for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]
    os.kill(int(workers[0]), signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == 0
    assert "ProcessDied: its process was ended (exit code -9)" in said
    found = outcomes(tmp_path)
    assert len(found) == 27
    assert sum(str(value).startswith("ProcessDied") for value in found.values()) == 1
    again = here(*command(data, tmp_path, "--retry"))
    assert "1 trials to run, 26 were there already" in again.stderr
    assert not load_results(tmp_path).failures()


def test_a_method_that_raises_is_recorded_and_the_others_go_on(data, tmp_path):
    result = here(*command(data, tmp_path, "--tasks", "7", "--epsilon", "1e-12"))
    assert result.exit_code == 0
    assert "Error" in result.stderr
    assert "Traceback" not in result.stderr
    failures = {method: (info.task, k, e, cell) for info, method, k, e, cell in load_results(tmp_path).failures()}
    assert set(failures) == {"K-Tukey", "PrivateLinearRegression"}
    task, k, epsilon, cell = failures["K-Tukey"]
    assert (task, k, epsilon, cell.failed, cell.median) == (7, 5, 1e-12, 3, None)
    assert "too small for a Tukey mechanism" in cell.error
    summary = json.loads((tmp_path / "summary.json").read_text())["other"]["5"]["7"]
    assert summary["K-Tukey"]["error"] == cell.error
    assert summary["NonDP"]["median"] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "/nowhere/at all"], "/nowhere/at all is not a folder"),
        (["--methods", "K-Tuckey"], "--methods: 'K-Tuckey' is none of NonDP, BAS"),
        (["--epsilon", "1,zwei"], "--epsilon: 'zwei' is not a number"),
        (["--epsilon", "0"], "--epsilon must be positive"),
        (["--epsilon", ""], "--epsilon must be positive"),
        (["--delta", "1"], "--delta must lie between 0 and 1"),
        (["--k", "0"], "--k must be at least 1"),
        (["--jobs", "-1"], "--jobs must be at least 1"),
        (["--tasks", "12"], "--tasks: 12 is not one of the paper's tasks"),
        (["--tasks", "a"], "--tasks: 'a' is not a task number"),
        (["--tasks", "²"], "--tasks: '²' is not a task number"),
        (["--methods", ","], "--methods names no method"),
    ],
)
def test_wrong_options_are_one_clear_line(data, tmp_path, options, message):
    result = here(*command(data, tmp_path / "new", *options))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"privreg paper run: {message}")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_trials_that_cannot_be_compared_are_refused(data, finished, tmp_path):
    refused = {"--seed=3": "seed = 0, not 3", "--jitter": "jitter = False, not True", "--delta=1e-6": "delta = 1e-05"}
    for option, message in refused.items():
        result = here(*command(data, finished[0], option))
        assert result.exit_code == 2
        assert message in result.stderr
    other = tmp_path / "other data"
    other.mkdir()
    write_table(other / "7_made_up.parquet", 2500, np.random.default_rng(1))  # same size, other values
    result = here(*command(other, finished[0]))
    assert result.exit_code == 2
    assert "data set 7 is not the one of the earlier trials" in result.stderr
    with journal.writing(finished[0] / JOURNAL):
        result = here(*command(data, finished[0]))
    assert result.exit_code == 2
    assert "another run is writing" in result.stderr


def test_report_of_something_else(tmp_path):
    result = here(PRIVREG, "paper", "report", tmp_path)
    assert result.exit_code == 2
    assert "it is not the folder of a `privreg paper run`" in result.stderr


def test_journal_keeps_rows_and_names_a_damaged_line(tmp_path):
    file = tmp_path / "j"
    with journal.writing(file) as log:
        log.append({"a": "ü\n"})
        with pytest.raises(DataError, match="another run"), journal.writing(file):
            pass
    file.write_bytes(file.read_bytes() + b'{"b": 2')
    assert journal.read(file) == [{"a": "ü\n"}]
    with journal.writing(file) as log:
        log.append({"c": 3})
    assert journal.read(file) == [{"a": "ü\n"}, {"c": 3}]
    file.write_bytes(b"[]\n" + file.read_bytes())
    with pytest.raises(DataError, match="line 1 of j is damaged"):
        journal.read(file)


def test_a_row_is_on_the_disk_before_the_next(tmp_path, monkeypatch):
    safe = []
    monkeypatch.setattr(os, "fsync", lambda number: safe.append((tmp_path / "j").read_text()))
    with journal.writing(tmp_path / "j") as log:
        log.append({"a": 1})
        assert safe == ['{"a":1}\n']


@pytest.mark.parametrize("row", [{"end": {}}, {"task": 1}, {"run": {}}, {"run": 3}])
def test_a_journal_that_no_run_wrote_is_an_error_of_its_own(tmp_path, row):
    (tmp_path / JOURNAL).write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=JOURNAL):
        load_results(tmp_path)


def test_files_are_found_by_name_and_a_complete_one_is_preferred(tmp_path, rng):
    for name in ("361075_isolet_PARTIAL", "361075_isolet", "361092_yprop_4_1_NUMONLY", "12_a_b", "x_1", "13"):
        write_table(tmp_path / f"{name}.parquet", 3, rng)
    found = find(tmp_path)
    assert {task: file.stem for task, file in found.items()} == {
        12: "12_a_b",
        361075: "361075_isolet",
        361092: "361092_yprop_4_1_NUMONLY",
    }
    assert [name_of(file) for file in found.values()] == ["a_b", "isolet", "yprop_4_1"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"holds no <task>_<name>\.parquet"):
        find(empty)


def test_kind_compares_with_the_published_numbers():
    assert kind(361072, Path("361072_cpu_act.parquet"), 8192, 22) == "complete"
    assert kind(361072, Path("361072_cpu_act.parquet"), 8191, 22) == "partial"
    assert kind(361072, Path("361072_cpu_act.parquet"), 8192, 21) == "partial"
    assert kind(361072, Path("361072_cpu_act_PARTIAL.parquet"), 8192, 22) == "partial"
    assert kind(5, Path("5_x.parquet"), 8192, 22) == "other"


def test_preparation_drops_missing_rows_and_keeps_every_level(tmp_path):
    file = tmp_path / "1_a.parquet"
    colours = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 2, 0], pa.int8()), ["red", "green", "blue"])
    table = {"x": pa.array([1, 2, 3, None, 5], pa.int8()), "colour": colours, "target": [1.0, 2, 3, 4, None]}
    pq.write_table(pa.table(table), file)
    data = load(file)
    assert data.names == ["x", "colour=red", "colour=green", "colour=blue"]
    assert data.X.tolist() == [[1, 1, 0, 0], [2, 0, 0, 1]]
    assert data.y.tolist() == [1, 2]
    assert data.d == 5


def test_files_that_cannot_be_used_are_named(tmp_path):
    (tmp_path / "1_a.parquet").write_text("nothing")
    with pytest.raises(DataError, match=r"1_a\.parquet cannot be read"):
        load(tmp_path / "1_a.parquet")
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "2_b.parquet")
    with pytest.raises(DataError, match=r"2_b\.parquet has no column called 'target'"):
        load(tmp_path / "2_b.parquet")
    pq.write_table(pa.table({"x": [1.0], "target": ["a"]}), tmp_path / "3_c.parquet")
    with pytest.raises(DataError, match=r"3_c\.parquet cannot be used: the target is text"):
        load(tmp_path / "3_c.parquet")


def test_a_file_that_cannot_be_used_does_not_stop_the_others(data, tmp_path):
    (tmp_path / "361072_cpu_act.parquet").write_text("nothing")
    (tmp_path / "7_made_up.parquet").write_bytes((data / "7_made_up.parquet").read_bytes())
    result = here(*command(tmp_path, tmp_path / "out", "--methods", "NonDP"))
    assert result.exit_code == 0
    assert "361072_cpu_act.parquet cannot be read" in result.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(summary["other"]["5"]) == {"7"}
    assert summary["missing"]["361072"]["why"].startswith("361072_cpu_act.parquet cannot be read")
    result = here(*command(tmp_path, tmp_path / "none", "--tasks", "361072"))
    assert result.exit_code == 2
    assert "no data set can be run: 361072_cpu_act.parquet cannot be read" in result.stderr
    result = here(*command(tmp_path, tmp_path / "none", "--tasks", "361091"))
    assert result.exit_code == 2
    assert "no data set can be run" in result.stderr


def test_a_folder_that_cannot_be_written_is_one_line(data, tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("file", "file/folder"):
        result = here(*command(data, tmp_path / out))
        assert result.exit_code == 2
        assert result.stderr.startswith("privreg paper run: ")
        assert str(tmp_path / "file") in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_a_full_disk_ends_the_run_in_one_line_and_it_can_be_resumed(data, tmp_path):
    """A limit on the size of files stands for the disk."""
    words = [str(w) for w in command(data, tmp_path, "--tasks", "7")]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1800, 1800))
    result = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("privreg paper run: ")
    assert "Traceback" not in result.stderr
    assert 0 < len(journal.read(tmp_path / JOURNAL)) < 11
    assert here(*words).exit_code == 0
    assert len(outcomes(tmp_path)) == 9


def test_two_files_for_one_task_are_named(tmp_path, rng):
    for name in ("7_a", "7_b"):
        write_table(tmp_path / f"{name}.parquet", 3, rng)
    with pytest.raises(DataError, match=r"7_a\.parquet and 7_b\.parquet are for the same task"):
        find(tmp_path)


def trial_of(file, **changes):
    values = {"task": 7, "file": file, "method": "NonDP", "k": None, "epsilon": None, "trial": 0, "delta": 1e-5}
    return Trial(**(values | {"seed": 0, "jitter": False} | changes))


def test_a_trial_is_a_fit_on_nine_tenths_scored_on_the_rest(data):
    """Against scikit-learn on the split that the seed defines."""
    from sklearn.linear_model import LinearRegression

    file = data / "7_made_up.parquet"
    table = load(file)
    order = np.random.default_rng([0, 7, 4]).permutation(2500)
    exact = LinearRegression().fit(table.X[order[250:]], table.y[order[250:]])
    expected = exact.score(table.X[order[:250]], table.y[order[:250]])
    assert run_trial(trial_of(file, trial=4), load, 1)["r2"] == pytest.approx(expected, rel=1e-9)


class Recorder:
    """Stands in for a method, to see what it is given."""

    seen: ClassVar[list[tuple]] = []

    def fit(self, X, y):
        self.train = X, y
        return self

    def predict(self, X):
        Recorder.seen.append((*self.train, X))
        return np.zeros(len(X))


@pytest.mark.parametrize("jitter", [False, True])
def test_all_methods_get_the_same_records_and_what_was_asked_for(data, monkeypatch, jitter):
    asked = []

    def make(name, **options):
        asked.append((name, options))
        return Recorder()

    monkeypatch.setattr("privreg.paper.trials.make_method", make)
    Recorder.seen.clear()
    file = data / "7_made_up.parquet"
    for method, k, epsilon in product(REGISTRY, (5, 10), (1.0, 2.0)):
        trial = trial_of(file, method=method, k=k, epsilon=epsilon, delta=1e-7, jitter=jitter)
        assert "r2" in run_trial(trial, load, 3)
        name, options = asked[-1]
        assert (name, options["k"], options["epsilon"], options["delta"]) == (method, k, epsilon, 1e-7)
        assert options["n_jobs"] == 3
    assert len({options["random_state"] for _, options in asked}) == len(asked)
    for given in zip(*Recorder.seen, strict=True):
        for other in given:
            np.testing.assert_array_equal(other, given[0])
    X, y, test = Recorder.seen[0]
    table = load(file)
    order = np.random.default_rng([0, 7, 0]).permutation(2500)
    for given, index in ((X, order[250:]), (test, order[:250])):
        moved = np.abs(given - table.X[index]).max()
        assert moved == 0 if not jitter else 9e-7 < moved < 1.001e-6
    np.testing.assert_array_equal(y, table.y[order[250:]])


def test_data_sets_with_fewer_than_k_columns_are_left_out():
    options = {"trials": 1, "epsilons": (1.0,), "delta": 1e-5, "methods": ("NonDP", "K-BAS"), "tasks": (), "seed": 0}
    settings = Settings(ks=(6, 7, 8), jitter=False, jobs=1, retry=False, **options)
    planned = _trials(settings, {1: Path("1_a.parquet")}, {1: 7})
    assert [(t.method, t.k) for t in planned] == [("NonDP", None), ("K-BAS", 6), ("K-BAS", 7)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_as_many_trials_at_a_time_as_jobs(data, jobs):
    events = []
    todo = [trial_of(data / "7_made_up.parquet", trial=t) for t in range(4)]
    for row in run_all(todo, jobs, lambda trial: events.append(1)):
        assert "r2" in row
        assert sum(events) <= jobs
        assert sum(events) == jobs or len(events) > 4  # none is idle before the end
        events.append(-1)
    assert sum(events) == 0


@pytest.mark.parametrize(("cores", "jobs", "threads"), [(2, 1, 2), (2, 2, 1), (8, 3, 2), (2, 6, 1)])
def test_processes_together_use_each_core_once(monkeypatch, cores, jobs, threads):
    """The numbers of threads that the workers are started with, and that a worker allows BLAS and the methods."""
    started = []

    class Stop(Exception):
        pass

    class Worker:
        def __init__(self, threads):
            started.append(threads)
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(workers, "cores", lambda: cores)
        patch.setattr(workers, "_Worker", Worker)
        with pytest.raises(Stop):
            next(workers.run_all([trial_of(Path("x"))], jobs, lambda _: None))
    assert started == [threads]

    def seen(trial, load, allowed):
        return allowed, {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    monkeypatch.setattr("privreg.paper.trials.run_trial", seen)
    ours, theirs = multiprocessing.Pipe()
    worker = threading.Thread(target=workers._work, args=(theirs, threads), daemon=True)
    worker.start()
    ours.send("a trial")
    allowed, pools = ours.recv()
    assert allowed == threads
    assert max(pools) <= threads
    ours.close()
    worker.join()


def test_every_trial_has_its_own_noise_and_the_same_split(data):
    file = data / "7_made_up.parquet"
    private = {"method": "PrivateLinearRegression", "epsilon": 1.0}
    rows = [
        run_trial(trial_of(file, **private | change), load, 1)["r2"]
        for change in ({}, {"trial": 1}, {"epsilon": 1.0000001}, {"seed": 1}, {"jitter": True}, {})
    ]
    assert rows[0] == rows[-1]
    assert len(set(rows)) == 5
    exact = [run_trial(trial_of(file, jitter=j), load, 1)["r2"] for j in (False, True)]
    assert 0 < abs(exact[0] - exact[1]) < 1e-5


def test_no_model_and_an_infinite_prediction_score_minus_infinity(tmp_path, rng, monkeypatch):
    small = tmp_path / "7_small.parquet"
    write_table(small, 60, rng)
    row = run_trial(trial_of(small, method="Tukey-strict", epsilon=1.0), load, 1)
    assert row["r2"] == "-inf"
    write_table(small, 19, rng)
    assert run_trial(trial_of(small), load, 1)["error"].startswith("DataError: fewer than 20 records")
    write_table(small, 60, rng)
    monkeypatch.setattr("privreg.paper.trials.make_method", lambda *_, **__: Recorder())
    for value in (np.inf, np.nan, 1e200):
        monkeypatch.setattr(Recorder, "predict", lambda self, X, value=value: np.full(len(X), value))
        assert run_trial(trial_of(small), load, 1)["r2"] == "-inf"
    pq.write_table(pa.table({"x": np.arange(40.0), "target": np.arange(40.0) * 1e200}), small)
    assert run_trial(trial_of(small), load, 1)["error"] == "DataError: R² is not defined"


def test_a_file_that_vanishes_is_an_error_of_the_trial(tmp_path):
    row = run_trial(trial_of(tmp_path / "7_gone.parquet"), load, 1)
    assert row["error"].startswith("DataError: 7_gone.parquet cannot be read")


def test_quartiles_next_to_minus_infinity():
    assert _quartiles([]) == (None, None, None)
    assert _quartiles([1.0, 2.0, 3.0, 4.0]) == (1.75, 2.5, 3.25)
    assert _quartiles([-inf, 1.0, 2.0, 3.0, 4.0]) == (1.0, 2.0, 3.0)
    assert _quartiles([-inf, -inf, 2.0, 3.0]) == (-inf, -inf, 2.25)
    assert _quartiles([-inf] * 4) == (-inf, -inf, -inf)


def test_ranks_share_places_and_leave_out_what_is_not_private_or_not_there():
    row = {"NonDP": 0.9, "BAS": 0.5, "Tukey": -inf, "L-BAS": 0.5, "K-BAS": -3.0, "K-Tukey": 0.7}
    assert ranks(row) == {"K-Tukey": 1, "BAS": 2, "L-BAS": 2, "K-BAS": 4}


def test_signs_compare_complete_data_sets_with_the_paper():
    budget = {"k": 5, "epsilon": log(3), "trial": 0, "seconds": 1.0}
    header = {
        "data sets": {"361072": {"name": "cpu_act", "n": 8192, "d": 22, "kind": "complete"}},
        **{"missing": {}, "k": [5], "epsilon": [log(3)], "methods": list(METHODS), "delta": 1e-5},
    }
    rows = [{"run": header}]
    for method, score in (("K-Tukey", -0.2), ("L-Tukey", 0.3), ("K-BAS", "-inf"), ("L-BAS", -1.0)):
        rows.append({"task": 361072, "method": method, "r2": score, **budget})
    signs = Results(rows).signs(5)
    assert Counter(signs["agree"]) == Counter({"L-Tukey": 1, "L-BAS": 1})
    assert {m: n for m, n in signs["of"].items() if n} == {"K-Tukey": 1, "L-Tukey": 1, "K-BAS": 1, "L-BAS": 1}
    assert signs["differ"] == [
        {"task": 361072, "method": "K-BAS", "ours": "-inf", "published": 0.21},
        {"task": 361072, "method": "K-Tukey", "ours": -0.2, "published": 0.1},
    ]


def test_the_time_left_follows_method_and_size(capsys):
    watch = Watch(jobs=2)
    big, small = 361104, 361072  # 3,865,600 cells, and fewer than the least that is counted
    todo = [trial_of(Path("x"), task=t, method=m) for t in (small, big) for m in ("NonDP", "BAS")]
    watch.plan(todo, 0)
    assert watch.time_left() is None
    for trial, seconds in zip(todo[:2], (0.2, 0.6), strict=True):
        watch.started(trial)
        watch.ended(trial.row({"r2": 0.1, "seconds": seconds}))
    assert watch.time_left() == pytest.approx((0.2 + 0.6) * 3_865_600 / 200_000 / 2)
    assert "4 trials to run" in capsys.readouterr().err


def shown(renderable):
    console = Console(width=200, file=io.StringIO())
    console.print(renderable)
    return [line.replace("│", "|").split("|") for line in console.file.getvalue().splitlines()]


def cells(lines, name):
    return next([cell.strip() for cell in line[1:-1]] for line in lines if len(line) > 1 and line[1].strip() == name)


def test_the_live_table_counts():
    watch = Watch(jobs=2)
    todo = [trial_of(Path("x"), method=m, trial=t) for t in range(2) for m in ("NonDP", "BAS")]
    watch.plan(todo, 5)
    for trial in todo[:3]:
        watch.started(trial)
    watch.ended(todo[0].row({"r2": 0.1, "seconds": 0.25}))
    watch.ended(todo[1].row({"error": "ValueError: no", "seconds": 0.5}))
    lines = shown(watch._table())
    assert cells(lines, "NonDP") == ["NonDP", "1 of 2", "7 (trial 2)", "", "0.25"]
    assert cells(lines, "BAS") == ["BAS", "1 of 2", "", "1", "0.50"]
    assert "7 of 9 trials done, 1 running" in lines[0][0]


def test_the_overview_has_counts_and_shares(finished):
    results = load_results(finished[0])
    seconds = results.seconds()
    lines = shown(_overview(results))
    share = f"{100 * seconds['K-Tukey'] / sum(seconds.values()):.0f} %"
    assert cells(lines, "K-Tukey") == ["K-Tukey", "–", f"{seconds['K-Tukey']:.1f}", share]


def test_the_papers_budget_comes_first():
    def results(*epsilons):
        run = {"data sets": {}, "missing": {}, "k": [5], "epsilon": list(epsilons), "methods": [], "delta": 1e-5}
        return Results([{"run": run}])

    assert results(0.3, log(3), 3.0).epsilon == log(3)
    assert results(0.3, 1.0986).epsilon == 0.3
    assert (epsilon_name(log(3)), epsilon_name(1.0986)) == ("ln 3", "1.0986")


def test_further_names_are_settings_of_the_seven():
    assert make_method("K-Tukey-strict", k=3).calibration == "strict"
    assert make_method("Tukey-strict").calibration == "strict"
    assert make_method("BAS-reference").ridge == "reference"
    assert make_method("L-BAS-reference").ridge == "reference"
    assert make_method("K-Tukey").calibration == "paper"
    assert make_method("PrivateLinearRegression", k=3, epsilon=2.0).get_params()["k"] == "auto"
    assert {m for m in REGISTRY if REGISTRY[m].selects} == {m for m in REGISTRY if m[1] == "-"}


def test_catalogue_and_published_tables_are_those_of_the_paper():
    if not PUBLIC.is_dir():
        pytest.skip("the paper is not on this machine")
    rows = list(csv.DictReader((PUBLIC / "datasets.csv").read_text().splitlines()))
    assert [(int(r["task_id"]), int(r["n"]), int(r["d"])) for r in rows] == [(t.id, t.n, t.d) for t in tasks().values()]
    for k in (5, 10):
        rows = list(csv.DictReader((PUBLIC / f"results_k{k}.csv").read_text().splitlines()))
        expected = {int(r.pop("task_id")): {m: float(v) for m, v in r.items()} for r in rows}
        assert published(k) == expected
    assert published(7) == {}


def test_the_papers_data_sets_have_the_published_size_and_fit(real_data):
    """17 complete ones; least squares agrees with the published NonDP column where it is stable."""
    found = find(real_data)
    complete = {}
    for task, file in found.items():
        table = load(file)
        if kind(task, file, table.y.size, table.d) == "complete":
            complete[task] = table, file
    assert len(complete) == 17
    assert len(found) == 22
    for task in (361072, 361073, 361074, 361076, 361087, 361089, 361093, 361094, 361098, 361099, 361102):
        table, file = complete[task]
        scores = [run_trial(trial_of(file, task=task, trial=t), lambda _: table, 1)["r2"] for t in range(10)]  # noqa: B023
        assert np.median(scores) == pytest.approx(published(5)[task]["NonDP"], abs=0.03), task
