"""scikit-learn's own checks, in seeded mode. Each expected failure is a place where obeying would leak a value."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from privreg import BoostedAdaSSP, DPKendall, NonDP, PrivateLinearRegression, SubLasso, TukeyRegression
from privreg.paper import make_method

EXPECTED_FAILURES = {
    "check_estimators_empty_data_messages": "a table without records is the neighbour of one with a record: an error "
    "would tell them apart, so it gives a (meaningless) result",
    "check_supervised_y_no_nan": "a record without a target is left out without a trace: an error would tell "
    "that there is one",
    "check_dtype_object": "object arrays are refused whatever they hold, because whether they convert to numbers "
    "depends on single values",
}


def expected_failures(estimator):
    return EXPECTED_FAILURES


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
@parametrize_with_checks(
    [
        DPKendall(k=1, random_state=0),
        DPKendall(k=3, delta=1e-6, random_state=0),
        SubLasso(k=1, random_state=0),
        SubLasso(k=3, group_size="d", random_state=0),
        PrivateLinearRegression(random_state=0),
        PrivateLinearRegression(epsilon=50.0, delta=0.01, k=2, random_state=0),
        TukeyRegression(random_state=0),
        TukeyRegression(epsilon=200.0, delta=0.1, calibration="paper", random_state=0),
        BoostedAdaSSP(rounds=5, random_state=0),
        make_method("K-Tukey", k=1, random_state=0),
        make_method("L-BAS", k=1, random_state=0),
        NonDP(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)
