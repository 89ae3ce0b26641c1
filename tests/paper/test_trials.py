"""Trials: what is fitted on which records, scored on which, by how many processes at a time."""

import multiprocessing
import threading
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info

from paper_runs import trial_of, write_table
from privreg.estimators.methods import REGISTRY
from privreg.paper import trials as workers
from privreg.paper.datasets import load
from privreg.paper.runner import Settings, _trials
from privreg.paper.trials import run_all, run_trial


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

    def get_params(self):
        return {}

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
        patch.setattr(workers, "cpu_count", lambda: cores)
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
