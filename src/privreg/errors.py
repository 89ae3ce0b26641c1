"""Everything privreg raises or warns about.

PrivregError
 ├── SchemaError (ValueError)   the table's shape or column types are unusable: never depends on one record's value
 │    └── FormulaError          a formula or a filter cannot be read, or depends on more than one record at a time
 ├── BudgetError (ValueError)   a release would cost more than the budget allows
 │    └── BudgetRefusedError    a ledger has no room for a request
 ├── LedgerError (ValueError)   a file is not a ledger, or has no such data set
 ├── ModelFileError (ValueError)   a file is not a model of this package, or is damaged
 ├── ClusterError               a cluster does not answer, or lost what it was working on
 └── DataError                  the paper's data sets or the results of a run cannot be found or read

UserWarning
 ├── FitWarning                 what may be wrong with a fit, from released values only: one of its `warnings_`
 ├── NotPrivateWarning          a seed was given: the run can be repeated, so it protects nobody
 ├── NotReleasedWarning         a private test failed: the model is a constant
 └── WeakGuaranteeWarning       the budget is so large that it protects hardly anybody
"""


class PrivregError(Exception):
    """The base class of all errors of this package."""


class SchemaError(PrivregError, ValueError):
    """The shape of a table, or the type of a column, cannot be used. Never depends on the value of one record."""


class FormulaError(SchemaError):
    """A formula or a filter cannot be read, or depends on more than one record at a time."""


class BudgetError(PrivregError, ValueError):
    """A release would cost more than the budget allows."""


class BudgetRefusedError(BudgetError):
    """A data set's budget, kept in a ledger, has no room for a request."""


class LedgerError(PrivregError, ValueError):
    """A file is not a ledger, or the ledger cannot do what was asked."""


class ModelFileError(PrivregError, ValueError):
    """A file is not a model file, or is damaged."""


class DataError(PrivregError):
    """A data set of the paper, or the results of a run, cannot be found or read."""


class ClusterError(PrivregError):
    """A cluster does not answer, or lost what it was working on."""


class FitWarning(UserWarning):
    """What may be wrong with a fit, from released values only. The fit is complete."""


class NotPrivateWarning(UserWarning):
    """Noise comes from a seeded generator (`random_state`): the output carries no privacy guarantee."""


class WeakGuaranteeWarning(UserWarning):
    """A budget is so large that its guarantee protects hardly anybody."""


class NotReleasedWarning(UserWarning):
    """A private test failed, so the fit released no model."""
