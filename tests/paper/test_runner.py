"""`privreg paper run`: real files, real processes, interrupted in every way."""

import json
import os
import resource
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from paper_runs import command, here, lines, write_table
from privreg.paper import journal
from privreg.paper.results import JOURNAL
from privreg.paper.results import load as load_results
from processes import PRIVREG


def outcomes(out):
    """What a run found, without the clock."""
    return {key: row.get("r2", row.get("error")) for key, row in load_results(out).trials.items()}


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
    process = subprocess.Popen([PRIVREG, *map(str, command(data, tmp_path))], stderr=subprocess.DEVNULL)
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


@pytest.mark.parametrize(("finished_trials", "jobs"), [(0, 2), (3, 1)])  # with 0, the workers are still starting
def test_ctrl_c_stops_at_once_keeps_what_is_done_and_leaves_no_process(data, tmp_path, finished_trials, jobs):
    words = [PRIVREG, *map(str, command(data, tmp_path, "--trials", "2000", "--jobs", jobs))]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heard)
    file = tmp_path / JOURNAL
    while not (file.exists() and '"run"' in file.read_text() and len(lines(tmp_path)) >= finished_trials):
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
    words = [str(w) for w in command(data, tmp_path)]
    process = subprocess.Popen([PRIVREG, *words], stderr=subprocess.PIPE, text=True)
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
    failures = {method: (info.id, k, e, cell) for info, method, k, e, cell in load_results(tmp_path).failures()}
    assert set(failures) == {"K-Tukey", "PrivateLinearRegression"}
    task, k, epsilon, cell = failures["K-Tukey"]
    assert (task, k, epsilon, cell.failed, cell.median) == (7, 5, 1e-12, 3, None)
    assert "too small for the Tukey mechanism" in cell.error
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
    result = here("paper", "report", tmp_path)
    assert result.exit_code == 2
    assert "it is not the folder of a `privreg paper run`" in result.stderr


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
    result = here(*command(tmp_path, tmp_path / "named", "--methods", "NonDP", "--tasks", "7,361091"))
    assert result.exit_code == 0
    assert load_results(tmp_path / "named").unusable == {361091: "no file in the folder, although --tasks names it"}
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
    result = subprocess.run([PRIVREG, *words], capture_output=True, text=True, check=False, preexec_fn=limit)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("privreg paper run: ")
    assert "Traceback" not in result.stderr
    assert 0 < len(journal.read(tmp_path / JOURNAL)) < 11
    assert here(*words).exit_code == 0
    assert len(outcomes(tmp_path)) == 9
