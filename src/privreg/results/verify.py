"""Whether the release in a model file is in a ledger, with the parameters that it claims.

A ledger's entry keeps the fingerprint of what its fit released: coefficients, schema and receipt. A file whose numbers
were changed has another one, also if its own digest was made anew.
"""

from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from privreg._format import epsilon_delta, listed
from privreg.privacy.ledger.ledger import Ledger
from privreg.privacy.ledger.lines import Entry
from privreg.privacy.ledger.request import RECORD, running_budget
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.results.model_file import ModelFile, read_model


@dataclass(frozen=True)
class Answer:
    """The entries that hold the release, more than one only if they released the same; or why there are none."""

    entries: list[Entry]
    reason: str = ""

    @property
    def verified(self) -> bool:
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {
            "verified": self.verified,
            "reason": self.reason or None,
            "entries": [entry.to_dict() for entry in self.entries],
        }


def verify(model: str | PathLike[str], ledger: Ledger, dataset: str | None = None) -> Answer:
    """Look a model file up in a ledger. Raises ModelFileError for a file that was changed or cannot be read."""
    with read_model(model) as file:
        pass  # what goes wrong from here on is not the file's fault
    known = ledger.history()  # also for a model that is in none: a ledger that cannot be read is an error
    if dataset is not None:
        ledger.status(dataset)  # raises for unknown ones
    if not file.receipt.private:
        return Answer([], "its noise came from a seed, so it is not private, and no ledger contains it")
    found = [entry for entry in known if entry.fingerprint == file.fingerprint]
    here = [entry for entry in found if dataset in (None, entry.dataset)]
    if not here:
        return Answer([], _missing(file, known, found, ledger, dataset))
    for entry in here:
        wrong = _difference(entry, file.receipt)
        if wrong:
            return Answer([], f"entry {entry.number} of {entry.dataset} holds this release, but {wrong}")
    return Answer(here)


def _missing(file: ModelFile, known: list[Entry], found: list[Entry], ledger: Ledger, dataset: str | None) -> str:
    """Why no entry holds the release."""
    if found:
        return f"it is entry {found[0].number} of {found[0].dataset}, not an entry of {dataset}"
    alike = [e for e in known if dataset in (None, e.dataset) and _same(e, file.receipt)]
    said = f"no entry of {dataset or fspath(ledger.path)} holds this release"
    if not alike:
        return said
    names = listed([f"entry {e.number}" if dataset else f"entry {e.number} of {e.dataset}" for e in alike])
    return f"{said}; with the same cost but a different result: {names}"


def _difference(entry: Entry, receipt: Receipt) -> str:
    """In what an entry and the receipt of its own release differ: only where the ledger was altered."""
    running = running_budget(entry.epsilon, entry.delta)
    if receipt.budget != running:
        budget = epsilon_delta(receipt.budget.epsilon, receipt.budget.delta)
        return f"the model ran with {budget}, while the entry allows {epsilon_delta(running.epsilon, running.delta)}"
    if (receipt.unit == ONE_RECORD) != (entry.unit == RECORD):
        return f"the model protects {receipt.unit}, while the entry protects one {entry.unit}"
    if entry.state != "finished" or not _same(entry, receipt):
        return "the rest of the entry does not match: the ledger was altered"
    return ""


def _same(entry: Entry, receipt: Receipt) -> bool:
    """Whether an entry has this receipt. Totals are computed anew: another version may bound them better."""
    try:
        return entry.receipt is not None and Receipt.from_dict(entry.receipt) == receipt
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError):
        return False


def entry_in_words(entry: Entry) -> str:
    """What was released, at what price, by whom, when and what for."""
    budget = epsilon_delta(float(entry.epsilon), float(entry.delta))
    said = f"{entry.what}, {budget}, for one {entry.unit}"
    said += f", by {entry.who or 'unknown'} on {entry.time[:10]}"
    return said + (f", purpose: {entry.purpose}" if entry.purpose else "")
