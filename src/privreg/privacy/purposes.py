"""What an event is for, in words that people read: the same on the terminal, on the page and in files."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Purpose:
    """Its title, and what is found out."""

    title: str
    meaning: str


PURPOSES = {
    "reading": Purpose("Reading", "what each column holds, and which values are common"),
    "count": Purpose("Counting", "about how many records there are"),
    "target": Purpose("Target", "the centre and spread of the target"),
    "columns": Purpose("Columns", "the centre and spread of each column"),
    "choice": Purpose("Choosing", "which columns say most about the target"),
    "errors": Purpose("Errors", "how far predictions are off, for the standard errors"),
    "coefficients": Purpose("Coefficients", "how the target varies with each column"),
    "draw": Purpose("Coefficients", "a test of whether a draw is safe, and the draw of the model"),
}
OTHER = Purpose("Other", "further steps")


def purpose_of(key: str) -> Purpose:
    """What to show for a key, known or not."""
    return PURPOSES.get(key, OTHER)


# Files written before events had a purpose: how the name of an event begins, and a group for its column.
_OLD_NAMES = (
    (r"count the records", "count"),
    (r"(?:median|spread|mean) of the label", "target"),
    (r"(?:median|spread) of column (\d+)", "columns"),
    (r"choose feature|balance of", "choice"),
    (r"phase \d+: residual variance", "errors"),
    (r"phase|products of features|smallest eigenvalue|boosting", "coefficients"),
    (r"test stability", "draw"),
)


def purpose_of_old_name(name: str) -> tuple[str, int | None]:
    """Purpose and column of an event that was written without them."""
    for start, purpose in _OLD_NAMES:
        if found := re.match(start, name):
            return purpose, int(found[1]) if found.re.groups else None
    return "other", None
