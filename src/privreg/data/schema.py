"""What is known about the columns of a table before a model is fitted: kinds, levels, and what is left out and why.

A schema is public: it was declared, or released by the private reading step (docs/proofs/reading.md). It is a part of
the model file, and later fits on the same table may use it again. They pay nothing for it, but say what it cost.

Codes of a category are the numbers of its levels; then come one for all other values and one for missing ones. They are
numbers, not names, so that a level may be spelled "(other)" or "a=b" and is just a level.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any
from unicodedata import normalize

from privreg._format import listed
from privreg._json import entries, fields, flag, number, require, text
from privreg.data.coding import term_features
from privreg.data.expressions import Expression
from privreg.data.features import Feature
from privreg.data.formula import Formula, parsed
from privreg.data.text_header import BLANKS
from privreg.errors import SchemaError
from privreg.privacy.origin import Origin

Level = str | int | float | bool
NUMBER, DATE, BOOLEAN, CATEGORY = "number", "date", "boolean", "category"
KINDS = (NUMBER, DATE, BOOLEAN, CATEGORY)
OTHER, MISSING = "(other)", "(missing)"  # as people read them
_FIELDS = "name kind left_out mark levels found counts reference other missing n_other n_missing centre range computed"


@dataclass(frozen=True)
class Column:
    """One column: its kind, and what was declared or released about it. Counts are noisy."""

    name: str
    kind: str
    left_out: str = ""  # why it is not used; empty if it is
    mark: str = "."  # decimal mark of numbers in text
    levels: tuple[Level, ...] = ()
    found: bool = False  # whether the levels were found in the data, and are text
    counts: tuple[float, ...] | None = None  # records of each level
    reference: int | None = None  # the level that the others are compared with; None: each has a feature
    other: bool = False  # whether all other values together have a feature; if not, they count as the reference
    missing: bool = False  # whether missing values have one, where they are not left out
    n_other: float | None = None
    n_missing: float | None = None
    centre: float | None = None  # of a number: what a missing one counts as
    range: tuple[float, float] | None = None  # of a number: known from outside the data
    computed: Expression | None = None  # of a number that a formula makes of other columns; it is called by its text
    typed: bool = False  # whether the levels were taken from the column's type, which may have them from the records

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that its values come from."""
        return (self.name,) if self.computed is None else self.computed.columns

    @property
    def has_levels(self) -> bool:
        return self.kind in (BOOLEAN, CATEGORY)

    @property
    def other_code(self) -> int:
        return len(self.levels)

    @property
    def missing_code(self) -> int:
        return len(self.levels) + 1

    def features(self, source: int, schema: "Schema", full: bool = False) -> list[Feature]:
        """The features made from this column, which is number `source`. If `full`, the reference has one, too."""
        if not self.has_levels:
            return [Feature(self.name, source, centre=self.centre if schema.fill else None, range=self.range)]
        records = schema.records

        def feature(code: int, label: Any, count: float | None) -> Feature:
            if count is None or not records:
                return Feature(f"{self.name}={label}", source, code, self.name, label)
            share, noise = min(max(count / records, 0.0), 1.0), schema.level_noise / records
            return Feature(f"{self.name}={label}", source, code, self.name, label, share, noise)

        counts: Sequence[float | None] = self.counts or [None] * len(self.levels)
        found = [
            feature(code, level, count)
            for code, (level, count) in enumerate(zip(self.levels, counts, strict=True))
            if full or code != self.reference
        ]
        if self.other:
            found.append(feature(self.other_code, OTHER, self.n_other))
        if self.missing and schema.fill:
            found.append(feature(self.missing_code, MISSING, self.n_missing))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = {name: list(v) if isinstance(v := getattr(self, name), tuple) else v for name in _FIELDS.split()}
        return plain | {"computed": self.computed is not None, "typed": self.typed}

    @classmethod
    def from_dict(cls, record: Any) -> "Column":
        """From what `to_dict` gave; ValueError for nonsense. Older records do not say whether levels are typed."""
        fields(record, _FIELDS + _also(record, "typed"))
        name = text(record["name"], "name of a column")
        what = f"column {name!r}"
        levels = entries(record["levels"], f"{what}: levels", _level)
        require(len({(type(v) is bool, v) for v in levels}) == len(levels), f"{what}: levels must be different")
        counts = record["counts"]
        if counts is not None:
            counts = tuple(entries(counts, f"{what}: counts", number))
            require(len(counts) == len(levels), f"{what}: counts must fit the levels")
        reference = record["reference"]
        require(
            reference is None or (type(reference) is int and 0 <= reference < len(levels)),
            f"{what}: reference must be the number of a level",
        )
        kind, mark = text(record["kind"], what), text(record["mark"], what)
        require(kind in KINDS and mark in (".", ","), f"{what}: unknown kind or decimal mark")
        require(
            bool(levels) == (kind in (BOOLEAN, CATEGORY)) or bool(record["left_out"]),
            f"{what}: levels do not fit the kind",
        )
        found = flag(record["found"], what)
        require(not found or all(isinstance(level, str) for level in levels), f"{what}: levels must be text")
        computed = parsed(name) if flag(record["computed"], what) else None
        require(computed is None or kind == NUMBER, f"{what}: a computed column must be a number")
        return cls(
            name,
            kind,
            text(record["left_out"], what),
            mark,
            tuple(levels),
            found,
            counts,
            reference,
            flag(record["other"], what),
            flag(record["missing"], what),
            _number(record["n_other"], what),
            _number(record["n_missing"], what),
            _number(record["centre"], what),
            None if record["range"] is None else checked_range(name, record["range"]),
            computed,
            flag(record.get("typed", False), what),
        )


@dataclass(frozen=True)
class Schema:
    """What is known about the columns of a table: their kinds and levels, and which ones are left out and why.

    Fits make it (`schema_`), a `SchemaReader` makes it, and `load_schema` reads it from a file. It is public: pass it
    as `schema=` to later fits on the same table, at no further cost.

    Parameters
    ----------
    columns : tuple of Column
        The columns, in order. A column has a name, a kind ("number", "date", "boolean" or "category"), levels, noisy
        counts, and a reason if it is left out.
    records : float or None, default None
        A noisy count of all records, complete or not; None if nothing was released.
    level_noise : float, default 0.0
        The standard deviation of the noise in each level's count.
    target_mark : str, default "."
        The decimal mark of the target: a period or a comma.
    fill : bool, default False
        Whether missing values are filled in. If not, records with a missing value are left out.
    warnings : tuple of str, default ()
        Plain sentences about what may be wrong with the table.
    formula : Formula or None, default None
        The formula of the fit, if there is one. It decides what the features are.
    where : str, default ""
        The condition that records had to meet.
    origin : Origin or None, default None
        The release that the schema comes from: what it cost, and whom it protects. None if all of it was declared.

    Examples
    --------
    >>> from privreg import Schema
    >>> Schema.numbers(["age", "pay"]).names
    ['age', 'pay']
    """

    columns: tuple[Column, ...]
    records: float | None = None
    level_noise: float = 0.0
    target_mark: str = "."
    fill: bool = False  # whether missing values are filled in; if not, records without a value are left out
    warnings: tuple[str, ...] = ()  # what may be wrong, in plain sentences
    formula: Formula | None = None  # if there is one, it says what the features are
    where: str = ""  # the condition that records had to meet
    origin: Origin | None = None  # the release that it comes from; None if nothing was released, or if nobody said it

    @classmethod
    def numbers(cls, names: Sequence[str] | int) -> "Schema":
        """A schema for a table whose columns are all numbers and are all used. It costs nothing.

        Use it if the data are public, or if it is public knowledge that all columns are numbers.

        Parameters
        ----------
        names : list of str or int
            The names of the columns of a data frame, or the number of columns of an array.

        Returns
        -------
        Schema
        """
        return cls(declared_columns([f"x{j}" for j in range(names)] if isinstance(names, int) else names))

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def _repr_html_(self) -> str:
        from privreg.data.schema_card import schema_card

        return schema_card(self)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def features(self) -> list[Feature]:
        """The features that models compute with, without the columns that are left out."""
        return [f for f in self.rows if not any(self.columns[source].left_out for source, _ in f.parts)]

    @property
    def rows(self) -> list[Feature]:
        """The features, with one for each column that is left out: what is shown of a model, in order."""
        if self.formula is None:
            found = [
                feature
                for source, column in enumerate(self.columns)
                for feature in ([Feature(column.name, source)] if column.left_out else column.features(source, self))
            ]
        else:
            found = term_features(self)
            found += [Feature(column.name, j) for j, column in enumerate(self.columns) if column.left_out]
        return [replace(feature, row=row) for row, feature in enumerate(found)]

    @property
    def inputs(self) -> list[str]:
        """The columns that a new table must have."""
        return self.names if self.formula is None else self.formula.inputs

    @property
    def sources(self) -> list[int]:
        """Numbers of the columns that features are made from."""
        return sorted({source for feature in self.features for source, _ in feature.parts})

    @property
    def used_inputs(self) -> list[str]:
        """Names of the columns of the table that features are made from."""
        return self.inputs_of(self.sources)

    def inputs_of(self, sources: Collection[int]) -> list[str]:
        """Names of the columns of the table that some columns of the schema are made from.

        Parameters
        ----------
        sources : list of int
            Numbers of columns of the schema.

        Returns
        -------
        list of str
        """
        return list(dict.fromkeys(name for source in sorted(sources) for name in self.columns[source].inputs))

    def with_formula(self, formula: Formula) -> "Schema":
        """The same schema, with the columns that a formula computes.

        Parameters
        ----------
        formula : Formula
            The formula.

        Returns
        -------
        Schema
        """
        made = tuple(Column(each.text, NUMBER, computed=each) for each in formula.computed)
        return replace(self, columns=(*self.columns, *made), formula=formula)

    @property
    def released(self) -> bool:
        """Whether anything in it was found out from records, and not declared."""
        return self.records is not None or any(
            c.found or any(value is not None for value in (c.counts, c.n_other, c.n_missing, c.centre))
            for c in self.columns
        )

    @property
    def typed(self) -> list[str]:
        """Names of the columns in use whose levels were taken from their types."""
        return [column.name for column in self.columns if column.typed and not column.left_out]

    @property
    def left_out(self) -> dict[str, list[str]]:
        """Names of the columns that are left out, by reason."""
        found: dict[str, list[str]] = {}
        for column in self.columns:
            if column.left_out:
                found.setdefault(column.left_out, []).append(column.name)
        return found

    def reference_of(self, feature: Feature) -> str | None:
        """The level that a level is compared with; None of a number, of a product, or if there is none."""
        column = self.columns[feature.source]
        if feature.code is None or feature.times or column.reference is None:
            return None
        return str(column.levels[column.reference])

    def choose(self, names: Sequence[str]) -> "Schema":
        """The schema of some of the columns, in the order given.

        Parameters
        ----------
        names : list of str
            The columns to keep.

        Returns
        -------
        Schema

        Raises
        ------
        SchemaError
            If the schema does not have one of them.
        """
        known = {column.name: column for column in self.columns if column.computed is None}
        for name in names:
            if name not in known:
                raise SchemaError(f"the schema has no column {name!r}; it was read from a different table")
        return replace(self, columns=tuple(known[name] for name in names), formula=None, where="")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "records": self.records,
            "level_noise": self.level_noise,
            "target_mark": self.target_mark,
            "fill": self.fill,
            "warnings": list(self.warnings),
            "formula": None if self.formula is None else self.formula.to_dict(),
            "where": self.where,
            "origin": None if self.origin is None else self.origin.to_dict(),
            "columns": [column.to_dict() for column in self.columns],
        }

    @classmethod
    def from_dict(cls, record: Any) -> "Schema":
        """The schema from the values that `to_dict` gave.

        Parameters
        ----------
        record : dict
            The values.

        Returns
        -------
        Schema

        Raises
        ------
        ValueError
            If they are not those of a schema.
        """
        older = "records level_noise target_mark fill warnings formula where columns"
        fields(record, older + _also(record, "origin"))
        columns = entries(record["columns"], "columns", lambda v, _: Column.from_dict(v))
        require(len({c.name for c in columns}) == len(columns), "columns must have different names")
        formula = None
        if record["formula"] is not None:
            formula = Formula.from_dict(record["formula"], [c.computed for c in columns if c.computed is not None])
            known, raw = {c.name for c in columns}, {c.name for c in columns if c.computed is None}
            needed = {name for c in columns for name in c.inputs} | set(formula.target.columns)
            used = {name for term in formula.terms for name in term}
            require(used <= known and needed <= raw, "the formula has columns that the schema lacks")
        require(formula is not None or all(c.computed is None for c in columns), "a computed column needs a formula")
        mark = text(record["target_mark"], "target_mark")
        require(mark in (".", ","), "target_mark must be a period or a comma")
        return cls(
            tuple(columns),
            _number(record["records"], "records"),
            number(record["level_noise"], "level_noise"),
            mark,
            flag(record["fill"], "fill"),
            tuple(entries(record["warnings"], "warnings", text)),
            formula,
            text(record["where"], "where"),
            None if record.get("origin") is None else Origin.from_dict(record["origin"]),
        )


def declared_columns(
    names: Sequence[str], categories: Mapping[str, Sequence[Level]] | None = None, full: bool = False
) -> tuple[Column, ...]:
    """Numbers, and categories with these levels, of which the first is the reference unless coding is `full`."""
    categories = categories or {}
    reference = None if full else 0
    return tuple(
        Column(name, CATEGORY, levels=tuple(categories[name]), reference=reference)
        if name in categories
        else Column(name, NUMBER)
        for name in names
    )


def unprotected_levels(names: list[str]) -> str:
    """What to know of levels that were taken from the types of these columns."""
    types = "the column's type" if len(names) == 1 else "the columns' types"
    return (
        f"Levels of {listed(names)} were taken from {types}: they are not protected and may come from single records."
    )


def checked_range(name: str, value: Any) -> tuple[float, float]:
    """Two finite numbers in order; ValueError otherwise."""
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"the range of column {name!r} must be two numbers, got {value!r}") from None
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"the range of column {name!r} must be two finite numbers, the lower one first, got {value!r}")
    return low, high


def checked_levels(name: Any, levels: Any) -> tuple[Level, ...]:
    """Declared levels: text, numbers or booleans, all of one sort; SchemaError otherwise."""
    if isinstance(levels, str) or (not isinstance(levels, Sequence) and not hasattr(levels, "__iter__")):
        raise SchemaError(f"the levels of column {name!r} must be a list, got {levels!r}")
    plain = tuple(level.item() if hasattr(level, "item") else level for level in levels)
    if not plain:
        raise SchemaError(f"column {name!r} is a category without levels; declare at least one")
    sorts = {bool if isinstance(v, bool) else float if isinstance(v, int | float) else type(v) for v in plain}
    if len(sorts) > 1 or not sorts <= {str, float, bool} or not all(map(_usable, plain)):
        raise SchemaError(f"the levels of column {name!r} must be all text or all numbers")
    if len(set(map(_spelled, plain))) < len(plain):
        raise SchemaError(f"a level of column {name!r} is declared twice")
    return plain


def _usable(level: Level) -> bool:
    """Whether a cell can have this value: a number that float64 has, or text that UTF-8 has."""
    try:
        return len(level.encode()) >= 0 if isinstance(level, str) else isfinite(level)
    except (UnicodeEncodeError, OverflowError):
        return False


def _spelled(level: Level) -> Level:
    """Text as cells.py reads it: two spellings of it are one level."""
    return normalize("NFC", level.strip(BLANKS)) if isinstance(level, str) else level


def _level(value: Any, what: str) -> Level:
    require(isinstance(value, str | int | float | bool), f"{what} must be text or numbers")
    require(_usable(value), f"{what} must be finite numbers, or text that UTF-8 can hold")
    level: Level = value
    return level


def _also(record: Any, name: str) -> str:
    """A field that older records lack, where there is one."""
    return f" {name}" if isinstance(record, dict) and name in record else ""


def _number(value: Any, what: str) -> float | None:
    return None if value is None else number(value, what)
