"""Who may import whom: the rules of docs/architecture.md, read off the sources."""

import ast
import re
from pathlib import Path

import pytest

import privreg

ROOT = Path(privreg.__file__).parent
# From the ground up: a room may import from its own and from those before it.
FLOORS = (
    "ground",
    "kernels",
    "privacy",
    "data",
    "engines",
    "mechanisms",
    "results",
    "estimators",
    "report",
    "paper",
    "cli",
)
GROUND = {"_types", "_format", "_json", "_isolation", "_notebook", "_theme", "errors", "__version__"}
ENTRANCES = {"__init__", "__main__", "datasets", "kendall"}  # what users import: they may load anything, lazily
# Libraries that only some rooms may know.
KNOWN_ONLY_IN = {
    "opendp": {"privacy"},
    "dp_accounting": {"privacy"},
    "numba": {"kernels"},
    "dask": {"engines"},
    "distributed": {"engines"},
    "polars": {"data", "ground"},
    "pandas": {"data", "engines", "ground", "paper"},
    "narwhals": {"data", "engines"},
    "typer": {"cli"},
    "rich": {"cli", "paper"},
    "matplotlib": {"report", "paper"},
    "sqlite3": {"privacy"},
    "python_calamine": {"data"},
    "pyreadstat": {"data"},
}


def sources():
    return sorted(ROOT.rglob("*.py"))


def room_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else "ground" if path.stem in GROUND else path.stem


def imports(path):
    """Modules that a file imports when it runs, wherever in it; what is there for type checkers only does not count."""
    tree = ast.parse(path.read_text("utf-8"))
    unread = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in unread:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_room_is_on_a_floor():
    assert {room_of(path) for path in sources()} - set(FLOORS) == ENTRANCES


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down_only(path):
    room = room_of(path)
    if room in ENTRANCES:
        return
    for module in imports(path):
        first, _, rest = module.partition(".")
        if first == "privreg":
            other = rest.partition(".")[0]
            if other in GROUND:
                other = "ground"
            elif other not in FLOORS:  # a public name of the package, which loads lazily
                other = "estimators"
            assert FLOORS.index(other) <= FLOORS.index(room), f"{room} is below {other}, but imports {module}"
        elif first in KNOWN_ONLY_IN:
            assert room in KNOWN_ONLY_IN[first], f"{room} must not know {first}"


def test_the_page_draws_these_floors():
    """docs/architecture.md lists the rooms in this order, from the top."""
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text("utf-8")
    drawn = [name for name in re.findall(r"^\| `(\w+)/` \|", page, re.M) if name in FLOORS]
    assert drawn == [floor for floor in reversed(FLOORS) if floor != "ground"]
