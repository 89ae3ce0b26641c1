"""What a user asked for: public input of a report."""

from dataclasses import dataclass
from datetime import date as _date
from typing import Any

from privreg._format import no_folder, no_folders


@dataclass(frozen=True)
class Context:
    """What is known beside the release. Folders of files are left out wherever they are shown."""

    data: str | None = None  # name of the data set, as the user calls it
    command: str | None = None  # what was typed, if it was a command
    person: str | None = None  # the column that names people, if any
    ledger: dict[str, Any] | None = None  # file, dataset, epsilon, delta, spent_epsilon, entry
    date: str | None = None  # as 2026-01-31; None is today
    model: str | None = None  # the file that the model was written to

    @property
    def data_name(self) -> str | None:
        return None if self.data is None else no_folder(self.data)

    @property
    def model_name(self) -> str:
        return "model.json" if self.model is None else no_folder(self.model)

    @property
    def command_line(self) -> str | None:
        return None if self.command is None else no_folders(self.command)

    @property
    def day(self) -> str:
        return _date.today().isoformat() if self.date is None else self.date

    @property
    def ledger_entry(self) -> dict[str, Any] | None:
        if self.ledger is None:
            return None
        return self.ledger | ({"file": no_folder(str(self.ledger["file"]))} if "file" in self.ledger else {})
