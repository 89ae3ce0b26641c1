"""Tasks fetched through the openml package from a server on the loopback interface: what arrives, and what can fail."""

import itertools
import json
import logging
import math
import socket
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openml_server import API, Dataset, Server
from openml_tables import (
    ABSENT,
    ARFF_PATH,
    MIXED,
    MIXED_ARFF,
    MIXED_EXTRA,
    NUMERIC,
    NUMERIC_ARFF,
    PARQUET,
    PARQUET_BYTES,
    PARQUET_PATH,
)
from paper_runs import here
from privreg.errors import DataError, PrivregError
from privreg.paper import openml_data
from public_tables import public_table

NAN = math.nan


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory):
    """openml makes folders when it is imported: not in the home of whoever runs the tests. And no proxy."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(home))
        patch.setenv("OPENML_CACHE_DIR", str(home))
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("no_proxy", "127.0.0.1")
        patch.setattr(openml_data, "WAITS", (0.001, 0.001, 0.001))
        yield


@pytest.fixture
def server():
    datasets = [
        Dataset(11, MIXED_ARFF, extra=MIXED_EXTRA),
        Dataset(12, NUMERIC_ARFF),
        Dataset(13, NUMERIC_ARFF, parquet=PARQUET_BYTES),
    ]
    with Server(datasets) as running:
        yield running


def fetch(server, folder, *wanted):
    return openml_data.fetch(wanted, folder, server=server.url)


def read(folder, task):
    return pq.read_table(folder / f"{task.id}_{task.name}.parquet")


def levels(table, name):
    assert table.schema.field(name).type == pa.dictionary(pa.int32(), pa.string())
    return table[name].chunk(0).dictionary.to_pylist()


def test_categories_missing_values_row_ids_and_integers(server, tmp_path):
    said = []
    assert (
        openml_data.fetch([MIXED, NUMERIC], tmp_path / "new" / "folder", server=server.url, progress=said.append) == {}
    )
    assert said == ["fetching 11 mixed", "fetching 12 numeric"]
    folder = tmp_path / "new" / "folder"
    assert sorted(p.name for p in folder.iterdir()) == ["11_mixed.parquet", "12_numeric.parquet"]

    table = read(folder, MIXED)
    assert table.column_names == ["colour", "rooms", "sold", "size", "count", "small", "target"]
    assert levels(table, "colour") == ["red", "green", "light blue"]
    assert levels(table, "rooms") == ["3", "1", "2"]
    assert levels(table, "sold") == ["True", "False"]
    assert table["colour"].to_pylist() == ["light blue", "red", None, "red"]
    assert table["rooms"].to_pylist() == ["1", "3", "1", None]
    assert table["sold"].to_pylist() == ["True", "False", None, "True"]
    assert set(table.schema.types[3:]) == {pa.float64()}
    assert table["size"].to_pylist() == [0.1, None, 1e-3, 12345.678901]
    assert table["count"].to_pylist() == [70000, None, -4, 16777217]
    assert table["small"].to_pylist() == [0, 255, 7, 7]
    assert table["target"].to_pylist() == [1.5, -2.25, None, 1e300]

    table = read(folder, NUMERIC)
    assert table.to_pydict() == {"a": [0.5, 1.5, -2.5], "target": [1, 2, 300]}
    assert set(table.schema.types) == {pa.float64()}


def test_parquet_with_small_integers_and_a_feature_called_target(server, tmp_path):
    assert fetch(server, tmp_path, PARQUET) == {}
    assert server.log[2:] == [f"HEAD {PARQUET_PATH}", f"GET {PARQUET_PATH}", f"GET {API}/data/features/13"]
    table = read(tmp_path, PARQUET)
    numeric = {"pixel": [0, 255, 3], "single": [0.5, None, 2], "target__": [1, 2, 3], "target_": [1, None, 3]}
    assert table.column_names == [*numeric, "shape", "always", "maybe", "text", "target"]
    for name, values in {**numeric, "target": [10, 20, 30]}.items():
        assert table[name].type == pa.float64()
        assert table[name].to_pylist() == values
    assert levels(table, "shape") == ["round", "cubic", "flat"]
    assert levels(table, "always") == levels(table, "maybe") == ["False", "True"]
    assert levels(table, "text") == ["a", "b"]
    assert table["shape"].to_pylist() == ["round", "flat", None]
    assert table["maybe"].to_pylist() == ["True", None, "False"]
    assert table["text"].to_pylist() == ["b", "a", None]


def test_numbers_that_openml_describes_as_categories_become_levels(server, tmp_path):
    """Parquet has no categories of numbers, so the description decides."""
    types = {"pixel": "nominal", "single": "nominal", "target": "numeric", "y": "numeric", "elsewhere": "nominal"}
    server.add(Dataset(13, NUMERIC_ARFF, parquet=PARQUET_BYTES, types=types))
    assert fetch(server, tmp_path, PARQUET) == {}
    table = read(tmp_path, PARQUET)
    assert levels(table, "pixel") == ["0", "3", "255"]
    assert table["pixel"].to_pylist() == ["0", "255", "3"]
    assert table["single"].to_pylist() == ["0.5", None, "2.0"]
    assert table["target__"].to_pylist() == [1, 2, 3]
    assert table["target"].to_pylist() == [10, 20, 30]


def test_the_files_are_read_like_any_other_table(server, tmp_path):
    fetch(server, tmp_path, MIXED)
    table = read(tmp_path, MIXED)
    names = [f"colour={c}" for c in ("red", "green", "light blue")] + ["rooms=3", "rooms=1", "rooms=2"]
    names += ["sold=True", "sold=False", "size", "count", "small"]
    features = public_table(table.drop_columns("target"), full=True)
    assert features.names == names
    np.testing.assert_array_equal(features[2], [1, 0, NAN, 0])
    np.testing.assert_array_equal(features[1], [0, 0, NAN, 0])
    np.testing.assert_array_equal(features[9], [70000, NAN, -4, 16777217])
    frame = pd.read_parquet(tmp_path / "11_mixed.parquet")
    assert list(frame["colour"].cat.categories) == ["red", "green", "light blue"]


def test_what_is_there_needs_no_network_and_no_package(server, tmp_path, monkeypatch):
    assert fetch(server, tmp_path, MIXED, NUMERIC) == {}
    server.log.clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "openml", None)
        assert fetch(server, tmp_path, MIXED, NUMERIC) == {}
        with pytest.raises(DataError, match=r'pip install "privreg\[openml\]"'):
            fetch(server, tmp_path, MIXED, PARQUET)
    assert server.log == []
    assert fetch(server, tmp_path, MIXED, NUMERIC, PARQUET) == {}
    assert server.log[0] == f"GET {API}/task/13"
    assert issubclass(DataError, PrivregError)


LOST = (
    b"<oml:error xmlns:oml='http://openml.org/openml'><oml:code>107</oml:code><oml:message>?</oml:message></oml:error>"
)


@pytest.mark.parametrize("page", [b"<html><body>busy</body></html>", b"<html><hr>busy</html>", b"", LOST])
@pytest.mark.parametrize("path", [f"{API}/task/12", f"{API}/data/12", ARFF_PATH])
def test_a_busy_server_is_asked_again(server, tmp_path, path, page):
    server.faults[path] = iter([503, 503])
    server.error_page = page
    assert fetch(server, tmp_path, NUMERIC) == {}
    assert server.log.count(f"GET {path}") == 3
    assert read(tmp_path, NUMERIC)["target"].to_pylist() == [1, 2, 300]


@pytest.mark.parametrize("fault", ["truncated", "closed"])
@pytest.mark.parametrize("path", [f"{API}/task/12", f"{API}/data/12", ARFF_PATH])
def test_a_download_that_breaks_off_is_repeated(server, tmp_path, path, fault):
    server.faults[path] = iter([fault])
    assert fetch(server, tmp_path, NUMERIC) == {}
    assert server.log.count(f"GET {path}") == 2
    assert read(tmp_path, NUMERIC)["target"].to_pylist() == [1, 2, 300]


@pytest.mark.parametrize("fault", ["truncated", "closed", "garbled", 404])
def test_a_parquet_download_that_goes_wrong_is_repeated(server, tmp_path, fault):
    server.faults[PARQUET_PATH] = iter([None, fault])  # the first request is for the size
    assert fetch(server, tmp_path, PARQUET) == {}
    assert server.log.count(f"GET {PARQUET_PATH}") == 2
    assert read(tmp_path, PARQUET)["target"].to_pylist() == [10, 20, 30]


def test_without_a_usable_parquet_file_there_is_still_the_arff_file(server, tmp_path):
    server.faults[PARQUET_PATH] = itertools.cycle([None, "garbled"])
    assert fetch(server, tmp_path, PARQUET) == {}
    assert server.log.count(f"GET {PARQUET_PATH}") == 3
    assert read(tmp_path, PARQUET)["target"].to_pylist() == [1, 2, 300]


def test_a_wrong_checksum_is_reported_and_the_other_task_arrives(server, tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr(openml_data, "WAITS", (1, 2, 4))
    monkeypatch.setattr(openml_data.time, "sleep", slept.append)
    server.faults[ARFF_PATH] = itertools.repeat("garbled")
    problems = fetch(server, tmp_path, NUMERIC, MIXED)
    assert list(problems) == [12]
    assert problems[12].startswith("task 12 numeric: ")
    assert "hecksum" in problems[12]
    assert slept == [1, 2, 4]
    assert [p.name for p in tmp_path.iterdir()] == ["11_mixed.parquet"]
    server.faults[ARFF_PATH] = iter(["garbled"])
    assert fetch(server, tmp_path, NUMERIC, MIXED) == {}
    assert slept == [1, 2, 4, 1]


def test_an_unknown_task_is_reported_by_name_at_once(server, tmp_path):
    problems = fetch(server, tmp_path, ABSENT, NUMERIC)
    assert list(problems) == [99]
    assert problems[99].startswith("task 99 no_such_task: ")
    assert "Unknown number" in problems[99]
    assert server.log.count(f"GET {API}/task/99") == 1
    assert (tmp_path / "12_numeric.parquet").exists()


BAD = {
    "neither the task nor its data set": Dataset(12, NUMERIC_ARFF, target=None, default_target=None),
    "no column 'z'": Dataset(12, NUMERIC_ARFF, target="z"),
    "'y' is not numeric": Dataset(12, "@RELATION n\n@ATTRIBUTE a REAL\n@ATTRIBUTE y {1,b}\n@DATA\n1,b\n"),
    "sparse": Dataset(
        12,
        "@RELATION n\n@ATTRIBUTE a REAL\n@ATTRIBUTE y REAL\n@DATA\n{0 1,1 2}\n{1 3}\n",
        format="Sparse_ARFF",
    ),
    "BadDataFormat": Dataset(12, NUMERIC_ARFF + "1,2,3\n"),
}


@pytest.mark.parametrize("reason", BAD)
def test_an_unusable_data_set_is_reported(server, tmp_path, reason):
    server.add(BAD[reason])
    problems = fetch(server, tmp_path, NUMERIC, MIXED)
    assert list(problems) == [12]
    assert problems[12].startswith("task 12 numeric: ")
    assert reason in problems[12]
    assert "\n" not in problems[12]
    assert [p.name for p in tmp_path.iterdir()] == ["11_mixed.parquet"]


def test_the_target_may_come_from_the_data_set_and_be_a_category(server, tmp_path):
    arff = "@RELATION n\n@ATTRIBUTE grade {5,3,4.5}\n@ATTRIBUTE a REAL\n@DATA\n3,1\n?,2\n4.5,2\n"
    server.add(Dataset(12, arff, target=None, default_target="grade"))
    assert fetch(server, tmp_path, NUMERIC) == {}
    assert read(tmp_path, NUMERIC).to_pydict() == {"a": [1, 2, 2], "target": [3, None, 4.5]}


@pytest.fixture
def nobody():
    """The address of a server that is not there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_without_a_connection_all_tasks_get_one_message(nobody, tmp_path):
    url = nobody + API
    said = []
    problems = openml_data.fetch([MIXED, NUMERIC, PARQUET], tmp_path, server=url, progress=said.append)
    assert list(problems) == [11, 12, 13]
    (message,) = set(problems.values())
    assert message.startswith(f"OpenML cannot be reached at {url}: ")
    assert "later" in message
    assert "--data DIR" in message
    assert "refused" in message
    assert "\n" not in message
    assert said == ["fetching 11 mixed"]
    assert list(tmp_path.iterdir()) == []


def test_a_connection_that_is_lost_on_the_way(server, tmp_path):
    server.faults[f"{API}/task/12"] = itertools.repeat("closed")
    problems = fetch(server, tmp_path, ABSENT, MIXED, NUMERIC, PARQUET)
    assert list(problems) == [99, 12, 13]
    assert problems[12] == problems[13] != problems[99]
    assert f"cannot be reached at {server.url}: " in problems[12]
    assert not any(f"{API}/task/13" in line for line in server.log)
    assert [p.name for p in tmp_path.iterdir()] == ["11_mixed.parquet"]


def test_the_message_names_the_server_that_does_not_answer(server, nobody, tmp_path):
    page = f"{API}/data/12"
    server.pages[page] = server.pages[page].replace(f"{server.root}/data".encode(), f"{nobody}/data".encode())
    assert f"cannot be reached at {nobody}/data/12.arff: " in fetch(server, tmp_path, NUMERIC)[12]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("the disk is full")])
def test_an_interrupted_write_leaves_nothing(server, tmp_path, monkeypatch, error):
    def half(table, path):
        Path(path).write_bytes(b"PAR1")
        raise error

    monkeypatch.setattr(openml_data.pq, "write_table", half)
    if isinstance(error, OSError):
        assert fetch(server, tmp_path, NUMERIC) == {12: "task 12 numeric: OSError: the disk is full"}
    else:
        with pytest.raises(KeyboardInterrupt):
            fetch(server, tmp_path, NUMERIC)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("handlers", [[], [logging.StreamHandler(sys.__stderr__)]])
@pytest.mark.parametrize("task", [NUMERIC, PARQUET, ABSENT])
def test_openml_is_silent_has_no_key_and_is_left_as_it_was(server, tmp_path, monkeypatch, capfd, task, handlers):
    import openml

    def warn(number, get_task=openml.tasks.get_task):
        warnings.warn("this will change", FutureWarning, stacklevel=2)
        return get_task(number)

    config = openml.config
    monkeypatch.setattr(openml.tasks, "get_task", warn)
    monkeypatch.setattr(config, "apikey", "secret")
    monkeypatch.setattr(config, "show_progress", True)
    monkeypatch.setattr(config, "_root_cache_directory", tmp_path / "theirs")
    monkeypatch.setattr(config, "retry_policy", "robot")
    monkeypatch.setattr(config, "connection_n_retries", 17)
    monkeypatch.setattr(logging.root, "handlers", list(handlers))  # without pytest's own
    monkeypatch.setattr(logging.root.manager, "disable", 7)
    before = config.get_config_as_dict(), list(warnings.filters)
    server.faults[f"{API}/data/12"] = iter([503])
    assert list(fetch(server, tmp_path, task)) == ([99] if task is ABSENT else [])
    assert (config.get_config_as_dict(), list(warnings.filters)) == before
    assert logging.root.manager.disable == 7
    assert logging.root.handlers == handlers
    assert capfd.readouterr() == ("", "")
    assert server.log
    assert not any("secret" in line or "api_key" in line for line in server.log)
    assert not (tmp_path / "theirs").exists()


def test_a_server_that_accepts_and_says_nothing_is_no_connection(tmp_path, monkeypatch):
    monkeypatch.setattr(openml_data, "PATIENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}{API}"
        problems = openml_data.fetch([MIXED, NUMERIC], tmp_path, server=url)
    (message,) = set(problems.values())
    assert message.startswith(f"OpenML cannot be reached at {url}: ")
    assert "timed out" in message.lower()


def test_a_damaged_file_is_fetched_again(server, tmp_path):
    (tmp_path / "12_numeric.parquet").write_bytes(b"PAR1")
    assert fetch(server, tmp_path, NUMERIC) == {}
    assert read(tmp_path, NUMERIC)["target"].to_pylist() == [1, 2, 300]


def test_the_command_fetches_runs_and_says_what_differs(server, nobody, tmp_path, rng):
    """As a user runs it; afterwards the cache serves, without the server."""
    lines = [f"{a},{b},{'u' if a > b else 'v'},{a + b}" for a, b in rng.integers(0, 9, size=(400, 2))]
    head = (
        "@RELATION r\n@ATTRIBUTE a INTEGER\n@ATTRIBUTE b INTEGER\n@ATTRIBUTE c {u,v,w}\n@ATTRIBUTE y INTEGER\n@DATA\n"
    )
    server.add(Dataset(361072, head + "\n".join(lines) + "\n"))

    def paper_run(out, *options):
        command = ["paper", "run", "--data", "openml", "--k", "3", "--trials", "2", "--methods", "NonDP", "--tasks"]
        words = [*command, "361072,361076", "--server", server.url, "--cache", str(tmp_path / "cache"), "--out", out]
        return here(*words, *options)

    result = paper_run(tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    assert "fetching 361072 cpu_act" in result.stderr
    assert "361072_cpu_act.parquet differs: n = 400, d = 6; published n = 8192, d = 22" in result.stderr
    assert "task 361076 wine_quality" in result.stderr
    summary = json.loads(result.stdout)
    assert summary["partial"]["3"]["361072"]["NonDP"]["median"] == pytest.approx(1)
    assert "Unknown number" in summary["missing"]["361076"]["why"]
    assert summary["runs"][0]["command"].startswith("privreg paper run --data openml --k 3 --trials 2")
    server.log.clear()
    assert paper_run(tmp_path / "again", "--tasks", "361072").exit_code == 0
    assert server.log == []

    server.url = nobody + API
    result = paper_run(tmp_path / "never", "--tasks", "361076")
    assert result.exit_code == 2
    assert f"OpenML cannot be reached at {server.url}: try again later" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "never").exists()
