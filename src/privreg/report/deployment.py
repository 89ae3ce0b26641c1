"""A release as a record of the OpenDP Deployments Registry, for programs and for those who want to register it.

Keys and values are those of github.com/opendp/deployments-registry-data (schemas/deployments-schema.yaml, commit
057e5d81). What only the publisher knows is an empty string. The key `privreg` is ours: `to_register` takes it off.

The registry has three tiers, by how much a record tells: 1 is what was published, 2 adds the guarantee, 3 how it was
implemented. privreg fills in all that it knows of all three.
"""

import json
from dataclasses import dataclass
from datetime import date as _date
from decimal import Decimal
from typing import Any

import numpy as np

from privreg import __version__
from privreg._format import count_of, epsilon_delta, no_folder, no_folders, shown
from privreg.data.schema import unprotected_levels
from privreg.privacy.promise import bounds, broken_promise, is_custom
from privreg.privacy.receipt import ADAPTIVE, Receipt
from privreg.report.document import Grid, TableCell, words
from privreg.results.release import Release, public_note
from privreg.results.summary import fit_lines
from privreg.results.tables import MOST_CORRELATED

UNKNOWN = ""
_TIERS = {  # the first tier that asks for a field of a part, where it is not the part's own
    "basic": 1,
    "dp_variant": 3,
    "privacy_loss": 3,
    "deployment_model": 3,
    "implementation": 3,
    "administrative": 1,
}
_SECOND = {
    "variant_name",
    "privacy_unit",
    "privacy_parameters",
    "model_name",
    "release_type",
    "data_source_type",
    "access_type",
}
_PARTS = {1: "what was published", 2: "the guarantee", 3: "how it was done"}


@dataclass(frozen=True)
class Context:
    """What is known beside the release: public input of a report. Folders of files are left out."""

    data: str | None = None  # name of the data set, as the user calls it
    command: str | None = None  # what was typed, if it was a command
    person: str | None = None  # the column that names people, if any
    ledger: dict[str, Any] | None = None  # file, dataset, epsilon, delta, spent_epsilon, entry
    date: str | None = None  # as 2026-01-31; None is today
    model: str | None = None  # the file that the model was written to
    purpose: str | None = None  # what the fit is for, as in the ledger
    delta: float | None = None  # that the ledger was asked for: the fit ran with a part of it
    ledger_known: bool = True  # whether it is known if there was one

    def __post_init__(self) -> None:
        for name, shorten in (("data", no_folder), ("command", no_folders), ("model", no_folder)):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, shorten(given))
        if self.ledger is not None and "file" in self.ledger:
            object.__setattr__(self, "ledger", self.ledger | {"file": no_folder(str(self.ledger["file"]))})
        if self.date is None:
            object.__setattr__(self, "date", _date.today().isoformat())


def deployment_record(release: Release, context: Context) -> dict[str, Any]:
    """Plain values, ready for JSON: lists, no numbers that JSON does not have."""
    receipt = release.receipt
    deployment = {
        "basic": _basic(release, context),
        "dp_variant": _variant(release),
        "privacy_loss": _privacy_loss(release, context),
        "deployment_model": _deployment_model(context),
        "implementation": _implementation(release),
        "administrative": {"status": "Draft", "registry_authors": [UNKNOWN], "tier": 3},
    }
    ours = {
        "version": __version__,
        "model": "central",
        "unit": deployment["privacy_loss"]["privacy_unit"],
        "parameters": deployment["privacy_loss"]["privacy_parameters"],
        "accounting": deployment["implementation"]["composition"],
        "implementation": deployment["implementation"]["mechanisms"],
        "asked": {
            "data": context.data,
            "command": context.command,
            "person": context.person,
            "date": context.date,
        },
        "ledger": context.ledger,
        "earlier_release": None if release.earlier is None else release.earlier.to_dict(),
        "receipt": receipt.to_dict(),
        "release": _told(release),
    }
    record: dict[str, Any] = _plain({"url_slug": UNKNOWN, "deployment": deployment, "privreg": ours})
    return record


def _told(release: Release) -> dict[str, Any]:
    """The release without its receipt; correlations as far as a page can hold them."""
    told = {key: value for key, value in release.to_dict().items() if key != "receipt"}
    if release.statistics is not None and len(release.statistics.correlations.names) > MOST_CORRELATED:
        told["statistics"]["correlations"] = None
    return told


def as_json(record: dict[str, Any]) -> str:
    """To be read by people as well; half characters, which no file can hold, are written as escapes."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def to_register(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what is ours."""
    return {key: value for key, value in record.items() if key != "privreg"}


def as_yaml(value: Any, depth: int = 0) -> str:
    """Plain values as YAML that both its versions read alike: strings are quoted, every float has a point."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        return "\n".join(f"{pad}{key}:{_below(item, depth)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "\n".join(f"{pad}-{_below(item, depth)}" for item in value)
    return pad + _scalar(value)


def _below(value: Any, depth: int) -> str:
    """Behind a key or a dash: a scalar on the same line, anything else below it."""
    nested = isinstance(value, dict | list) and value
    return f"\n{as_yaml(value, depth + 1)}" if nested else f" {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, float) and "e" in (text := repr(value)) and "." not in text:
        return text.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=not (isinstance(value, str) and value.isprintable()))


def missing_fields(record: dict[str, Any]) -> Grid:
    """What the publisher has to add, tier by tier."""
    empty: dict[int, list[str]] = {tier: [] for tier in _PARTS}
    for part, fields in record["deployment"].items():
        for key, value in fields.items():
            if not _filled(value):
                empty[2 if key in _SECOND else _TIERS[part]].append(key)
    rows = [
        [TableCell(f"{tier}: {what}", order=tier), words(", ".join(empty[tier]) or "nothing")]
        for tier, what in _PARTS.items()
    ]
    return Grid(["tier", "for you to fill in"], rows)


def _filled(value: Any) -> bool:
    """Whether there is anything in it but empty strings."""
    if isinstance(value, dict):
        return any(map(_filled, value.values()))
    return any(map(_filled, value)) if isinstance(value, list) else value != UNKNOWN


def _basic(release: Release, context: Context) -> dict[str, Any]:
    data = f" in {context.data}" if context.data else ""
    used = len(release.coefficients)
    model = f"A linear model of {count_of(used, 'column')}" if used else "A constant"
    kind = "Private linear" if broken_promise(release.receipt) is None else "Linear"
    return {
        "name": f"{kind} model of {release.target}{data}",
        "data_curators": [{"data_curator_name": UNKNOWN, "data_curator_type": UNKNOWN}],
        "description": f"{model} that predicts {release.target}, fitted by {release.method} of privreg {__version__}.",
        "intended_use": context.purpose or UNKNOWN,
        "data_product_type": "Machine learning model",
        "data_product_region": UNKNOWN,
        "data_product_sector": UNKNOWN,
        "publication_date": context.date,
    }


def _variant(release: Release) -> dict[str, Any]:
    receipt = release.receipt
    name = "Approximate DP" if bounds(receipt)[1] else "Pure DP"
    if is_custom(receipt):
        name = "Custom"
    return {
        "variant_name": name if receipt.private else UNKNOWN,
        "data_domain": "All tables with these columns and any number of records: "
        + ", ".join(map(shown, [*release.inputs, release.target])),
        "unprotected_quantities": "Treated as public: the names and types of columns, declared levels and ranges, "
        "and all settings. Running time is not protected."
        + (f" {unprotected_levels(release.typed)}" if release.typed else "")
        + (f" {public_note(release.public_rows)}" if release.public_rows else ""),
    }


def _privacy_loss(release: Release, context: Context) -> dict[str, Any]:
    receipt = release.receipt
    epsilon, delta = bounds(receipt)
    unit = f" People are told apart by the column {context.person}." if context.person else ""
    earlier = f" {release.earlier.sentence}" if release.earlier else ""
    if not receipt.private:
        details = "NOT PRIVATE: the noise came from a seed, so no parameters hold."
        nothing: dict[str, Any] = {"privacy_unit": UNKNOWN, "privacy_unit_details": UNKNOWN, "privacy_parameters": {}}
        return nothing | {"privacy_parameters_details": details + earlier}
    details = f"The budget, as a bound. The steps add up to {epsilon_delta(receipt.epsilon, receipt.delta)}."
    loss: dict[str, Any] = {
        "privacy_unit": receipt.unit,
        "privacy_unit_details": f"Tables are neighbours if they differ by adding or removing {receipt.unit}.{unit}",
        "privacy_parameters": {"epsilon": epsilon, "delta": delta},
        "privacy_parameters_details": details + earlier,
    }
    if release.records is not None and receipt.rows == 1 and not is_custom(receipt):  # one record is one unit
        loss["number_of_privacy_units"] = round(release.records)
    return loss


def _deployment_model(context: Context) -> dict[str, Any]:
    unused = "no ledger was used" if context.ledger_known else "whether a ledger counts them is not known"
    kept = "a ledger keeps count of them" if context.ledger else unused
    return {
        "model_name": "Central",
        "model_name_details": "One party holds the records, runs privreg, and hands on what it releases.",
        "trust_assumptions": "Whoever holds the records, and the computer that privreg runs on, are trusted.",
        "actors": UNKNOWN,
        "release_type": "One release",
        "release_type_details": f"One fitted model. Further fits on the same records add to the privacy loss; {kept}.",
        "data_source_type": UNKNOWN,
        "data_source_type_details": UNKNOWN,
        "access_type": "Non-interactive",
        "access_type_details": "The model and its report are handed on as they are.",
    }


def _implementation(release: Release) -> dict[str, Any]:
    receipt = release.receipt
    used = dict.fromkeys(event.description for event in receipt.events)
    source = "the operating system's randomness" if receipt.private else "a seed (not private)"
    scales = f"; scales of columns come from {release.public_rows:,} public rows" if release.public_rows else ""
    results = f"the noisy results{' and the public rows' if release.public_rows else ''} only"
    return {
        "preprocessing_and_hyperparameter_tuning": f"Inside privreg: {_missing(release)}{scales}; nothing is tuned on "
        "the private records outside the budget. What was done before is not known to privreg.",
        "mechanisms": f"{'; '.join(used) or 'none'}. Statistics are integers, computed exactly; noise comes from "
        f"OpenDP's discrete samplers, fed by {source}. Running time is not protected. privreg {__version__}.",
        "composition": " Then, with the rest of the budget: ".join(map(_composition, receipt.parts)),
        "post_processing": f"Coefficients, intervals, notes and this record are computed from {results}.",
        "justification": UNKNOWN,
        "utility": " ".join(fit_lines(release)) or "No measure of accuracy was released.",
        "additional_information": UNKNOWN,
    }


def _missing(release: Release) -> str:
    if release.fills:
        return "missing values are filled in, numbers by the centre of their column, categories by a level of their own"
    return "records with missing values are left out"


def _composition(part: Receipt) -> str:
    if part.composition == ADAPTIVE:
        return "Gaussian differential privacy with steps chosen on the way: their μ² add up, within the budget."
    people = f" {part.rows} records together are protected by group privacy." if part.rows > 1 else ""
    return (
        "Planned beforehand; the total is recomputed from all steps by pure, zero-concentrated and Gaussian "
        f"differential privacy.{people}"
    )


def _plain(value: Any) -> Any:
    """Values as they come back from JSON, with null for numbers that it does not have."""

    def known(other: Any) -> Any:
        if isinstance(other, np.generic):
            return other.item()
        return float(other) if isinstance(other, Decimal) else str(other)

    return json.loads(json.dumps(value, default=known), parse_constant=lambda _: None)
