"""Plug-and-play differentially private linear regression."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for readers and type checkers: the same names as below
    __version__: str

    from privreg.data.files import open_file as open_file
    from privreg.data.parquet import ParquetTable as ParquetTable
    from privreg.data.schema import Schema as Schema
    from privreg.errors import BudgetError as BudgetError
    from privreg.errors import BudgetRefusedError as BudgetRefusedError
    from privreg.errors import ClusterError as ClusterError
    from privreg.errors import FitWarning as FitWarning
    from privreg.errors import FormulaError as FormulaError
    from privreg.errors import LedgerError as LedgerError
    from privreg.errors import ModelFileError as ModelFileError
    from privreg.errors import NotPrivateWarning as NotPrivateWarning
    from privreg.errors import NotReleasedWarning as NotReleasedWarning
    from privreg.errors import PrivregError as PrivregError
    from privreg.errors import SchemaError as SchemaError
    from privreg.errors import WeakGuaranteeWarning as WeakGuaranteeWarning
    from privreg.estimators.boosted_adassp import BoostedAdaSSP as BoostedAdaSSP
    from privreg.estimators.dp_kendall import DPKendall as DPKendall
    from privreg.estimators.loaded import load_model as load_model
    from privreg.estimators.non_dp import NonDP as NonDP
    from privreg.estimators.private_linear.estimator import PrivateLinearRegression as PrivateLinearRegression
    from privreg.estimators.private_linear.planner import plan as plan
    from privreg.estimators.schema_reader import SchemaReader as SchemaReader
    from privreg.estimators.sub_lasso import SubLasso as SubLasso
    from privreg.estimators.tukey import TukeyRegression as TukeyRegression
    from privreg.privacy.ledger.ledger import Ledger as Ledger
    from privreg.report.model import write_report as write_report
    from privreg.report.plot import plot_coefficients as plot_coefficients
    from privreg.results.schema_file import load_schema as load_schema

# Public names load on first use, so that importing the package (and `privreg --help`) stays fast.
_HOMES = {
    "data.files": "open_file",
    "data.parquet": "ParquetTable",
    "data.schema": "Schema",
    "errors": "BudgetError BudgetRefusedError ClusterError FitWarning FormulaError LedgerError ModelFileError "
    "NotPrivateWarning NotReleasedWarning PrivregError SchemaError WeakGuaranteeWarning",
    "estimators.boosted_adassp": "BoostedAdaSSP",
    "estimators.dp_kendall": "DPKendall",
    "estimators.loaded": "load_model",
    "estimators.non_dp": "NonDP",
    "estimators.private_linear.estimator": "PrivateLinearRegression",
    "estimators.private_linear.planner": "plan",
    "estimators.schema_reader": "SchemaReader",
    "estimators.sub_lasso": "SubLasso",
    "estimators.tukey": "TukeyRegression",
    "privacy.ledger.ledger": "Ledger",
    "report.model": "write_report",
    "report.plot": "plot_coefficients",
    "results.schema_file": "load_schema",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("privreg")
    if name not in _HOME:
        raise AttributeError(f"module 'privreg' has no attribute {name!r}")
    return getattr(import_module(f"privreg.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
