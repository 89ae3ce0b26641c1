import numpy as np
import pyarrow as pa
import pytest

import commands
from made_up_run import made_up
from paper_runs import command, write_table
from privreg.paper.report import write_report


@pytest.fixture(scope="session")
def results():
    return made_up()


@pytest.fixture(scope="session")
def written(results, tmp_path_factory):
    return write_report(results, tmp_path_factory.mktemp("report") / "new")


@pytest.fixture(scope="session")
def folder(written):
    return written[0].parent


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """One data set of its own, one of the paper's names with other numbers, one that says it is partial."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    write_table(folder / "7_made_up.parquet", 2500, rng)
    write_table(folder / "361072_cpu_act.parquet", 1500, rng)
    level = pa.array(["b", "a", "c"] * 400).dictionary_encode()
    write_table(folder / "361075_isolet_PARTIAL.parquet", 1200, rng, level=level)
    (folder / "notes.txt").write_text("not a data set")
    return folder


@pytest.fixture(scope="session")
def finished(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("finished")
    result = commands.run(*command(data, out, "--jobs", "2", "--json"))  # with processes for the trials
    return out, result
