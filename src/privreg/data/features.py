"""What a model computes with: a numeric column of the input, or one level of a category, as 0 and 1."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Feature:
    """One feature. Of a level it says of which category, so that nobody has to take its name apart."""

    name: str
    source: int  # number of the input column
    code: int | None = None  # of a level: its number among the levels of the column
    category: str | None = None  # of a level: what the input column is called
    level: Any = None


def level_feature(column: Any, level: Any, source: int, code: int) -> Feature:
    """The feature of one level."""
    return Feature(f"{column}={level}", source, code, str(column), level)


def features_of_names(names: Sequence[str], inputs: Sequence[str] | None, categories: Iterable[Any]) -> list[Feature]:
    """The features of a model file, which has their names only. Nobody else may take a name apart.

    `inputs` are the names of the input columns, if they had names; `categories` those with declared levels. Levels that
    came with a type, and those of booleans, are not declared: their column is the longest one that their name begins
    with.
    """
    place = {name: i for i, name in enumerate(dict.fromkeys([*(inputs or ()), *map(str, categories)]))}
    whole, seen = set(inputs or ()), Counter[str]()
    features: list[Feature] = []
    for name in names:
        ends = [] if name in whole else [i for i, letter in enumerate(name) if letter == "="]
        column = next((name[:i] for i in reversed(ends) if name[:i] in place), None)
        if column is None:
            features.append(Feature(name, place.get(name, len(place))))
        else:
            features.append(level_feature(column, name[len(column) + 1 :], place[column], seen[column]))
            seen[column] += 1
    return features
