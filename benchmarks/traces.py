"""The way of three fits through the package, as lists of functions; writes them into docs/architecture.md.

    python benchmarks/traces.py

A function is listed when it is first called, indented by how deep it is. What lies deeper than DEPTHS is left out.
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
from privreg.cli.app import app

DEPTHS = (7, 5, 5)  # of the lists: a command is some levels above its fit
NAMES = (
    "privreg fit people.csv --target pay --epsilon 1 --out model.json",
    "DPKendall(k=1).fit(df, y)",
    'PrivateLinearRegression(1.0).fit(ParquetTable("people.parquet"), "pay")',
)
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
MARK = "<!-- now: "
_ROOT = Path(privreg.__file__).parent


def trace(work: Callable[[], Any], depth: int) -> list[str]:
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


def ways() -> dict[str, list[str]]:
    """The functions of each fit. What is done once, at first use, is no part of the way."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=3000) for name in ("a", "b", "pay")})
    features, pay = table.select(["a", "b"]), table["pay"]
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet, model = (str(Path(folder) / name) for name in ("people.csv", "people.parquet", "model.json"))
        pa_csv.write_csv(table, csv)
        pq.write_table(table, parquet)
        words = ["fit", csv, "--target", "pay", "--epsilon", "1", "--out", model, "--force"]
        seeded: dict[str, Any] = {"n_jobs": 1, "random_state": 1}

        def command() -> None:
            assert CliRunner().invoke(app, words).exit_code == 0

        def kendall() -> None:
            privreg.DPKendall(k=1, **seeded).fit(features, pay)

        def streamed() -> None:
            privreg.PrivateLinearRegression(1.0, **seeded).fit(privreg.ParquetTable(parquet), "pay")

        found = {}
        for name, run, depth in zip(NAMES, (command, kendall, streamed), DEPTHS, strict=True):
            run()
            found[name] = trace(run, depth)
    return found


def main() -> None:
    page = PAGE.read_text("utf-8")
    for name, lines in ways().items():
        start = page.index(f"{MARK}{name} -->")
        end = page.index("```\n", page.index("```text\n", start) + 8)
        now = f"{MARK}{name} -->\nNow, {len(lines)} functions:\n\n```text\n" + "\n".join(lines) + "\n"
        page = page[:start] + now + page[end:]
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
