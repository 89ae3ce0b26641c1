"""Plug-and-play differentially private linear regression."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from privreg.data.parquet import ParquetTable
    from privreg.errors import (
        BudgetError,
        BudgetRefusedError,
        ClusterError,
        LedgerError,
        ModelFileError,
        NotPrivateWarning,
        NotReleasedWarning,
        PrivregError,
        PublicLevelsWarning,
        SchemaError,
        WeakGuaranteeWarning,
    )
    from privreg.estimators.boosted_adassp import BoostedAdaSSP
    from privreg.estimators.dp_kendall import DPKendall
    from privreg.estimators.loaded import load_model
    from privreg.estimators.non_dp import NonDP
    from privreg.estimators.private_linear.estimator import PrivateLinearRegression
    from privreg.estimators.private_linear.planner import plan
    from privreg.estimators.sub_lasso import SubLasso
    from privreg.estimators.tukey import TukeyRegression
    from privreg.privacy.ledger.ledger import Ledger
    from privreg.report.model import write_report

__all__ = [
    "BoostedAdaSSP",
    "BudgetError",
    "BudgetRefusedError",
    "ClusterError",
    "DPKendall",
    "Ledger",
    "LedgerError",
    "ModelFileError",
    "NonDP",
    "NotPrivateWarning",
    "NotReleasedWarning",
    "ParquetTable",
    "PrivateLinearRegression",
    "PrivregError",
    "PublicLevelsWarning",
    "SchemaError",
    "SubLasso",
    "TukeyRegression",
    "WeakGuaranteeWarning",
    "load_model",
    "plan",
    "write_report",
]

# Public names load on first use, so that importing the package (and `privreg --help`) stays fast.
_HOME = {
    "BoostedAdaSSP": "privreg.estimators.boosted_adassp",
    "BudgetError": "privreg.errors",
    "BudgetRefusedError": "privreg.errors",
    "ClusterError": "privreg.errors",
    "DPKendall": "privreg.estimators.dp_kendall",
    "Ledger": "privreg.privacy.ledger.ledger",
    "LedgerError": "privreg.errors",
    "ModelFileError": "privreg.errors",
    "NonDP": "privreg.estimators.non_dp",
    "NotPrivateWarning": "privreg.errors",
    "NotReleasedWarning": "privreg.errors",
    "ParquetTable": "privreg.data.parquet",
    "PrivateLinearRegression": "privreg.estimators.private_linear.estimator",
    "PrivregError": "privreg.errors",
    "PublicLevelsWarning": "privreg.errors",
    "SchemaError": "privreg.errors",
    "SubLasso": "privreg.estimators.sub_lasso",
    "TukeyRegression": "privreg.estimators.tukey",
    "WeakGuaranteeWarning": "privreg.errors",
    "load_model": "privreg.estimators.loaded",
    "plan": "privreg.estimators.private_linear.planner",
    "write_report": "privreg.report.model",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("privreg")
    if name not in _HOME:
        raise AttributeError(f"module 'privreg' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
