"""Run by scaling.py: each stage of a fit by itself, on a folder of Parquet files. Prints seconds as JSON."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from privreg import ParquetTable
from privreg.data.schema import Schema
from privreg.engines.base import TARGET, Engine, OpenOptions
from privreg.engines.registry import open_source
from privreg.estimators.private_linear.design import Design, Phase, unexplained
from privreg.estimators.private_linear.model import Scale, Term
from privreg.estimators.private_linear.phases import CLIPS
from privreg.estimators.private_linear.schedule import FEW_PRODUCTS, LAST_PRODUCTS
from privreg.kernels.values import Distances, count_cells
from privreg.mechanisms.moments import parts_for

COLUMNS = 30
found: dict[str, float] = {}


def timed(name: str, task: Callable[[], Any], times: float = 1) -> Any:
    start = time.perf_counter()
    result = task()
    found[name] = (time.perf_counter() - start) / times
    return result


def phase(width: int, last: bool) -> Phase:
    # More terms than columns: each has two, as columns with long tails may have.
    terms = tuple(Term(j % COLUMNS, Scale(0.0, 4.0, 1.0)) for j in range(width))
    design, theta, frame = Design(Scale(0.0, 8.0, 1.0), terms), np.zeros(width + 1), np.eye(width + 1)
    clips, products = CLIPS if last else np.ones(1), parts_for(LAST_PRODUCTS if last else FEW_PRODUCTS)
    return Phase(design, theta, frame, 6.0, clips, products, 6.0, bounded=not last, last=last)


def opened(table: ParquetTable) -> Engine:
    """The complete records of a table whose columns are known to be numbers."""
    types, source = open_source(table, "y", OpenOptions(n_jobs=2))
    return source.open(Schema.numbers(list(types.columns)))


def main() -> None:
    table = ParquetTable(sys.argv[1])
    d = len(table.columns) - 1
    records = timed("complete?, a column", lambda: opened(table), d)
    found["rows"] = records.n_records
    timed("median, a column", lambda: records.totals([(j, count_cells) for j in range(d)]), d / 2)  # two such passes
    timed("spread, a column", lambda: records.totals([(j, Distances(0.0)) for j in range(d)]), d)
    timed("label, a pass", lambda: records.totals([(TARGET, count_cells)]))
    ranking = records.ranking()
    design = Design(Scale(0.0, 8.0, 1.0), ())
    pivot = unexplained(design, np.zeros(1))
    first = ranking.concordance(pivot, [])
    assert first.size == 0
    columns = list(range(0, min(d, 8)))
    timed("rank and count, a column", lambda: ranking.concordance(pivot, columns), len(columns))
    timed("count, a column ranked before", lambda: ranking.concordance(pivot, columns), len(columns))
    wide = (300, 1000) if records.n_records <= 10**5 else ()  # as wide as a model can be, for its square
    for width in (10, d, 2 * d, *wide):
        for name, task in (
            ("products and gradient", phase(width, False)),
            (f"products and gradients for {CLIPS.size} clips", phase(width, True)),
        ):
            timed(f"{name}, {width} columns", partial(records.total, task, task.design.columns))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
