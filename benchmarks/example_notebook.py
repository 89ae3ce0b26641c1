"""Runs the example notebook and writes it back with its outputs.

    python benchmarks/example_notebook.py

What would differ from one machine or run to the next, other than the noise of privreg, is left out: times, versions,
folders.
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "notebooks" / "mothers.ipynb"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SECONDS = 300  # for one cell
MASK = re.compile(r"[-−+±<]?\s?\d[\d,.]*(e[-+]?\d+)?")


def read() -> Any:
    """The notebook as it is committed."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(notebook: Any) -> Any:
    """A copy with new outputs, from a new kernel in an empty folder. Raises if a cell does."""
    fresh = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory() as folder:
        about = {"kernel_name": KERNEL["name"], "resources": {"metadata": {"path": folder}}}
        NotebookClient(fresh, timeout=SECONDS, extra_arguments=["--log-level=ERROR"], **about).execute()
    return tidy(fresh)


def tidy(notebook: Any) -> Any:
    """Without what changes by itself."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", {}
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output.metadata = {}
    return notebook


def structure(notebook: Any) -> list[tuple[str, ...]]:
    """What must be the same in every run: the cells, and of each output its kind and how it begins."""
    return [(cell.cell_type, cell.source, *map(_kind, cell.get("outputs", ()))) for cell in notebook.cells]


def _kind(output: Any) -> str:
    if output.output_type not in ("display_data", "execute_result"):
        return f"{output.output_type}: {output.get('name', '')}{output.get('ename', '')}"
    page = output.data.get("text/html", "")
    title = re.search(r'<div class="privreg-head"><strong>(.*?)</strong>', page)
    start = re.sub(r"<[^>]+>", "", title[1]) if title else ""
    return f"{output.output_type}: {', '.join(sorted(output.data))} {MASK.sub('#', start)}".strip()


def main() -> None:
    nbformat.write(executed(read()), NOTEBOOK)
    print(f"{NOTEBOOK.relative_to(ROOT)} is up to date", file=sys.stderr)


if __name__ == "__main__":
    main()
