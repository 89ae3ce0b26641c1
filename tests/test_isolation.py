"""What a caller has set must not turn a value into an exception or a warning, nor change a fit."""

import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from privreg import (
    BoostedAdaSSP,
    DPKendall,
    FitWarning,
    NotPrivateWarning,
    NotReleasedWarning,
    PrivateLinearRegression,
    SubLasso,
    TukeyRegression,
)
from privreg._isolation import isolated
from privreg.kernels.threads import share_out
from privreg.paper import make_method

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 3)) * [1, 1e-5, 1e3]
Y = X @ [1.0, 0.0, 2.0] + RNG.normal(size=300)
HOSTILE = (5e-324, -1e-310, 1e308, -1.7e308, np.nan, np.inf, -np.inf, -0.0)

ESTIMATORS = {
    "PrivateLinearRegression": PrivateLinearRegression(1.0, 1e-6, random_state=1, n_jobs=1),
    "PrivateLinearRegression, k": PrivateLinearRegression(1.0, 1e-6, k=1, random_state=1, n_jobs=1),
    "TukeyRegression": TukeyRegression(30.0, 1e-2, group_size=4, random_state=1, n_jobs=1),
    "BoostedAdaSSP": BoostedAdaSSP(1.0, 1e-6, rounds=3, random_state=1, n_jobs=1),
    "DPKendall": DPKendall(2, 1.0, random_state=1, n_jobs=1),
    "SubLasso": SubLasso(2, 1.0, random_state=1, n_jobs=1),
    "K-Tukey": make_method("K-Tukey", 2, 30.0, 1e-2, calibration="strict", random_state=1, n_jobs=1),
}


def fitted(model, X, y):
    model.fit(X, y)
    use = model.predict if hasattr(model, "predict") else model.transform
    return use(np.vstack([X[:5], np.full((2, 3), 1e308), np.full((1, 3), 5e-324)])).tobytes()


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("where", ["feature", "target"])
def test_error_states_of_numpy_and_warnings_as_errors_change_nothing(name, where):
    model = ESTIMATORS[name]
    for value in HOSTILE:
        x, y = X.copy(), Y.copy()
        if where == "feature":
            x[7, 1] = value
        else:
            y[7] = value
        usual = fitted(model, x, y)
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NotPrivateWarning)  # of the seed: known before anything is read
            warnings.simplefilter("ignore", FitWarning)  # of what was released, when the fit is complete
            assert fitted(model, x, y) == usual


def test_options_of_data_frame_libraries_change_nothing():
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.array([1, None, 3] * 100, "Int64"), "c": X[:, 2]})
    frame.loc[5, "a"] = np.inf
    model = PrivateLinearRegression(1.0, 1e-6, random_state=1)
    usual = model.fit(frame, Y).coef_.tobytes()
    tables = [frame, pl.from_pandas(frame)]
    options = {"compute.use_numba": True} | ({"future.distinguish_nan_and_na": True} if pd.__version__ >= "3" else {})
    with pd.option_context(*(part for option in options.items() for part in option)), pl.Config() as config:
        config.set_engine_affinity("streaming")
        before = pl.Config.state()
        assert [model.fit(table, Y).coef_.tobytes() for table in tables] == [usual] * 2
        assert pl.Config.state() == before
        assert all(map(pd.get_option, options))


def test_a_warning_as_error_does_not_cost_the_fit():
    """What a fit says of its result comes when it is complete; what is known before comes before."""
    model = TukeyRegression(1.0, 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotReleasedWarning):
            model.fit(X, Y)
    assert model.predict(X[:2]).tolist() == [0, 0]
    assert len(model.receipt_.steps) == 1
    seeded = TukeyRegression(1.0, 1e-6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotPrivateWarning):
            seeded.fit(X, Y)
    assert not hasattr(seeded, "receipt_")


def test_threads_leave_the_settings_of_the_process_as_they_were():
    """While one thread is inside, another warns as before, may change the filters, and is inside itself later."""
    before, inside, go_on = list(warnings.filters), threading.Event(), threading.Event()

    def other():
        with isolated():
            warnings.warn("nobody hears this", stacklevel=1)
            inside.set()
            go_on.wait()
            warnings.warn("nor this", stacklevel=1)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    with pytest.warns(UserWarning, match="everybody hears this"):
        warnings.warn("everybody hears this", stacklevel=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with isolated():
            warnings.warn("nobody hears this", stacklevel=1)
            assert np.geterr()["over"] == "ignore"
        with pytest.raises(UserWarning, match="an error again"):
            warnings.warn("an error again", stacklevel=1)
    go_on.set()
    thread.join()
    assert [f for f in warnings.filters if f not in before] == []
    with pytest.warns(UserWarning, match="heard again"):
        warnings.warn("heard again", stacklevel=1)


def test_threads_of_a_fit_are_inside_too():
    def work(tasks):
        for _ in tasks:
            warnings.warn("nobody hears this", stacklevel=1)
            np.float64(1e308) * 10

    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        with isolated():
            share_out(work, 50, 4)


def test_an_exception_inside_puts_the_settings_back():
    before = list(warnings.filters)
    with np.errstate(all="raise"):
        with pytest.raises(KeyError), isolated():
            raise KeyError
        assert np.geterr()["over"] == "raise"
    assert warnings.filters == before
