"""A bug: what is wrong, and how it is put in."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import privreg.engines.memory
import privreg.estimators.base
import privreg.estimators.known
import privreg.estimators.table_estimator

FLAGSHIP, TUKEY, BAS = "PrivateLinearRegression", "TukeyRegression", "BoostedAdaSSP"
NOT_ISOLATED = (
    (privreg.estimators.base, "isolated", nullcontext),
    (privreg.estimators.known, "isolated", nullcontext),
    (privreg.estimators.table_estimator, "isolated", nullcontext),
    (privreg.engines.memory, "isolated", nullcontext),
)


@dataclass(frozen=True)
class Bug:
    """A bug, a case of audit/cases.py in which it shows, and a check that must see it there."""

    what: str
    put_in: Callable[[], AbstractContextManager[Any]]
    case: str
    seen_by: str


def changing(*changes: tuple[Any, str, Any]) -> Callable[[], AbstractContextManager[None]]:
    """Puts a bug in by replacing attributes of modules or classes."""

    @contextmanager
    def changed() -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, value in changes:
                stack.enter_context(patch.object(owner, name, value))
            yield

    return changed
