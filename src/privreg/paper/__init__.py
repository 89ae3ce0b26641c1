"""The seven methods that the paper compares."""

from privreg.paper.methods import METHODS, make_method

__all__ = ["METHODS", "make_method"]
