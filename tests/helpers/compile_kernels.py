"""Compile every kernel once, in two processes at a time: otherwise each process of the test suite compiles them all.

`make test` runs this beside the linters. Where the kernels are in the cache already, it takes a few seconds.
"""

import warnings
from multiprocessing import get_context

# Each fit needs kernels that the others do not; the first two take longest.
FITS = {
    "SubLasso": {"k": 3},
    "PrivateLinearRegression": {"k": 3},
    "TukeyRegression": {"epsilon": 20.0},
    "BoostedAdaSSP": {},
}


TEXT = "cells of text"


def compile_for(name):
    if name == TEXT:
        compile_for_text()
    else:
        compile_for_fit(name)


def compile_for_fit(name):
    import numpy as np

    import privreg

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise from a seed
        getattr(privreg, name)(**FITS[name], random_state=0).fit(X, X[:, 0] + rng.normal(size=2000))


def compile_for_text():
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import pyarrow as pa

    from privreg.data import cells
    from privreg.data.text_file import TextFile

    with TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_text("a\n1\n")
        column = TextFile(path).read(["a"], {})["a"]
    for kind in (pa.string(), pa.large_string()):
        typed = column.cast(kind)
        for function in (cells.classes, cells.count_classes, cells.as_days, cells.as_truths, cells.as_texts):
            function(typed)
        cells.as_numbers(typed, ".")


if __name__ == "__main__":
    with get_context("spawn").Pool(2) as pool:
        pool.map(compile_for, [*FITS, TEXT], chunksize=1)
