from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privreg import PrivateLinearRegression
from privreg.results.release import release_of
from privreg.results.statistics import Correlations, Described, JointTest
from reports import HOSTILE, N, paper_release, private, survey


@pytest.fixture(scope="session")
def seeded():
    return release_of(PrivateLinearRegression(1.0, 1e-6, random_state=1).fit(*survey()), "blood_pressure")


@pytest.fixture(scope="session")
def flagship(seeded):
    return private(seeded)


@pytest.fixture(scope="session")
def constant():
    X, y = survey(80)
    return private(release_of(PrivateLinearRegression(0.1, 1e-6, random_state=1).fit(X, y), "blood_pressure"))


@pytest.fixture(scope="session")
def people():
    X, y = survey()
    model = PrivateLinearRegression(1.0, 1e-6, rows_per_person=2, random_state=1).fit(X, y, groups=np.arange(N) // 2)
    return private(release_of(model, "blood_pressure"))


@pytest.fixture(scope="session")
def wide():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(9000, 64)), columns=[f"measurement_{i:02}" for i in range(64)])
    model = PrivateLinearRegression(5.0, 1e-6, random_state=1).fit(X, X @ rng.normal(size=64))
    return private(release_of(model, "score"))


@pytest.fixture(scope="session")
def paper():
    names = ("K-Tukey", "Tukey-strict", "BAS", "K-BAS", "L-BAS", "L-Tukey")
    return {name: paper_release(name) for name in names}


@pytest.fixture(scope="session")
def hostile(flagship):
    """The same model with names that try to break out."""
    parts = [replace(flagship.coefficients[i % 2], feature=name) for i, name in enumerate(HOSTILE)]
    noted = [*flagship.notes, HOSTILE[0]]
    statistics = replace(
        flagship.statistics,
        joint_tests=[JointTest(name, 3.0, 2, 0.2) for name in HOSTILE],
        description=[Described(name, 1.0, 0.0, 2.0, 1.0, 0.1, 0.5) for name in HOSTILE],
        correlations=Correlations(HOSTILE, [[0.5] * len(HOSTILE)] * len(HOSTILE)),
    )
    told = {"coefficients": parts, "notes": noted, "warnings": [HOSTILE[1]], "statistics": statistics}
    return replace(flagship, target=HOSTILE[0], columns=HOSTILE, **told)
