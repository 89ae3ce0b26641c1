"""Tables whose schema is public: what the tests of engines and mechanisms begin with."""

from privreg.data.tables import Table, read_table
from privreg.engines.base import Engine, OpenOptions, Types
from privreg.engines.memory import MemoryEngine
from privreg.engines.registry import kind_of, open_source
from privreg.estimators.settled import public_schema


def types_of(data, y=None) -> Types:
    return kind_of(data).types(data, y, None)


def public_table(data, categories="dtype", full=False) -> Table:
    """The features of a table in memory."""
    return read_table(data, public_schema(types_of(data), categories, full))


def public_engine(data, y, groups=None, categories="dtype", full=False, n_jobs=None) -> Engine:
    """The records of any table."""
    types, source = open_source(data, y, OpenOptions(n_jobs, groups))
    return source.open(public_schema(types, categories, full))


def array_engine(X, y, n_jobs=None, persons=None) -> MemoryEngine:
    """The records of an array, on so many threads; `persons` has a number for each row."""
    return MemoryEngine(public_table(X), y, n_jobs, persons)


def records_of(engine) -> list[tuple[float, ...]]:
    """The values of all features and the target of each record."""
    return engine.total(_rows, range(len(engine)))


def _rows(block) -> list[tuple[float, ...]]:
    return list(zip(*(values.tolist() for values in block.values), block.target.tolist(), strict=True))
