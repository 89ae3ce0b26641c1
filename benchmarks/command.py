"""Time of the commands in fresh processes, against pandas and scikit-learn in the same run; writes command.json.

Compiled kernels are cached on disk by an earlier run, as they are for a user after the first. With names of parts
(python benchmarks/command.py mistakes) only these are measured; the other figures stay.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from measure import Figures, taking_turns, write
from privreg.privacy.ledger.ledger import Ledger
from privreg.privacy.ledger.request import Request

PRIVREG = str(Path(sys.executable).parent / "privreg")
PEER = """
import sys
import pandas as pd
from sklearn.linear_model import LinearRegression
frame = pd.read_csv(sys.argv[1])
print(LinearRegression().fit(frame.drop(columns="y"), frame.y).coef_)
"""
PEER_PREDICT = """
import sys
import pandas as pd
from sklearn.linear_model import LinearRegression
first = True
for frame in pd.read_csv(sys.argv[1], chunksize=100_000):
    X = frame.drop(columns="y")
    model = LinearRegression().fit(X.head(1000), frame.y.head(1000)) if first else model
    pd.DataFrame({"prediction": model.predict(X)}).to_csv(sys.argv[2], mode="a", index=False, header=first)
    first = False
"""
SPENDS = 10_000


def process(*words: str | PathLike[str], fails: bool = False) -> Callable[[], object]:
    """A process, which must fail or must not."""

    def run() -> None:
        done = subprocess.run([fspath(word) for word in words], capture_output=True, check=False)
        assert (done.returncode != 0) == fails, done.stderr

    return run


def table(path: Path, rows: int, columns: int) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = X @ rng.normal(size=columns) + rng.normal(size=rows)
    names = [*(f"x{j}" for j in range(columns)), "y"]
    np.savetxt(path, np.column_stack([X, y]), "%.6f", ",", header=",".join(names), comments="")
    return path


def starting(folder: Path) -> dict[str, float]:
    del folder  # reads no file
    seconds = taking_turns(
        {"help": process(PRIVREG, "--help"), "peer": process(sys.executable, "-c", "import pandas")}, 9
    )
    return {
        "seconds": seconds["help"],
        "seconds, import pandas": seconds["peer"],
        "times import pandas": seconds["help"] / seconds["peer"],
    }


def fitting(folder: Path) -> dict[str, float]:
    file = table(folder / "people.csv", 20_000, 10)
    fit: list[str | Path] = [PRIVREG, "fit", file, "--target", "y", "--epsilon", "1"]
    report = [*fit, "--out", folder / "model.json", "--report", folder / "report.html", "--force"]
    process(*report)()  # compiles, if need be
    tasks = {"fit": process(*fit), "report": process(*report), "peer": process(sys.executable, "-c", PEER, file)}
    seconds = taking_turns(tasks, 7)
    return {
        "seconds": seconds["fit"],
        "seconds with model and report": seconds["report"],
        "seconds, pandas and scikit-learn LinearRegression": seconds["peer"],
        "times pandas and scikit-learn": seconds["fit"] / seconds["peer"],
    }


def predicting(folder: Path) -> dict[str, float]:
    """With the model that `fitting` wrote."""
    file, out = table(folder / "many.csv", 500_000, 10), folder / "predictions.csv"
    ours = process(PRIVREG, "predict", folder / "model.json", file, "--out", out, "--force")
    seconds = taking_turns({"ours": ours, "peer": process(sys.executable, "-c", PEER_PREDICT, file, out)}, 3)
    return {
        "seconds": seconds["ours"],
        "seconds, pandas and scikit-learn in chunks": seconds["peer"],
        "times pandas and scikit-learn": seconds["ours"] / seconds["peer"],
    }


def keeping(folder: Path) -> dict[str, float]:
    ledger = Ledger(folder / "budget.db")
    ledger.create("people", "1000", "0.001")
    request = Request(Decimal("0.1"), Decimal("1e-7"), "fit")
    spends = taking_turns({"spends": lambda: [ledger.spend("people", request) for _ in range(SPENDS)]}, 1)["spends"]
    status: list[str | Path] = [PRIVREG, "ledger", "status", folder / "budget.db"]
    seconds = taking_turns({"status": process(*status), "peer": process(sys.executable, "-c", "import pandas")}, 9)
    return {
        "milliseconds for an entry": 1000 * spends / SPENDS,
        "seconds, status": seconds["status"],
        "seconds, import pandas": seconds["peer"],
        "status, times import pandas": seconds["status"] / seconds["peer"],
    }


def mistakes(folder: Path) -> dict[str, float]:
    """Seconds until a mistake is answered."""
    file, ledger = table(folder / "few.csv", 200, 10), Ledger(folder / "spent.db")
    ledger.create("people", "1", "1e-5")
    ledger.spend("people", Request(Decimal("0.9"), Decimal("1e-6"), "fit"))
    text = folder / "text.csv"
    text.write_text("x,y\n" + "1,north\n2,south\n" * 100)
    wrong: dict[str, list[str | PathLike[str]]] = {
        "epsilon of 0": [file, "--target", "y", "--epsilon", "0"],
        "unknown method": [file, "--target", "y", "--epsilon", "1", "--method", "OLS"],
        "missing file": [folder / "no.csv", "--target", "y", "--epsilon", "1"],
        "unknown column": [file, "--target", "z", "--epsilon", "1"],
        "budget refused": [file, "--target", "y", "--epsilon", "1", "--ledger", ledger.path, "--dataset", "people"],
        "target that is text": [text, "--target", "y", "--epsilon", "1"],
    }
    tasks = {name: process(PRIVREG, "fit", *words, fails=True) for name, words in wrong.items()}
    seconds = taking_turns(tasks | {"peer": process(sys.executable, "-c", "import pandas")}, 9)
    peer = seconds.pop("peer")
    return {"seconds": max(seconds.values()), **seconds, "seconds, import pandas": peer}


PARTS: dict[str, tuple[str, Callable[[Path], dict[str, float]]]] = {
    "help": ("privreg --help", starting),
    "fit": ("privreg fit, CSV of 20,000 × 10", fitting),
    "predict": ("privreg predict, CSV of 500,000 × 10", predicting),
    "ledger": (f"privreg ledger status, {SPENDS:,} entries", keeping),
    "mistakes": ("privreg fit, the slowest of six mistakes", mistakes),
}


def main(*names: str) -> None:
    file = Path(__file__).with_suffix(".json")
    results: Figures = json.loads(file.read_text())["results"] if names else {}
    with tempfile.TemporaryDirectory() as folder:
        for title, measure in (PARTS[name] for name in names or PARTS):
            results[title] = measure(Path(folder))
    write(__file__, results, {})


if __name__ == "__main__":
    main(*sys.argv[1:])
