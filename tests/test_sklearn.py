"""scikit-learn's own checks, in seeded mode. Each expected failure is a place where obeying would leak a value."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from privreg import DPKendall, SubLasso

EXPECTED_FAILURES = {
    "check_estimators_empty_data_messages": "a table without records is the neighbour of one with a record: an error "
    "would tell them apart, so it gives a (meaningless) result",
    "check_dtype_object": "object arrays are refused whatever they hold, because whether they convert to numbers "
    "depends on single values",
}


def expected_failures(estimator):
    return EXPECTED_FAILURES


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        DPKendall(k=1, random_state=0),
        DPKendall(k=3, delta=1e-6, random_state=0),
        SubLasso(k=1, random_state=0),
        SubLasso(k=3, group_size="d", random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)
