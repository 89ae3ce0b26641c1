"""How a fit spends: a part of the budget for reading the table, if that is needed, and the rest by a plan."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privreg.data.schema import Schema
from privreg.engines.base import Engine, Source
from privreg.estimators.budgets import reading_budget
from privreg.estimators.reading import FIXED, Shares, read
from privreg.estimators.settled import Public
from privreg.mechanisms.persons import keep_rows, kept_rows
from privreg.privacy.account import Account, AdaptiveAccount, PlannedAccount
from privreg.privacy.accountant import Budget, for_each_record, reserved_delta
from privreg.privacy.events import Event
from privreg.privacy.noise import Noise
from privreg.privacy.origin import Origin
from privreg.privacy.receipt import PLANNED, Receipt, unit_words


@dataclass
class Spending:
    """The accounts of one fit. What they have entered is spent, whatever happens."""

    budget: Budget
    noise: Noise
    rows: int  # records that the unit of privacy may have
    progress: Callable[[str], None] | None
    given_private: bool = True  # whether the schema is, where one was given: results show it
    reading: AdaptiveAccount | None = None
    accounts: list[Account] = field(default_factory=list)  # of all that comes after reading

    def __post_init__(self) -> None:
        self.rest = self.budget

    def read(self, source: Source, public: Public, people: bool) -> Schema:
        """The schema of a table, found out with a part of the budget, which is taken off."""
        reading, self.rest = reading_budget(self.budget)
        self.reading = AdaptiveAccount(reading, self.noise, self.rows, reserved_delta(reading))
        self.reading.watch = self.progress
        return self.read_with(self.reading, source, public, people, FIXED)

    def read_with(
        self, account: AdaptiveAccount, source: Source, public: Public, people: bool, shares: Shares
    ) -> Schema:
        """The same with an account that goes on to pay for more."""
        noise = self.noise.apart()
        with account.drawing_from(noise):
            found = read(account, self._cut(source, noise) if people else source, public, shares, self.rows)
        unit, budget = unit_words(people, self.rows), self.budget
        return replace(found, origin=Origin(budget.epsilon, budget.delta, unit, self.rows, self.noise.private))

    def _cut(self, source: Source, noise: Noise) -> Source:
        """The rows that people have in what is counted."""
        persons = source.row_identities()
        chosen = np.zeros(persons.size, bool)
        chosen[kept_rows(persons, self.rows, noise)] = True
        return source.keep(chosen)

    def records(self, source: Source, schema: Schema, people: bool) -> Engine:
        """The records that the fit is made on."""
        engine = source.open(schema)
        return keep_rows(engine, self.rows, self.noise) if people else engine

    def adaptive(self, extra_delta: float) -> AdaptiveAccount:
        """An account for all of the budget, for events that are chosen on the way."""
        return self._watched(AdaptiveAccount(self.budget, self.noise, self.rows, extra_delta))

    def plan(self, make: Callable[[Budget], list[Event]]) -> PlannedAccount:
        """An account for a plan within the budget, or what reading has left of it."""
        return self.carry_out(make(for_each_record(self.rest, self.rows)), self.noise)

    def carry_out(self, plan: list[Event], noise: Noise) -> PlannedAccount:
        """An account for a plan, or for one of several that fit together."""
        account: PlannedAccount = self._watched(PlannedAccount(plan, self.rest, noise, self.rows))
        return account

    def _watched(self, account: Any) -> Any:
        account.watch = self.progress
        self.accounts.append(account)
        return account

    def receipt(self, unit: str) -> Receipt:
        """What was spent: reading first, then the events of all accounts, which are of one composition."""
        events = tuple(event for account in self.accounts for event in account.receipt().own)
        composition = self.accounts[0].composition if self.accounts else PLANNED
        private = self.noise.private and self.given_private
        whole = Receipt(events, self.rest, private, unit, self.rows, composition)
        return whole if self.reading is None else whole.after(self.reading.receipt(unit), self.budget)
