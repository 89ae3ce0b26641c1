"""Plug-and-play differentially private linear regression."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

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
    from privreg.model_file import load_model
    from privreg.parquet import ParquetTable
    from privreg.planner import plan
    from privreg.privacy.ledger import Ledger
    from privreg.regression.boosted_adassp import BoostedAdaSSP
    from privreg.regression.non_dp import NonDP
    from privreg.regression.private_linear import PrivateLinearRegression
    from privreg.regression.tukey import TukeyRegression
    from privreg.report.model import write_report
    from privreg.selection.dp_kendall import DPKendall
    from privreg.selection.sub_lasso import SubLasso

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
    "BoostedAdaSSP": "privreg.regression.boosted_adassp",
    "BudgetError": "privreg.errors",
    "BudgetRefusedError": "privreg.errors",
    "ClusterError": "privreg.errors",
    "DPKendall": "privreg.selection.dp_kendall",
    "Ledger": "privreg.privacy.ledger",
    "LedgerError": "privreg.errors",
    "ModelFileError": "privreg.errors",
    "NonDP": "privreg.regression.non_dp",
    "NotPrivateWarning": "privreg.errors",
    "NotReleasedWarning": "privreg.errors",
    "ParquetTable": "privreg.parquet",
    "PrivateLinearRegression": "privreg.regression.private_linear",
    "PrivregError": "privreg.errors",
    "PublicLevelsWarning": "privreg.errors",
    "SchemaError": "privreg.errors",
    "SubLasso": "privreg.selection.sub_lasso",
    "TukeyRegression": "privreg.regression.tukey",
    "WeakGuaranteeWarning": "privreg.errors",
    "load_model": "privreg.model_file",
    "plan": "privreg.planner",
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
