"""Tables on a cluster: a real scheduler and real worker processes, whose results are the bits of memory."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pytest
from distributed import Client

from commands import refused
from privreg import ClusterError, DPKendall, Ledger, NonDP, PrivateLinearRegression, TukeyRegression
from privreg.engines import parquet as parquet_engine
from privreg.engines.dask import opening
from privreg.engines.dask.opening import OnCluster
from privreg.engines.dask.opening import cluster as own_cluster
from privreg.errors import NotPrivateWarning, SchemaError
from public_tables import public_engine
from tables_on_disk import ESTIMATORS, assert_same, fitted, make_frame, write_parts

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of processes that end
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, folder):
        self._file = folder / "scheduler.json"
        self._folder = folder
        self.processes = [self._start("scheduler", "--port", "0", "--no-dashboard")]
        deadline = time.monotonic() + 120
        while not self._file.exists():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.05)
        self.address = json.loads(self._file.read_text())["address"]

    def _start(self, what, *options):
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self._file), *options]
        return subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def worker(self):
        """One more worker, without a nanny who would start it again."""
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self._folder)]
        self.processes.append(self._start("worker", *options))
        return self.processes[-1]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        found.worker(), found.worker()
        yield found
    finally:
        found.stop()


@pytest.fixture
def client(cluster):
    with Client(cluster.address, set_as_default=True) as connected:
        connected.wait_for_workers(2, timeout=120)
        yield connected


@pytest.fixture(scope="module")
def frame():
    return make_frame(3000)


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "d"
    return write_parts(frame.drop(columns="person"), folder, [0, 1, 400, 1700, 3000], [300, 1000])


@pytest.fixture(scope="module")
def expected(frame):
    """Fits in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features = frame.drop(columns=["y", "person"])
        return {name: fitted(ESTIMATORS[name]().fit(features, frame["y"])) for name in ("flagship", *FITTED)}


# The others are made of the same parts.
FITTED = ["flagship, k = 3", "flagship, on samples", "SubLasso", "BAS", "Tukey", "K-Tukey"]


@pytest.mark.parametrize("name", FITTED)
def test_workers_give_the_bits_of_memory(name, client, table, frame, expected, monkeypatch):
    """Files that workers read, and data frames of several partitions."""
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 700)
    plain = frame.drop(columns="person")
    for source in (OnCluster(table, client), dd.from_pandas(plain, npartitions=3 + 2 * FITTED.index(name))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that Tukey releases nothing, if so
            assert_same(expected[name], fitted(ESTIMATORS[name]().fit(source, "y")))


def test_frames_read_from_files_and_series(client, table, frame, expected):
    """Workers read the files' columns; the target may be a series, and predictions are made where the rows are."""
    folder = os.path.dirname(table.parts[0].path)
    towns = pd.CategoricalDtype(["Ayr", "Bath", "Cork"])
    read = dd.read_parquet(folder).astype({"town": towns})
    model = PrivateLinearRegression(2.0, random_state=3).fit(read, "y")
    assert_same(expected["flagship"], fitted(model))
    split = PrivateLinearRegression(2.0, random_state=3).fit(read.drop(columns="y"), read["y"])
    assert_same(expected["flagship"], fitted(split))
    predicted = model.predict(read.drop(columns="y"))
    assert predicted.npartitions == read.npartitions
    np.testing.assert_array_equal(predicted.compute().to_numpy(), model.predict(frame.drop(columns=["y", "person"])))


def test_people(client, frame, tmp_path):
    options = {"epsilon": 3.0, "rows_per_person": 2, "random_state": 5}
    wanted = PrivateLinearRegression(**options)
    wanted.fit(frame.drop(columns=["y", "person"]), frame["y"], groups=frame["person"])
    files = write_parts(frame, tmp_path / "d", [0, 2000, 3000], [700])
    for source in (dd.from_pandas(frame, npartitions=4), OnCluster(files, client)):
        got = PrivateLinearRegression(**options).fit(source, "y", groups="person")
        assert_same(fitted(wanted), fitted(got))


def test_people_with_large_numbers_and_a_missing_one(frame):
    """pandas makes floats of the integers of a partition in which one is missing, and of no other."""
    people = np.arange(3000) // 2 + 2**53 - 700
    lazy = dd.from_pandas(frame.assign(person=people), npartitions=3)

    def lose(part):
        kept = part["person"].astype("float64")
        return part.assign(person=kept.mask(kept.index == 2) if 2 in part.index else part["person"])

    records = [public_engine(x, "y", "person") for x in (lazy, lazy.map_partitions(lose))]
    before, after = (r.identities() for r in records)
    rows = np.flatnonzero(np.isfinite(frame["y"]) & frame.notna().all(axis=1))
    assert 2 in rows
    assert rows[(before >= 0) != (after >= 0)].tolist() == [2]
    assert (before[people[rows] >= 2**53] == -1).all()
    assert len(set(before[before >= 0])) == len(set(people[rows][people[rows] < 2**53]))


def test_rows_that_change_between_passes_are_noticed(frame):
    """Masks would fall on other rows. The message tells no number of rows."""
    plain = frame.drop(columns="person")
    moving = dd.from_pandas(plain, npartitions=2).map_partitions(lambda part: part.sample(frac=1))
    shrinking = dd.from_pandas(plain, npartitions=2).map_partitions(
        lambda part: part.sample(frac=os.urandom(1)[0] / 256)
    )
    for lazy in (moving, shrinking):
        with pytest.raises(ClusterError, match="different rows than when it was first read") as caught:
            PrivateLinearRegression(random_state=0).fit(lazy, "y")
        assert not re.search(r"\d", str(caught.value))


def test_a_missing_value_changes_no_type(frame):
    """A boolean target with one missing value is an object column in its partition."""
    truth = frame.assign(y=frame["y"] > 0).drop(columns="person")
    lazy = dd.from_pandas(truth, npartitions=2)
    gap = lazy.map_partitions(lambda part: part.assign(y=part["y"].astype(object).where(part.index != 17)), meta=lazy)
    missing = truth.assign(y=truth["y"].astype(float).where(truth.index != 17))
    got = PrivateLinearRegression(2.0, random_state=3).fit(gap, "y")
    expected = PrivateLinearRegression(2.0, random_state=3).fit(missing.drop(columns="y"), missing["y"])
    assert_same(fitted(expected), fitted(got))


def test_no_warning_tells_a_size(client, frame):
    """Dask's own limit is 10 MB; here it is reached by everything."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1kB"}), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NotPrivateWarning)
        lazy = dd.from_pandas(frame, npartitions=2)
        PrivateLinearRegression(k=3, max_rows_for_selection=1000, random_state=3).fit(lazy, "y", groups="person")
        TukeyRegression(8.0, random_state=3).fit(lazy.drop(columns="person"), "y")


def test_without_a_cluster_threads_do_the_work(frame, expected):
    model = PrivateLinearRegression(2.0, random_state=3)
    model.fit(dd.from_pandas(frame.drop(columns="person"), npartitions=2), "y")
    assert_same(expected["flagship"], fitted(model))


class Killer:
    """Kills a worker when it is told of a certain stage."""

    def __init__(self, cluster, stage):
        self._worker, self._stage, self.killed = cluster.worker(), stage, False

    def __call__(self, told):
        if told == self._stage and not self.killed:
            self.killed = True
            self._worker.kill()
            self._worker.wait()


@pytest.mark.parametrize("stage", ["median of the target", "balance of the target", "phase 2: products and gradient"])
def test_a_worker_that_dies_changes_nothing(stage, cluster, table, expected, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    model = PrivateLinearRegression(k=3, random_state=3)
    model.progress = killer = Killer(cluster, stage)
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=120)
        model.fit(OnCluster(table, client), "y")
    assert killer.killed
    assert_same(expected["flagship, k = 3"], fitted(model))  # each step once


def test_a_worker_that_dies_costs_nothing(cluster, table, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("d", 3, 1e-5)
    model = PrivateLinearRegression(1, 1e-6, k=3, ledger=ledger, dataset="d")
    model.progress = killer = Killer(cluster, "balance of the target")
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=120)
        model.fit(OnCluster(table, client), "y")
    assert killer.killed
    status = ledger.status("d")[0]
    assert status.entries == 1
    assert 0.9 < status.spent_epsilon <= 1
    assert len({step.name for step in model.receipt_.steps}) == len(model.receipt_.steps)


def test_a_scheduler_that_dies_is_said(table, tmp_path):
    """And the fit has spent, as any that dies."""
    mine = Cluster(tmp_path)
    try:
        mine.worker()
        ledger = Ledger(tmp_path / "ledger.db")
        ledger.create("d", 3, 1e-5)
        model = PrivateLinearRegression(1, 1e-6, k=3, ledger=ledger, dataset="d")
        model.progress = lambda told: mine.stop() if told == "median of the target" else None
        short = dask.config.set({"distributed.comm.timeouts.connect": "2s"})  # how long the client looks for it
        with short, Client(mine.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=120)
            with pytest.raises(ClusterError, match="lost what it was working on"):
                model.fit(OnCluster(table, client), "y")
        assert ledger.status("d")[0].entries == 1
        assert not hasattr(model, "coef_")
    finally:
        mine.stop()


def test_workers_of_our_own_listen_on_this_machine_only():
    before = listening()
    with own_cluster(None, 1):
        opened = listening() - before
    assert opened
    assert {address.ip for address in opened} == {"127.0.0.1"}


def listening():
    """Where this process and those that it started listen."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return {c.laddr for process in processes for c in process.net_connections() if c.status == "LISTEN"}


def test_what_is_not_for_clusters_is_said(frame):
    lazy = dd.from_pandas(frame[["x0", "x2", "y"]].dropna(), npartitions=2)
    with pytest.raises(TypeError, match="in memory"):
        NonDP().fit(lazy, "y")
    selector = DPKendall(1, random_state=0).fit(lazy, "y")
    with pytest.raises(TypeError, match="map_partitions"):
        selector.transform(lazy)


def test_what_is_wrong_is_said(client, frame):
    lazy = dd.from_pandas(frame.drop(columns="person"), npartitions=2)
    with pytest.raises(SchemaError, match="y must be the name of a column"):
        PrivateLinearRegression(random_state=0).fit(lazy, "z")
    unknown = lazy.assign(town=lazy["town"].cat.as_unknown())
    with pytest.raises(SchemaError, match="the type of column 'town' does not list the levels of the whole column"):
        PrivateLinearRegression(random_state=0, categories="dtype").fit(unknown, "y")
    for names in ([0, *lazy.columns[1:]], ["x1", *lazy.columns[1:]]):
        with pytest.raises(SchemaError, match="must have names"):
            PrivateLinearRegression(random_state=0).fit(
                lazy.rename(columns=dict(zip(lazy.columns, names, strict=True))), "y"
            )
    with pytest.raises(SchemaError, match="text"):
        PrivateLinearRegression(random_state=0).fit(lazy.assign(word="a"), "word")
    with pytest.raises(SchemaError, match="the target y is None"):
        PrivateLinearRegression(random_state=0).fit(lazy, None)


_tasks = lambda dask_scheduler: len(dask_scheduler.tasks)  # noqa: E731 (a function would be looked up by its name)


def privreg(*options, **more):
    return subprocess.Popen(
        [os.path.join(os.path.dirname(sys.executable), "privreg"), *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def test_the_command_on_a_cluster(cluster, client, table, tmp_path):
    """A ledger is charged once, and the model is written."""
    folder = os.path.dirname(table.parts[0].path)
    ledger = tmp_path / "ledger.db"
    assert privreg("ledger", "create", ledger, "--dataset", "d", "--epsilon", 3, "--delta", "1e-5").wait() == 0
    run = privreg(
        "fit", f"{folder}/*.parquet", "--target", "y", "--epsilon", 1, "--engine", "dask",
        "--scheduler", cluster.address, "--ledger", ledger, "--dataset", "d",
        "--out", tmp_path / "model.json", "--json",
    )  # fmt: skip
    out, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    assert errors == ""
    found = json.loads(out)
    assert found["ledger"]["entries"] == 1
    assert (tmp_path / "model.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "spark"], "--engine must be auto or dask"),
        (["--engine", "dask", "--scheduler", "garbage"], "'garbage' is not an address"),
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler needs --engine dask"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_the_command_says_what_is_wrong(options, message, table, monkeypatch):
    monkeypatch.setattr(opening, "_PATIENCE", 0.2)
    folder = os.path.dirname(table.parts[0].path)
    assert message in refused("fit", folder, "--target", "y", "--epsilon", 1, *options)


def test_ctrl_c_cancels_what_runs_on_the_cluster(cluster, client, frame, tmp_path):
    folder = tmp_path / "d"
    write_parts(frame.drop(columns="person"), folder, range(0, 3001, 50), [1000])
    deadline = time.monotonic() + 120
    while client.run_on_scheduler(_tasks):  # those of tests before, which would be taken for the command's
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Enough work that it is still going on when it is interrupted: BAS makes a hundred rounds over sixty files.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    run = privreg(
        "fit", folder, "--target", "y", "--epsilon", 1, "--method", "BAS", "--engine", "dask",
        "--scheduler", cluster.address, preexec_fn=heard,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not client.run_on_scheduler(_tasks):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=120)
    assert run.returncode not in (0, 2, 3)
    assert errors.strip() == ""
    while client.run_on_scheduler(_tasks):
        assert time.monotonic() < deadline + 60
        time.sleep(0.05)
