"""Files of other programs, against the library that reads each. `make bench`; writes benchmarks/formats.json.

For each format one file, read to its last cell: seconds and peak memory of a fresh process, ours and the library's own
with its defaults, measured in turns.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
from pyarrow import feather

from measure import Figures, memory, taking_turns, write

ROWS = 700_000  # about 50 MB of most formats
SHEET_ROWS = 150_000
TOWNS = {1: "north", 2: "south", 3: "east side", 4: "west end"}


def frame(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(rows) * 1.0,
            "age": rng.integers(18, 90, rows) * 1.0,
            "pay": np.round(rng.lognormal(10, 1, rows), 2),
            "score": rng.normal(size=rows),
            "town": rng.integers(1, 5, rows) * 1.0,
            "born": np.datetime64("1960-01-01") + rng.integers(0, 20_000, rows).astype("timedelta64[D]"),
            "note": rng.choice(np.array(["short", "another remark", ""]), rows),
        }
    )


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """As formats without labels have it."""
    return table.assign(town=table["town"].map(TOWNS))


def make_workbook(table: pd.DataFrame, path: str) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(list(table))
    for row in table.astype({"born": object}).itertuples(index=False):
        sheet.append(row)
    book.save(path)


def make_lines(table: pd.DataFrame, path: str) -> None:
    table.assign(born=table["born"].dt.strftime("%Y-%m-%d")).to_json(path, orient="records", lines=True)


LABELS = {"variable_value_labels": {"town": TOWNS}}
MAKERS: dict[str, Callable[[str], Any]] = {
    ".dta": lambda path: pyreadstat.write_dta(frame(ROWS), path, **LABELS),
    ".sav": lambda path: pyreadstat.write_sav(frame(ROWS), path, **LABELS),
    ".zsav": lambda path: pyreadstat.write_sav(frame(ROWS), path, compress=True, **LABELS),
    ".xpt": lambda path: pyreadstat.write_xport(labelled(frame(ROWS)), path, file_format_version=8),
    ".xlsx": lambda path: make_workbook(labelled(frame(SHEET_ROWS)), path),
    ".feather": lambda path: feather.write_feather(pa.Table.from_pandas(labelled(frame(ROWS))), path),
    ".jsonl": lambda path: make_lines(labelled(frame(ROWS // 2)), path),
}
# What a user of the library would write.
LIBRARIES = {
    ".dta": "import pyreadstat; found = pyreadstat.read_dta({path!r})",
    ".sav": "import pyreadstat; found = pyreadstat.read_sav({path!r})",
    ".zsav": "import pyreadstat; found = pyreadstat.read_sav({path!r})",
    ".xpt": "import pyreadstat; found = pyreadstat.read_xport({path!r})",
    ".xlsx": "import python_calamine as c; found = c.load_workbook({path!r}).get_sheet_by_index(0).to_python()",
    ".feather": "from pyarrow import feather; found = feather.read_table({path!r})",
    ".jsonl": "import json; found = [json.loads(line) for line in open({path!r}, 'rb')]",
}
COLUMNS = list(frame(1))
OURS = "from privreg.data.files import open_file; found = open_file({path!r}, columns={columns}).read({columns})"


def compare(path: str, end: str) -> dict[str, float]:
    ours, theirs = (words.format(path=path, columns=COLUMNS) for words in (OURS, LIBRARIES[end]))
    exec(ours, {})  # compiles kernels
    seconds = taking_turns({"ours": partial(exec, ours, {}), "theirs": partial(exec, theirs, {})}, 3)
    size = Path(path).stat().st_size
    holder = f"from types import SimpleNamespace; X = SimpleNamespace(nbytes={size})"
    imports = "import pandas, pyreadstat, python_calamine, pyarrow.feather, privreg.data.raw, privreg.data.cells"
    peaks = [memory(imports, "", holder, words)["peak above the data (MB)"] for words in (ours, theirs)]
    return {
        "size of the file (MB)": size / 2**20,
        "privreg (s)": seconds["ours"],
        "library (s)": seconds["theirs"],
        "privreg / library, time": seconds["ours"] / seconds["theirs"],
        "privreg, peak (MB)": peaks[0],
        "library, peak (MB)": peaks[1],
        "privreg / library, memory": peaks[0] / peaks[1],
    }


def main() -> None:
    chosen = sys.argv[1:] or list(MAKERS)
    results: Figures = {}
    for end in chosen:
        with TemporaryDirectory() as folder:
            path = str(Path(folder, f"people{end}"))
            MAKERS[end](path)
            results[end] = compare(path, end)
            print(end, json.dumps(results[end]), flush=True)
    write(__file__, results, {})


if __name__ == "__main__":
    main()
