"""The ledger under real processes: a race for the last of a budget, and fits that are killed."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from decimal import Decimal

import pytest

from privreg import Ledger
from privreg.privacy.ledger.request import Request

SPEND = """
import sys, time
from decimal import Decimal
from pathlib import Path
from privreg import BudgetRefusedError, Ledger
from privreg.privacy.ledger.request import Request
ledger, start = Ledger(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
while not start.exists():
    time.sleep(0.0005)
try:
    print(ledger.spend("people", Request(Decimal(1), Decimal(0), "race")))
except BudgetRefusedError:
    print("refused")
"""


@pytest.mark.parametrize("attempt", range(3))
def test_eight_processes_race_for_a_budget_that_fits_five(tmp_path, attempt):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("people", 5, 0)
    start = tmp_path / "start"
    command = [sys.executable, "-c", SPEND, str(ledger.path), str(start)]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    for process in racing:
        assert process.stdout.readline() == "ready\n"
    start.touch()
    answers = [process.communicate(timeout=120)[0].strip() for process in racing]
    assert [process.returncode for process in racing] == [0] * 8
    assert sorted(answers) == ["1", "2", "3", "4", "5", "refused", "refused", "refused"]
    assert ledger.status()[0].sum_epsilon == 5


# One warm process forks a child for each fit, so that children are killed while they fit and not while they import.
FITS = """
import os, sys, time
import numpy as np
from privreg import BudgetRefusedError, Ledger, PrivateLinearRegression
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2)); y = X @ [1.0, 2.0]
folder = sys.argv[1]
ledger = Ledger(folder + "/budget.db")
for _ in range(3):
    start = time.perf_counter()
    PrivateLinearRegression(0.5, 1e-6, n_jobs=1, ledger=ledger, dataset="warm").fit(X, y).save(folder + "/warm.json")
print(time.perf_counter() - start, flush=True)
for line in sys.stdin:
    child = os.fork()
    if child:
        print(child, flush=True)
        os.waitpid(child, 0)
        print("gone", flush=True)
        continue
    model = PrivateLinearRegression(0.5, 1e-6, n_jobs=1, ledger=ledger, dataset="people")
    try:
        for i in range(1000):
            model.fit(X, y).save(f"{folder}/model-{os.getpid()}-{i}.json")
    except BudgetRefusedError:
        os._exit(3)
    os._exit(0)
"""


def whole(file):
    return json.loads(file.read_text())["format"] == "privreg model"


def check_after_a_death(ledger, folder):
    with closing(sqlite3.connect(ledger.path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    entries, released = ledger.history("people"), list(folder.glob("model-*.json"))
    assert all(map(whole, released))
    assert len(released) <= len(entries)
    status = ledger.status("people")[0]
    assert status.within
    assert (status.entries, status.sum_epsilon) == (len(entries), sum(e.epsilon for e in entries))


def killed_often_enough(ledger):
    entries = ledger.history("people")
    return len(entries) > 20 and sum(e.state == "begun" for e in entries) > 3  # some in the middle of a fit


def test_fits_killed_at_fifty_random_moments_have_spent_and_leave_a_whole_file(tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("warm", 8, "8e-6")
    ledger.create("people", 8, "8e-6")  # enough for most of the children, not for all
    moments = random.Random(6)
    command = [sys.executable, "-c", FITS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        one_fit = float(parent.stdout.readline())  # seconds, on this machine
        # fifty deaths, and more on a machine so busy that most children die before they ask the ledger
        for death in range(1000):
            if death >= 50 and killed_often_enough(ledger):
                break
            parent.stdin.write("fit\n")
            parent.stdin.flush()
            child = int(parent.stdout.readline())
            time.sleep(moments.uniform(0, 2 * one_fit))
            with suppress(ProcessLookupError):  # the budget was spent
                os.kill(child, signal.SIGKILL)
            assert parent.stdout.readline() == "gone\n"
            check_after_a_death(ledger, tmp_path)
        parent.stdin.close()
        assert parent.wait(timeout=60) == 0
    assert killed_often_enough(ledger)
    assert ledger.status("people")[0].accountant_epsilon <= 8
    with pytest.raises(ValueError, match="refused"):
        ledger.spend("people", Request(Decimal(41), Decimal(0), "too much"))
