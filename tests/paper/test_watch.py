"""What a person sees while a run goes on, and at its end."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from paper_runs import trial_of
from privreg.cli.paper import _overview
from privreg.paper.results import load as load_results
from privreg.paper.watch import Watch


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
