"""The paper's tasks from OpenML, kept as Parquet files.

Each task becomes one file, in the form of a user's own data: the features under their names, categories with their
declared levels, and the target last. All that follows reads the folder and knows nothing of OpenML.
"""

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privreg.errors import DataError
from privreg.paper.datasets import TARGET, Task

WAITS = (1.0, 2.0, 4.0)  # seconds before the second attempt, the third, …
PATIENCE = 30.0  # seconds without a byte from the server


def fetch(
    wanted: Sequence[Task],
    folder: Path,
    *,
    server: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[int, str]:
    """Bring tasks into the folder as <task>_<name>.parquet; returns what went wrong, by task id (empty if all is well).

    Tasks that are there already need no network, and not even the `openml` package.
    """
    files = {task: folder / f"{task.id}_{task.name}.parquet" for task in wanted}
    missing = [task for task, file in files.items() if not _there(file)]
    if not missing:
        return {}
    try:
        with warnings.catch_warnings(action="ignore"):
            import openml
    except ImportError as error:
        raise DataError('fetching data from OpenML needs the openml package: pip install "privreg[openml]"') from error
    from requests import ConnectionError as NoConnection  # openml brings it
    from requests import Timeout

    folder.mkdir(parents=True, exist_ok=True)
    server = server or str(openml.config.server)
    problems: dict[int, str] = {}
    for i, task in enumerate(missing):
        progress(f"fetching {task.id} {task.name}")
        try:
            with TemporaryDirectory(prefix=".openml-", dir=folder) as scratch:
                table = _table(*_download(openml, task, Path(scratch), server))
                pq.write_table(table, Path(scratch) / "table.parquet")
                os.replace(Path(scratch) / "table.parquet", files[task])  # there is never half a file of this name
        except (NoConnection, Timeout) as error:  # the other tasks would only wait for the same
            url = str(error.request.url) if error.request else server
            where = server if url.startswith(server) else url
            reason = _one_line(getattr(error.args[0], "reason", error))  # without urllib3's account of its retries
            advice = "try again later, or use your own copies of the data with --data DIR"
            message = f"OpenML cannot be reached at {where}: {advice} ({reason})"
            return problems | {task.id: message for task in missing[i:]}
        except Exception as error:  # whatever one data set does, the others can still be had
            what = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
            problems[task.id] = f"task {task.id} {task.name}: {_one_line(what)}"
    return problems


def _there(file: Path) -> bool:
    """Whether a file is there and can be read; one that a power cut has damaged is fetched again."""
    try:
        pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return False
    return True


def _download(openml: Any, task: Task, scratch: Path, server: str) -> tuple[Any, str | None]:
    """Several attempts, each with a cache of its own: openml would use a damaged file it finds there again.

    openml's own retries are switched off. They do not cover Parquet files that break off, nor all 5xx answers.
    """
    for attempt, wait in enumerate(WAITS):
        try:
            with _settings(openml.config, server, scratch / str(attempt)):
                return _ask(openml, task)
        except Exception as error:
            # An answer is final, unless it is 107: the server has lost its database for the moment.
            if isinstance(error, openml.exceptions.OpenMLServerException) and error.code != 107:
                raise
        time.sleep(wait)
    with _settings(openml.config, server, scratch / "last"):
        return _ask(openml, task, parquet=False)  # the ARFF file is often on another server


def _ask(openml: Any, task: Task, parquet: bool = True) -> tuple[Any, str | None]:
    """The data frame, without row ids and ignored attributes, and the name of its target."""
    remote = openml.tasks.get_task(task.id)
    dataset = remote.get_dataset()
    if not parquet:
        dataset._parquet_url = None
    frame = dataset.get_data()[0]
    nominal: list[str] = []
    with suppress(openml.exceptions.OpenMLServerException):  # not every data set says which columns are categories
        nominal = [feature.name for feature in dataset.features.values() if feature.data_type == "nominal"]
    for name in nominal:
        if name in frame.columns and frame[name].dtype.kind in "iuf":
            frame[name] = frame[name].astype("category")  # a Parquet file of numbers forgets that they are levels
    return frame, getattr(remote, "target_name", None) or dataset.default_target_attribute


@contextmanager
def _settings(config: Any, server: str, cache: Path) -> Iterator[None]:
    """openml with our settings, without a key, and silent. openml has such a function, but an error would skip its end.

    openml warns through `logging.warning`, which gives a root logger without handlers one that stays: hence ours.
    """
    ours = {
        "server": server,
        "apikey": "",
        "_root_cache_directory": cache,
        "retry_policy": "human",
        "connection_n_retries": 1,
        "show_progress": False,
    }
    from requests.adapters import HTTPAdapter

    theirs = {name: getattr(config, name) for name in ours}
    disabled = logging.root.manager.disable
    handler = logging.NullHandler()
    send = HTTPAdapter.send

    def impatient(self: Any, request: Any, *args: Any, **options: Any) -> Any:
        """openml would wait for ever for a server that accepts a connection and says nothing."""
        return send(self, request, *args, **options | {"timeout": PATIENCE})

    try:
        HTTPAdapter.send = impatient  # type: ignore[method-assign]
        vars(config).update(ours)
        logging.root.addHandler(handler)
        logging.disable()
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(disabled)
        logging.root.removeHandler(handler)
        HTTPAdapter.send = send  # type: ignore[method-assign]
        vars(config).update(theirs)


def _table(frame: Any, target: str | None) -> pa.Table:
    """The features in their order, then the target."""
    import pandas as pd

    if target is None:
        raise DataError("neither the task nor its data set says which column is the target")
    if target not in frame.columns:
        raise DataError(f"the data set has no column {target!r}, which should be the target")
    if any(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes):
        raise DataError("the data set is sparse, and openml rounds the numbers of such data and loses their categories")
    columns = {}
    for name in frame.columns.drop(target):
        new = name
        while new == TARGET or (new != name and new in frame.columns):
            new += "_"
        columns[new] = _numbers(frame[name]) if frame[name].dtype.kind in "iuf" else _category(frame[name])
    try:
        columns[TARGET] = _numbers(pd.to_numeric(frame[target].astype(object)))  # numbers may come as levels
    except ValueError as error:
        raise DataError(f"the target {target!r} is not numeric") from error
    return pa.table(columns)


def _numbers(column: Any) -> pa.Array:
    return pa.array(column.to_numpy(np.float64, na_value=np.nan), from_pandas=True)


def _category(column: Any) -> pa.Array:
    """Levels as text, since numbers that are levels come back from a Parquet file as plain numbers."""
    import pandas as pd

    if column.dtype.kind == "b":
        column = column.astype(pd.CategoricalDtype([False, True]))
    values = column.astype("category").cat  # a category keeps its declared levels, in their order
    codes = values.codes.to_numpy(np.int32)
    levels = pa.array([str(level) for level in values.categories], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), levels)


def _one_line(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 300 else f"{line[:300]}…"
