"""How estimators look in a notebook: a fitted one as its card, any other as scikit-learn shows it."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


class Shown(BaseEstimator):
    """Has a card once it has released something. `sklearn.set_config(display="text")` turns it off."""

    @abstractmethod
    def _card(self) -> str:
        """The card of a fitted one, from released values only."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """A property, as scikit-learn has it: there is none if text is wanted."""
        diagram: Callable[[], str] = super()._repr_html_
        return self._card if self._has_card() else diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What Jupyter asks for first. A diagram is not drawn in vain: scikit-learn's reads every attribute."""
        if get_config()["display"] == "diagram" and self._has_card():
            return {"text/plain": repr(self), "text/html": self._card()}
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return bundle

    def _has_card(self) -> bool:
        """Whether it was fitted, and not as a part of another: parts have no receipt of their own."""
        try:
            check_is_fitted(self)
        except NotFittedError:
            return False
        return hasattr(self, "receipt_")
