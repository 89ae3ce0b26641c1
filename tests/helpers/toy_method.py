"""A method that somebody might add, in a module of its own: new processes find it, whatever packages there are."""

from privreg.estimators.boosted_adassp import BoostedAdaSSP


class Toy(BoostedAdaSSP):
    """A private estimator, as somebody might write one."""
