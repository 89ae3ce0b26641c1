"""Everything privreg raises or warns about.

PrivregError
 ├── SchemaError (ValueError)   the table's shape or column types are unusable: never depends on one record's value
 │    └── FormulaError          a formula or a filter cannot be read, or asks for what a record alone does not tell
 ├── BudgetError (ValueError)   a release would cost more than the budget allows
 │    └── BudgetRefusedError    a ledger has no room for a request
 ├── LedgerError (ValueError)   a file is not a ledger, or has no such data set
 ├── ModelFileError (ValueError)   a file is not a model of this package, or damaged
 ├── ClusterError               a cluster does not answer, or lost what it was working on
 └── DataError                  the paper's data sets or the results of a run cannot be had or read

UserWarning
 ├── FitWarning                 what may be wrong with a fit, from released values only: one of its `warnings_`
 ├── NotPrivateWarning          a seed was given: the run can be repeated, so it protects nobody
 ├── NotReleasedWarning         a private test failed: the model is a constant
 └── WeakGuaranteeWarning       the budget is so large that it protects hardly anybody
"""


class PrivregError(Exception):
    """Base of all errors of this package."""


class SchemaError(PrivregError, ValueError):
    """The table's shape or column types cannot be used."""


class FormulaError(SchemaError):
    """A formula or a filter that cannot be read, or that is not a rule of one record."""


class BudgetError(PrivregError, ValueError):
    """A release would cost more than the budget allows."""


class BudgetRefusedError(BudgetError):
    """A data set's budget, kept in a ledger, has no room for a request."""


class LedgerError(PrivregError, ValueError):
    """A file that is not a ledger, or does not have what was asked of it."""


class ModelFileError(PrivregError, ValueError):
    """A file that is not a model, or a damaged one."""


class DataError(PrivregError):
    """A data set of the paper, or the results of a run, cannot be had or read."""


class ClusterError(PrivregError):
    """A cluster does not answer, or has lost what it was working on."""


class FitWarning(UserWarning):
    """What may be wrong with a fit, from released values only; the fit is complete."""


class NotPrivateWarning(UserWarning):
    """Noise comes from a seeded generator: the output carries no privacy guarantee."""


class WeakGuaranteeWarning(UserWarning):
    """A budget is so large that its guarantee protects hardly anybody."""


class NotReleasedWarning(UserWarning):
    """A private test failed, so the fit released no model."""
