"""The way of three fits through the package, as lists of functions: what docs/architecture.md shows.

    python benchmarks/traces.py

A function is listed when it is first called, indented by how deep it is. What lies deeper than DEPTH is left out.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from typer.testing import CliRunner

import privreg

DEPTH = 5
_ROOT = Path(privreg.__file__).parent


def trace(work: Callable[[], Any], depth: int = DEPTH) -> list[str]:
    """The functions of privreg that `work` calls."""
    lines: list[str] = []
    seen: set[str] = set()
    level = 0

    def profile(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ARG001
        nonlocal level
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(str(_ROOT)) or code.co_name[0] == "<":
            return
        if event == "return":
            level -= 1
            return
        module = Path(code.co_filename).relative_to(_ROOT).with_suffix("").as_posix()
        name = f"{module}: {code.co_qualname}"
        if level < depth and name not in seen and "<locals>" not in name:
            lines.append("  " * level + name)
            seen.add(name)
        level += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=3000), "b": rng.normal(size=3000), "pay": rng.normal(size=3000)})
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet, model = (str(Path(folder) / name) for name in ("people.csv", "people.parquet", "model.json"))
        pa_csv.write_csv(table, csv)
        pq.write_table(table, parquet)
        from privreg.cli.app import app

        words = ["fit", csv, "--target", "pay", "--epsilon", "1", "--out", model, "--force"]
        runs = {
            "privreg fit people.csv --target pay --epsilon 1 --out model.json": lambda: CliRunner().invoke(app, words),
            "DPKendall(k=1).fit(df, y)": lambda: privreg.DPKendall(k=1, n_jobs=1, random_state=1).fit(
                table.select(["a", "b"]), table["pay"]
            ),
            'PrivateLinearRegression(1.0).fit(ParquetTable("people.parquet"), "pay")': lambda: (
                privreg.PrivateLinearRegression(1.0, n_jobs=1, random_state=1).fit(privreg.ParquetTable(parquet), "pay")
            ),
        }
        for name, run in runs.items():
            run()  # type: ignore[no-untyped-call]  # what is done once, at first use, is no part of the way
            lines = trace(run)
            print(f"## {name}\n\n{len(lines)} functions\n")
            print("\n".join(lines), end="\n\n")


if __name__ == "__main__":
    main()
