"""What of the package a recording watches. It is read off the package, so that nothing drops out of sight unnoticed.

Whoever adds a room, a draw or an estimator that these rules do not cover gets an error as soon as the audit is loaded.
"""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, get_type_hints

import privreg
import privreg.estimators
from privreg.estimators.base import PrivateEstimator
from privreg.estimators.budgeted import Budgeted
from privreg.estimators.schema_reader import SchemaReader
from privreg.privacy.account import Account
from privreg.privacy.events import Event
from privreg.privacy.noise import Noise

PACKAGE = Path(privreg.__file__).parent
DECIDING = {"estimators", "mechanisms"}  # where it is decided what is released, and how
BELOW = "engines"  # what these call runs once for each block of records, as often as there are blocks
OTHERS = {"cli", "data", "kernels", "paper", "privacy", "report", "results"}
# How often a loop is run here depends on the data; only a statistic comes of it, and goes through the noise.
AS_THE_DATA_SAYS = {"mechanisms/median.py", "mechanisms/depth.py"}
# The same of single classes: which values occur, and how many, is a statistic.
COUNTING = {"mechanisms/levels.py": {"Tallies"}}
FITS = ((PrivateEstimator, "_fit"), (SchemaReader, "fit"))  # every fit runs through one of these

_DRAWS_NOISE = re.compile(r"privreg\.privacy\.(account|noise)\b|privreg\.privacy import .*\b(account|noise)\b")


class NotWatchedError(Exception):
    """The audit would miss a part of the package."""


def deciding_files(package: Path = PACKAGE) -> frozenset[str]:
    """Files whose lines must be run in the same way on neighbouring tables, as paths inside the package."""
    rooms = {path.name for path in package.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    _same(rooms, DECIDING | OTHERS | {BELOW}, "rooms of the package and rooms named in audit/watched.py")
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    if not files.keys() >= AS_THE_DATA_SAYS:
        raise NotWatchedError(f"there is no {AS_THE_DATA_SAYS - files.keys()}")
    for name, classes in COUNTING.items():
        if not all(f"class {one}:" in files[name].read_text() for one in classes):
            raise NotWatchedError(f"{name} has no {classes}")
    watched = {name for name in files if name.partition("/")[0] in DECIDING} - AS_THE_DATA_SAYS
    for name in files.keys() - watched - AS_THE_DATA_SAYS:
        if not name.startswith("privacy/") and _DRAWS_NOISE.search(files[name].read_text()):
            raise NotWatchedError(f"{name} draws noise, and is in no room that is watched")
    return frozenset(watched)


def sources_of_noise() -> list[ModuleType]:
    """The modules of estimators that ask for noise."""
    room = privreg.estimators
    modules = [import_module(found.name) for found in walk_packages(room.__path__, room.__name__ + ".")]
    return [module for module in modules if hasattr(module, "noise_for")]


def draws_of(account: type[Account] = Account) -> set[str]:
    """The methods that draw for an event."""
    methods = {name: method for name, method in vars(account).items() if not name.startswith("_") and callable(method)}
    return {name for name, method in methods.items() if any(map(_is_event, get_type_hints(method).values()))}


def check_draws(known: set[str]) -> None:
    """Raise unless these are the draws of an account, and no kind of account has others."""
    _same(draws_of(), known, "draws of Account and draws that are recorded")
    for kind in _below(Account):
        if own := known & vars(kind).keys() | draws_of(kind):
            raise NotWatchedError(f"{kind.__name__} has draws of its own: {own}")


def check_noise(recorded: type[Any]) -> None:
    """Raise unless every request to the noise is recorded."""
    asked, known = ({name for name in vars(kind) if not name.startswith("_")} for kind in (Noise, recorded))
    _same(asked, known - {"private"}, "draws of Noise and draws that are recorded")


def check_fits() -> None:
    """Raise unless every estimator that spends a budget fits through what is traced."""
    for kind in _below(Budgeted):
        if kind.__module__.startswith("privreg.") and not issubclass(kind, _OWNERS):
            raise NotWatchedError(f"fits of {kind.__name__} are not traced")


_OWNERS = tuple(owner for owner, _ in FITS)


def _is_event(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Event)


def _below(kind: type[Any]) -> set[type[Any]]:
    return set(kind.__subclasses__()).union(*map(_below, kind.__subclasses__()))


def _same(found: set[str], named: set[str], what: str) -> None:
    if found != named:
        raise NotWatchedError(f"{what} differ: {sorted(found ^ named)}")
