"""The seven methods that the paper compares."""

from privreg.estimators.methods import METHODS, make_method

__all__ = ["METHODS", "make_method"]
