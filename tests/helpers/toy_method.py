"""A method that somebody might add. In a module of its own, which new processes find whatever packages are installed."""

from privreg.estimators.boosted_adassp import BoostedAdaSSP


class Toy(BoostedAdaSSP):
    """A private estimator, as somebody might write one."""
